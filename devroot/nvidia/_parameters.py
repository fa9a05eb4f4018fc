"""What the driver says about its device files: ``/proc/driver/nvidia/params`` and its like."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar, overload

import attrs

from devroot._device import MINOR_MAX
from devroot._paths import ContainerPath
from devroot.errors import ProcFileError, ProcMaskedError
from devroot.nvidia import _proc

if TYPE_CHECKING:
    from devroot._view import ContainerView

PARAMS: Final = "driver/nvidia/params"
_PATH: Final = ContainerPath("/proc/driver/nvidia/params")
_IMEX_CHANNELS: Final = 2048  # default of the module parameter NVreg_ImexChannelCount
_MODE: Final = 0o666  # default of NVreg_DeviceFileMode
_NO_ID: Final = (1 << 32) - 1  # (uid_t)-1, with which chown(2) leaves the owner alone

_T = TypeVar("_T")


@attrs.frozen(kw_only=True)
class FilePolicy:
    """Owner and mode of a driver's nodes, and whether user space may make them.

    Attributes:
        mode: permission bits (octal).
        uid: owner.
        gid: group.
        withheld: why they are not to be made or changed; empty if they may be.
    """

    mode: int = _MODE
    uid: int = 0
    gid: int = 0
    withheld: str = ""


def policy_of(
    found: dict[str, str],
    *,
    path: ContainerPath,
    modify: str = "DeviceFileModify",
    mode: int = _MODE,
) -> FilePolicy:
    """Return the policy in the fields of one of the driver's files.

    A field that is missing has the default that nvidia-modprobe uses. Anything but 1 in *modify*
    means hands off, as it does there. An owner of 4294967295 is the -1 of chown(2): root stays.

    Args:
        found: the fields, decimal all of them.
        path: the file.
        modify: what the field is called that permits making nodes.
        mode: the mode if the file does not say.

    Raises:
        ProcFileError: a number is none, or the mode has more than permission bits.
    """
    bits = _proc.number(found, "DeviceFileMode", default=mode, path=path)
    if bits > 0o777:  # noqa: PLR2004 - nine permission bits
        raise ProcFileError(
            path,
            reason=f"DeviceFileMode is {bits}, which is {bits:#o} and more than permission bits;"
            " the field is decimal, 438 for 0o666",
        )
    uid = _proc.number(found, "DeviceFileUID", default=0, path=path)
    gid = _proc.number(found, "DeviceFileGID", default=0, path=path)
    allowed = _proc.number(found, modify, default=1, path=path)
    return FilePolicy(
        mode=bits,
        uid=0 if uid == _NO_ID else uid,
        gid=0 if gid == _NO_ID else gid,
        withheld="" if allowed == 1 else f"{modify}: {allowed} in {path}",
    )


def read_policy(view: ContainerView, below: str) -> FilePolicy:
    """Return the policy in a ``permissions`` file below ``/proc``; the defaults if it is missing.

    What cannot be known because it is hidden withholds the nodes instead of allowing them.
    """
    path = view.proc / below
    try:
        found = _proc.fields(_proc.read(view, below), path=path)
    except FileNotFoundError:
        return FilePolicy()
    except ProcMaskedError as error:
        return FilePolicy(withheld=unknown(path, error.reason))
    policy = policy_of(found, path=path)
    return distrusted(policy, path=path, masked=_proc.mask(view, below))


def distrusted(policy: FilePolicy, *, path: ContainerPath, masked: str) -> FilePolicy:
    """Return *policy*, withheld if it was read from a file that is not the kernel's."""
    if policy.withheld or not masked:
        return policy
    return attrs.evolve(policy, withheld=unknown(path, masked))


def unknown(path: ContainerPath, masked: str) -> str:
    """Return why nodes are withheld whose policy is in a file that is hidden here."""
    return f"whether the driver allows it cannot be known: {masked}, so {path} is not its own"


@attrs.frozen(kw_only=True)
class Parameters:
    """The parameters of the kernel module, from ``/proc/driver/nvidia/params``.

    Attributes:
        values: every parameter in the order of the file: a number (decimal, unsigned 32 bits; a
            4294967295 is the driver's "not set") or a text without its quotes.
        mode: permission bits (octal) for nodes: ``DeviceFileMode``, 0o666 if not reported.
        uid: owner for nodes: ``DeviceFileUID``, 0 if not reported.
        gid: group for nodes: ``DeviceFileGID``, 0 if not reported.
        modify_device_files: whether user space may make and change the nodes: whether
            ``ModifyDeviceFiles`` is 1, which it is if not reported.
        withheld: why the nodes are not to be made or changed: ``ModifyDeviceFiles``, or that
            it cannot be known; empty if they may be.
        masked: what hides the kernel's file, if the mount table shows that something does.
        is_kernel_file: whether this is the kernel's own file; None if nothing decides. A
            container runtime may have put a copy there that says ``ModifyDeviceFiles: 0``.
        path: the file.

    .. versionadded:: 0.1.0
    """

    values: tuple[tuple[str, int | str], ...] = ()
    mode: int = _MODE
    uid: int = 0
    gid: int = 0
    modify_device_files: bool = True
    withheld: str = ""
    masked: str = ""
    is_kernel_file: bool | None = None
    path: ContainerPath = _PATH

    @classmethod
    def parse(
        cls,
        data: bytes | str,
        *,
        path: ContainerPath = _PATH,
        masked: str = "",
        is_kernel_file: bool | None = None,
    ) -> Parameters:
        """Return the parameters in the content of a ``params`` file.

        Args:
            data: the content.
            path: where it comes from, for errors.
            masked: what hides the kernel's file; empty if nothing does.
            is_kernel_file: whether it comes from the kernel; None if that is not known.

        Raises:
            ProcFileError: it is empty, a line is not ``NAME: VALUE``, a name comes twice, a
                text has no closing quote, or one of the numbers used here is none.
        """
        if isinstance(data, str):
            data = data.encode("utf-8", "surrogateescape")
        found = _proc.fields(data, path=path)
        policy = policy_of(found, path=path, modify="ModifyDeviceFiles")
        values = tuple((name, _value(name, text, path=path)) for name, text in found.items())
        for name in ("ImexChannelCount", "CreateImexChannel0"):
            _proc.number(found, name, default=0, path=path)
        return cls(
            values=values,
            mode=policy.mode,
            uid=policy.uid,
            gid=policy.gid,
            modify_device_files=not policy.withheld,
            withheld=distrusted(policy, path=path, masked=masked).withheld,
            masked=masked,
            is_kernel_file=is_kernel_file,
            path=path,
        )

    @classmethod
    def read(cls, view: ContainerView) -> Parameters:
        """Return the parameters of the module that is loaded now.

        Raises:
            ProcMaskedError: the file cannot be had, and something hides it.
            ProcUnavailableError: it is not there or cannot be read.
            ProcFileError: it is not of the format.
        """
        return cls.parse(
            _proc.read_needed(view, PARAMS, reason="is the kernel module nvidia loaded?"),
            path=view.proc / PARAMS,
            masked=_proc.mask(view, PARAMS),
            is_kernel_file=_proc.is_kernel_file(view, PARAMS),
        )

    @overload
    def get(self, name: str) -> int | str | None: ...

    @overload
    def get(self, name: str, default: _T) -> int | str | _T: ...

    def get(self, name: str, default: _T | None = None) -> int | str | _T | None:
        """Return the value of the parameter *name*, or *default* if it is not reported."""
        return next((value for key, value in self.values if key == name), default)

    @property
    def imex_channel_count(self) -> int | None:
        """The number of IMEX channels: ``ImexChannelCount``; None if not reported."""
        return self._number("ImexChannelCount")

    @property
    def creates_imex_channel0(self) -> bool | None:
        """Whether the driver itself makes channel 0; None if not reported."""
        number = self._number("CreateImexChannel0")
        return None if number is None else number == 1

    @property
    def imex_channels(self) -> range:
        """The channels that there can be: below the count, its default of 2048, and 2**20."""
        count = self.imex_channel_count
        return range(min(_IMEX_CHANNELS if count is None else count, MINOR_MAX + 1))

    def _number(self, name: str) -> int | None:
        value = self.get(name)
        return value if isinstance(value, int) else None


def policy_for(parameters: Parameters) -> FilePolicy:
    """Return owner and mode of the nodes that the parameters rule, and why they are withheld."""
    return FilePolicy(
        mode=parameters.mode,
        uid=parameters.uid,
        gid=parameters.gid,
        withheld=parameters.withheld,
    )


def _value(name: str, text: str, *, path: ContainerPath) -> int | str:
    number = _proc.unsigned(text)
    if number is not None:
        return number
    if not text.startswith('"'):
        return text
    if len(text) == 1 or not text.endswith('"'):
        raise ProcFileError(path, reason=f"{name} has no closing quote: {text}")
    return text[1:-1]
