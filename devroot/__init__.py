"""Where the host's ``/dev`` is, for code that works for its host from inside a container.

The names are loaded on first use, so that ``import devroot`` costs a plugin nothing that it does
not need.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from devroot._dev_root import DevRoot, Refusal
    from devroot._device import DeviceNode
    from devroot._driver_root import DriverRoot, Fallback, RootFallback
    from devroot._evidence import ACCEPTED, Evidence, EvidenceCode, Reach, Verdict
    from devroot._fallbacks import FirstOf, HostDevFallback, SubsetFallback
    from devroot._filesystem import Directory, FileStatus, FileSystem, FileType
    from devroot._findings import DriverFile, Findings, Obstacle, PassedOver
    from devroot._local import LocalFileSystem
    from devroot._majors import Majors
    from devroot._mknod import (
        Action,
        OnConflict,
        Outcome,
        Plan,
        Report,
        Result,
        Step,
        apply,
        char_links,
        mknod,
        plan,
        remove,
    )
    from devroot._mountinfo import MountInfo
    from devroot._mounts import Mount, MountTable
    from devroot._mounttree import MountInfoTable
    from devroot._paths import ContainerPath, DevicePath, HostPath
    from devroot._reach import examine
    from devroot._view import ContainerView
    from devroot.errors import (
        AmbiguousMajorError,
        CapabilityNotFoundError,
        DeviceNotFoundError,
        DevRootError,
        DriverFileError,
        DriverRootError,
        DriverVersionError,
        InvalidManifestError,
        InvalidMountError,
        InvalidNodeError,
        InvalidPathError,
        InvalidSceneError,
        InvalidSpecError,
        LdCacheError,
        MajorNotFoundError,
        MountInfoError,
        MountTablesDisagreeError,
        NodeError,
        NodesMissingError,
        NoDevRootError,
        NotModelledError,
        NotMountedError,
        NotOnHostError,
        OutsideSubsetError,
        PathKindError,
        ProcFileError,
        ProcMaskedError,
        ProcUnavailableError,
        UdevUnavailableError,
        UnmappedPathsError,
    )

__version__ = "0.1.0"

# In the order in which they import each other, so that a name is found where it is defined.
_ROOMS = (
    "errors",
    "_paths",
    "_filesystem",
    "_mountinfo",
    "_mounttree",
    "_mounts",
    "_local",
    "_view",
    "_evidence",
    "_reach",
    "_majors",
    "_device",
    "_findings",
    "_dev_root",
    "_driver_root",
    "_fallbacks",
    "_mknod",
)

__all__ = [
    "ACCEPTED",
    "Action",
    "AmbiguousMajorError",
    "CapabilityNotFoundError",
    "ContainerPath",
    "ContainerView",
    "DevRoot",
    "DevRootError",
    "DeviceNode",
    "DeviceNotFoundError",
    "DevicePath",
    "Directory",
    "DriverFile",
    "DriverFileError",
    "DriverRoot",
    "DriverRootError",
    "DriverVersionError",
    "Evidence",
    "EvidenceCode",
    "Fallback",
    "FileStatus",
    "FileSystem",
    "FileType",
    "Findings",
    "FirstOf",
    "HostDevFallback",
    "HostPath",
    "InvalidManifestError",
    "InvalidMountError",
    "InvalidNodeError",
    "InvalidPathError",
    "InvalidSceneError",
    "InvalidSpecError",
    "LdCacheError",
    "LocalFileSystem",
    "MajorNotFoundError",
    "Majors",
    "Mount",
    "MountInfo",
    "MountInfoError",
    "MountInfoTable",
    "MountTable",
    "MountTablesDisagreeError",
    "NoDevRootError",
    "NodeError",
    "NodesMissingError",
    "NotModelledError",
    "NotMountedError",
    "NotOnHostError",
    "Obstacle",
    "OnConflict",
    "Outcome",
    "OutsideSubsetError",
    "PassedOver",
    "PathKindError",
    "Plan",
    "ProcFileError",
    "ProcMaskedError",
    "ProcUnavailableError",
    "Reach",
    "Refusal",
    "Report",
    "Result",
    "RootFallback",
    "Step",
    "SubsetFallback",
    "UdevUnavailableError",
    "UnmappedPathsError",
    "Verdict",
    "__version__",
    "apply",
    "char_links",
    "examine",
    "mknod",
    "plan",
    "remove",
]


if not TYPE_CHECKING:  # or type checkers would take any name for one that exists

    def __getattr__(name: str) -> object:
        if name not in __all__:
            message = f"module {__name__!r} has no attribute {name!r}"
            raise AttributeError(message)
        rooms = (import_module(f"{__name__}.{room}") for room in _ROOMS)
        value = next(vars(room)[name] for room in rooms if name in vars(room))
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return __all__
