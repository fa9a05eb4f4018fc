"""All that is particular to the NVIDIA driver: its nodes, capabilities, MIG, IMEX channels, files.

It starts with `NvidiaDriver.read`, and with `DriverFiles` for what is in a driver root.
"""

from __future__ import annotations

from devroot._presence import NodePresence, NodeSet, Presence, missing
from devroot.nvidia._driver import NvidiaDriver
from devroot.nvidia._files import (
    BINARY_DIRECTORIES,
    CONFIGURATION_DIRECTORIES,
    FIRMWARE_DIRECTORIES,
    LIBRARY_DIRECTORIES,
    DriverFiles,
    DriverVersion,
)
from devroot.nvidia._mig import MigDevice, MigMinors
from devroot.nvidia._parameters import Parameters
from devroot.nvidia._required import required_nodes

__all__ = [
    "BINARY_DIRECTORIES",
    "CONFIGURATION_DIRECTORIES",
    "FIRMWARE_DIRECTORIES",
    "LIBRARY_DIRECTORIES",
    "DriverFiles",
    "DriverVersion",
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
