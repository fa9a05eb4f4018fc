"""`Query`: which devices of a catalogue are meant."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterable

    from devroot.udev._device import Device


def _as_patterns(patterns: str | Iterable[str] | None) -> tuple[str, ...] | None:
    if patterns is None:
        return None
    return (patterns,) if isinstance(patterns, str) else tuple(patterns)


def _as_names(patterns: str | Iterable[str] | None) -> tuple[str, ...] | None:
    texts = _as_patterns(patterns)
    return None if texts is None else tuple(text.removeprefix("/dev/") for text in texts)


@attrs.frozen(kw_only=True)
class Query:
    """Which devices are meant: those that every filter that is given lets through.

    Patterns are those of glob(7); where several are given, one has to match.

    Attributes:
        subsystem: patterns for the subsystem; None for all.
        driver: patterns for `Device.driver`; None for all.
        vendor: the number of the vendor of the PCI function, such as 0x15b3; None for all.
        name: patterns for the path below ``/dev``, matched component by component, so that
            ``infiniband/*`` is not ``*``; None for all.

    .. versionadded:: 0.1.0
    """

    subsystem: tuple[str, ...] | None = attrs.field(default=None, converter=_as_patterns)
    driver: tuple[str, ...] | None = attrs.field(default=None, converter=_as_patterns)
    vendor: int | None = None
    name: tuple[str, ...] | None = attrs.field(default=None, converter=_as_names)

    def matches(self, device: Device) -> bool:
        """Whether *device* is meant."""
        if self.vendor is not None and (device.pci is None or device.pci.vendor != self.vendor):
            return False
        return (
            _any(self.subsystem, device.subsystem)
            and _any(self.driver, device.driver)
            and (self.name is None or _any_path(self.name, device.node.path.below_dev))
        )


def _any(patterns: tuple[str, ...] | None, text: str) -> bool:
    return patterns is None or any(fnmatchcase(text, pattern) for pattern in patterns)


def _any_path(patterns: tuple[str, ...], path: str) -> bool:
    names = path.split("/")
    for pattern in patterns:
        parts = pattern.split("/")
        if len(parts) == len(names) and all(map(fnmatchcase, names, parts)):
            return True
    return False
