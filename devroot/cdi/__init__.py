"""CDI specs: device nodes that are on the host, and paths that the host knows.

The Container Device Interface is how a plugin tells a container runtime what a workload needs
for a device: nodes, mounts, variables, hooks. A spec is a plain dictionary here, in the form of
the specification and as `json` reads and writes it.

.. versionadded:: 0.1.0
"""

from __future__ import annotations

from devroot.cdi._check import Problem, ProblemCode, check
from devroot.cdi._files import DYNAMIC_DIRECTORY, STATIC_DIRECTORY, remove, write
from devroot.cdi._names import file_name, qualified_name
from devroot.cdi._nodes import described, device_node
from devroot.cdi._spec import device, edits, spec, validate
from devroot.cdi._transform import UnmappedPath, to_container, to_host
from devroot.cdi._versions import minimum_version

__all__ = [
    "DYNAMIC_DIRECTORY",
    "STATIC_DIRECTORY",
    "Problem",
    "ProblemCode",
    "UnmappedPath",
    "check",
    "described",
    "device",
    "device_node",
    "edits",
    "file_name",
    "minimum_version",
    "qualified_name",
    "remove",
    "spec",
    "to_container",
    "to_host",
    "validate",
    "write",
]
