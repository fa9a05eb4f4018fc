"""Every error that devroot raises on purpose.

Each one is a `DevRootError` and also the built-in that a caller would expect. Each says what
was given, what is wrong with it and what would be right, and keeps those as attributes.
"""

from devroot.errors._base import DevRootError
from devroot.errors._devices import (
    DeviceNotFoundError,
    NodeError,
    NodesMissingError,
    UdevUnavailableError,
)
from devroot.errors._driver import (
    AmbiguousMajorError,
    CapabilityNotFoundError,
    DriverFileError,
    DriverRootError,
    DriverVersionError,
    LdCacheError,
    MajorNotFoundError,
    ProcFileError,
    ProcMaskedError,
    ProcUnavailableError,
)
from devroot.errors._input import (
    InvalidManifestError,
    InvalidMountError,
    InvalidNodeError,
    InvalidPathError,
    InvalidSceneError,
    InvalidSpecError,
    NotModelledError,
    PathKindError,
)
from devroot.errors._places import (
    MountInfoError,
    MountTablesDisagreeError,
    NoDevRootError,
    NotMountedError,
    NotOnHostError,
    OutsideSubsetError,
    UnmappedPathsError,
)

__all__ = [
    "AmbiguousMajorError",
    "CapabilityNotFoundError",
    "DevRootError",
    "DeviceNotFoundError",
    "DriverFileError",
    "DriverRootError",
    "DriverVersionError",
    "InvalidManifestError",
    "InvalidMountError",
    "InvalidNodeError",
    "InvalidPathError",
    "InvalidSceneError",
    "InvalidSpecError",
    "LdCacheError",
    "MajorNotFoundError",
    "MountInfoError",
    "MountTablesDisagreeError",
    "NoDevRootError",
    "NodeError",
    "NodesMissingError",
    "NotModelledError",
    "NotMountedError",
    "NotOnHostError",
    "OutsideSubsetError",
    "PathKindError",
    "ProcFileError",
    "ProcMaskedError",
    "ProcUnavailableError",
    "UdevUnavailableError",
    "UnmappedPathsError",
]
