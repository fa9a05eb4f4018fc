"""What a search inside a root gives: the files, and each candidate that was passed over."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, final

import attrs

from devroot.errors import DriverFileError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from devroot._paths import ContainerPath, HostPath


class Obstacle(enum.Enum):
    """Why a candidate is not the file that is looked for.

    .. versionadded:: 0.1.0
    """

    MISSING = "missing"
    """It does not exist, or a directory on the way does not."""

    DANGLING = "dangling"
    """It is a link to something that does not exist inside the root."""

    LOOP = "loop"
    """Its links go in a circle, on for too long, or through a magic link of proc(5)."""

    NOT_REGULAR = "not-regular"
    """It is no regular file: a directory, most often."""

    NOT_READABLE = "not-readable"
    """This process may not look it up, or its mode lets nobody read or execute it."""

    NOT_FROM_HOST = "not-from-host"
    """It is on a mount that is declared without a host path, so the host has no such file."""

    OTHER_ABI = "other-abi"
    """It is listed as a library that no program of 64 bits can load."""

    NO_VERSION = "no-version"
    """Its name does not tell the version that is asked for."""

    BROKEN_CACHE = "broken-cache"
    """It is an ``ld.so.cache`` that cannot be trusted, and that nothing is taken from."""

    UNREACHABLE = "unreachable"
    """The kernel cannot tell, for a reason of its own such as an I/O error."""


@final
@attrs.frozen(kw_only=True)
class PassedOver:
    """A candidate that is not the file, and why.

    Attributes:
        path: the candidate as this process would write it, before any link is followed: the
            root and the place inside it, ``..`` and all. It can also be a directory that has no
            candidate, or an ``ld.so.cache``.
        obstacle: the kind of reason.
        reason: the reason, in words.

    .. versionadded:: 0.1.0
    """

    path: str
    obstacle: Obstacle
    reason: str

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


@final
@attrs.frozen(kw_only=True)
class DriverFile:
    """A regular file that was found inside a driver root.

    Attributes:
        container: where it is in this container, every link followed inside the driver root.
        host: where it is on the host; what to give to those who work there.
        asked: the candidate that led to it, as seen from the driver root, before any link was
            followed.
        passed_over: the candidates before it, and why each was none.

    .. versionadded:: 0.1.0
    """

    container: ContainerPath
    host: HostPath
    asked: str
    passed_over: tuple[PassedOver, ...] = ()


@final
@attrs.frozen(kw_only=True)
class Findings:
    """All regular files that match a pattern; it can be iterated over.

    Attributes:
        pattern: what was looked for.
        driver_root: where the driver root is in this container.
        files: what was found, each file once.
        passed_over: the candidates that are none, and why, and the places without any.

    .. versionadded:: 0.1.0
    """

    pattern: str
    driver_root: ContainerPath
    files: tuple[DriverFile, ...]
    passed_over: tuple[PassedOver, ...]

    def __iter__(self) -> Iterator[DriverFile]:
        return iter(self.files)

    def __len__(self) -> int:
        return len(self.files)

    def require(self) -> tuple[DriverFile, ...]:
        """Return the files, of which there is at least one.

        Raises:
            DriverFileError: there is none.
        """
        if not self.files:
            raise DriverFileError(
                self.pattern, driver_root=self.driver_root, passed_over=self.passed_over
            )
        return self.files
