"""MIG: the minors of its capabilities, and the names by which they are known.

A capability of MIG has two names. Below ``/proc/driver/nvidia/capabilities`` it is
``gpu0/mig/gi1/ci2/access`` (and ``mig/config``); in ``/proc/driver/nvidia-caps/mig-minors`` it
is ``gpu0/gi1/ci2/access`` (and ``config``). The number after ``gpu`` is the GPU's device minor,
which need not be the index that nvidia-smi shows.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import attrs

from devroot._device import MINOR_MAX
from devroot._paths import ContainerPath
from devroot.errors import CapabilityNotFoundError, InvalidNodeError, ProcFileError
from devroot.nvidia import _proc

if TYPE_CHECKING:
    from devroot._view import ContainerView

MINORS: Final = "driver/nvidia-caps/mig-minors"
_PATH: Final = ContainerPath("/proc/driver/nvidia-caps/mig-minors")
_NUMBER: Final = r"(?:0|[1-9][0-9]{0,5})"
_LINE: Final = re.compile(
    rf"(?P<entry>(?P<gpu>gpu{_NUMBER})/(?P<instance>gi{_NUMBER}(?:/ci{_NUMBER})?/access)"
    rf"|(?P<name>(?!gpu[0-9])[A-Za-z][A-Za-z0-9_-]*)) (?P<minor>0|[1-9][0-9]{{0,6}})",
    re.ASCII,
)


def check_number(field: str, value: object) -> int:
    """Return *value* if it can be the number of a GPU or an instance.

    Raises:
        InvalidNodeError: it is not an int, or is negative.
    """
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise InvalidNodeError(field, value, reason="a whole number from 0 is wanted")
    return value


def _check_field(_device: object, attribute: attrs.Attribute[int], value: object) -> None:
    check_number(attribute.name, value)


def access(*, gpu: int, gi: int, ci: int | None = None) -> str:
    """Return the name below ``capabilities`` of a GPU instance, or of a compute instance in it.

    Raises:
        InvalidNodeError: a number is none, or is negative.
    """
    name = f"gpu{check_number('gpu', gpu)}/mig/gi{check_number('gi', gi)}"
    if ci is not None:
        name += f"/ci{check_number('ci', ci)}"
    return f"{name}/access"


@attrs.frozen(kw_only=True)
class MigDevice:
    """One MIG device: a compute instance in a GPU instance of a GPU.

    Attributes:
        gpu: device minor (decimal) of the GPU, as in ``/dev/nvidia0``.
        gi: ID of the GPU instance (decimal).
        ci: ID of the compute instance in it (decimal).

    Raises:
        InvalidNodeError: one of them is not a whole number from 0.

    .. versionadded:: 0.1.0
    """

    gpu: int = attrs.field(validator=_check_field)
    gi: int = attrs.field(validator=_check_field)
    ci: int = attrs.field(validator=_check_field)


@attrs.frozen(kw_only=True)
class MigMinors:
    """The minors of MIG's capabilities, from ``/proc/driver/nvidia-caps/mig-minors``.

    It lists every GPU and compute instance that there could be, made or not.

    Attributes:
        minors: capability, named as below ``/proc/driver/nvidia/capabilities``, and its minor
            (decimal), in the order of the file.
        path: the file.

    .. versionadded:: 0.1.0
    """

    minors: tuple[tuple[str, int], ...] = ()
    path: ContainerPath = _PATH

    @classmethod
    def parse(cls, data: bytes | str, *, path: ContainerPath = _PATH) -> MigMinors:
        """Return the minors in the content of a ``mig-minors`` file.

        Args:
            data: the content; the last newline may be missing.
            path: where it comes from, for errors.

        Raises:
            ProcFileError: it is empty, a line is not ``gpuN/giN/access MINOR``,
                ``gpuN/giN/ciN/access MINOR`` or ``NAME MINOR``, or a name or a minor comes
                twice; it names the line.
        """
        if isinstance(data, str):
            data = data.encode("utf-8", "surrogateescape")
        minors: dict[str, int] = {}
        taken: dict[int, str] = {}
        for number, line in _proc.lines(data, path=path):
            match = _LINE.fullmatch(line)
            minor = MINOR_MAX + 1 if match is None else int(match["minor"])
            if match is None or minor > MINOR_MAX:
                raise ProcFileError(
                    path,
                    reason=f"line {number}, {line!r}, is neither 'gpuN/giN[/ciN]/access MINOR'"
                    " nor 'NAME MINOR'",
                )
            name = (
                f"mig/{match['name']}"
                if match["name"]
                else f"{match['gpu']}/mig/{match['instance']}"
            )
            if name in minors or minor in taken:
                what = match["entry"] if name in minors else f"minor {minor}"
                raise ProcFileError(path, reason=f"line {number} gives {what} a second time")
            minors[name] = minor
            taken[minor] = name
        return cls(minors=tuple(minors.items()), path=path)

    @classmethod
    def read(cls, view: ContainerView) -> MigMinors:
        """Return the minors of the driver that is loaded now.

        Raises:
            ProcMaskedError: the file cannot be had, and something hides it.
            ProcUnavailableError: it is not there or cannot be read.
            ProcFileError: it is not of the format.
        """
        data = _proc.read_needed(view, MINORS, reason="is the kernel module nvidia loaded?")
        return cls.parse(data, path=view.proc / MINORS)

    def minor(self, capability: str) -> int:
        """Return the minor (decimal) of *capability*, such as ``gpu0/mig/gi1/access``.

        Raises:
            CapabilityNotFoundError: it is not listed.
        """
        for name, minor in self.minors:
            if name == capability:
                return minor
        raise CapabilityNotFoundError(capability, path=self.path)

    def capability(self, minor: int) -> str:
        """Return the capability that has *minor* (decimal).

        Raises:
            CapabilityNotFoundError: none has it.
        """
        for name, listed in self.minors:
            if listed == minor:
                return name
        name = f"nvidia-cap{minor}"
        raise CapabilityNotFoundError(name, path=self.path)
