"""Handlers of errors that must be accepted: what each error keeps for programmes; never run."""

from __future__ import annotations

from collections.abc import Callable

from typing_extensions import assert_type

from devroot import (
    ContainerPath,
    DevicePath,
    HostPath,
    Mount,
    PassedOver,
    Reach,
    Refusal,
    Report,
    cdi,
    errors,
    nvidia,
)


def input_was_wrong(act: Callable[[], None]) -> None:
    """What was given, and why it will not do."""
    try:
        act()
    except errors.InvalidPathError as error:
        assert_type(error.text, str)
    except errors.InvalidMountError as error:
        assert_type(error.reason, str)
    except errors.InvalidNodeError as error:
        assert_type(error.value, object)
    except (errors.InvalidManifestError, errors.InvalidSpecError) as error:
        assert_type(error.location, str)
    except errors.InvalidSceneError as error:
        assert_type(error.text, str)
    except errors.NotModelledError as error:
        assert_type(error.remedy, str)
        not_there_yet: NotImplementedError = error
        raise not_there_yet from None
    except errors.PathKindError as error:
        assert_type(error.wanted, str)
        wrong_type: TypeError = error
        raise wrong_type from None


def a_place_was_not_there(act: Callable[[], None]) -> None:
    """Which path, and what would help."""
    try:
        act()
    except errors.NotMountedError as error:
        assert_type(error.path, HostPath | ContainerPath)
        assert_type(error.nearest, tuple[Mount, ...])
    except errors.NotOnHostError as error:
        assert_type(error.reach, Reach)
    except errors.NoDevRootError as error:
        assert_type(error.refusals, tuple[Refusal, ...])
    except errors.OutsideSubsetError as error:
        assert_type(error.names, tuple[DevicePath, ...])
    except errors.UnmappedPathsError as error:
        assert_type(error.unmapped, tuple[cdi.UnmappedPath, ...])
    except (errors.MountInfoError, errors.MountTablesDisagreeError) as error:
        assert_type(error.reason, str)


def a_device_was_not_there(act: Callable[[], None]) -> None:
    """What was sought, and what is known instead."""
    try:
        act()
    except errors.MajorNotFoundError as error:
        assert_type(error.known, tuple[str, ...])
    except errors.AmbiguousMajorError as error:
        assert_type(error.majors, tuple[int, ...])
    except errors.CapabilityNotFoundError as error:
        assert_type(error.path, ContainerPath)
    except errors.DeviceNotFoundError as error:
        assert_type(error.unknown, tuple[str, ...])
    except errors.NodesMissingError as error:
        assert_type(error.absent, tuple[nvidia.NodePresence, ...])
    except errors.UdevUnavailableError as error:
        not_there: ImportError = error
        raise not_there from None


def the_kernel_refused(act: Callable[[], None]) -> None:
    """Each is an OSError; one from making nodes has the report of all of them."""
    try:
        act()
    except errors.NodeError as error:
        assert_type(error.report, Report)
        assert_type(error.errno, int | None)
    except (errors.DriverRootError, errors.ProcUnavailableError) as error:
        kernel: OSError = error
        raise kernel from None


def the_driver_was_odd(act: Callable[[], None]) -> None:
    """What in its files could not be read, or found."""
    try:
        act()
    except errors.DriverFileError as error:
        assert_type(error.passed_over, tuple[PassedOver, ...])
    except errors.DriverVersionError as error:
        assert_type(error.found, tuple[tuple[str, ContainerPath], ...])
    except (errors.ProcFileError, errors.ProcMaskedError) as error:
        assert_type(error.path, ContainerPath)
    except errors.LdCacheError as error:
        assert_type(error.reason, str)
    except errors.DevRootError as error:
        anything: Exception = error
        raise anything from None
