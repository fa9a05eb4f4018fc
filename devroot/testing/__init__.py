"""Test code that works for a host, without a host: no root, no Linux and no GPU.

.. versionadded:: 0.1.0
"""

from __future__ import annotations

from devroot.testing._faults import Operation, ProcessKilled
from devroot.testing._handles import TreeDirectory
from devroot.testing._scenarios import Scenario, scenario, scenario_names
from devroot.testing._tree import TreeFileSystem

__all__ = [
    "Operation",
    "ProcessKilled",
    "Scenario",
    "TreeDirectory",
    "TreeFileSystem",
    "scenario",
    "scenario_names",
]
