"""Kubernetes: from a pod to its mounts, from a fallback to volumes, and what a pod lacks.

Pure functions over dictionaries, as ``json.loads`` or a YAML library gives them; nothing is read
or asked.

.. versionadded:: 0.1.0
"""

from __future__ import annotations

from devroot.kubernetes._check import Problem, ProblemCode, check
from devroot.kubernetes._table import PodMount, mount_table, mounts
from devroot.kubernetes._volumes import NeedsMounts, PodVolume, PodVolumes, add_volumes, volumes

__all__ = [
    "NeedsMounts",
    "PodMount",
    "PodVolume",
    "PodVolumes",
    "Problem",
    "ProblemCode",
    "add_volumes",
    "check",
    "mount_table",
    "mounts",
    "volumes",
]
