"""All that is particular to the NVIDIA driver: its nodes, capabilities, MIG, IMEX channels.

It starts with `NvidiaDriver.read`.
"""

from __future__ import annotations

from devroot.nvidia._driver import NvidiaDriver
from devroot.nvidia._mig import MigDevice, MigMinors
from devroot.nvidia._missing import NodePresence, NodeSet, Presence, missing
from devroot.nvidia._parameters import Parameters
from devroot.nvidia._required import required_nodes

__all__ = [
    "MigDevice",
    "MigMinors",
    "NodePresence",
    "NodeSet",
    "NvidiaDriver",
    "Parameters",
    "Presence",
    "missing",
    "required_nodes",
]
