"""IMEX channels: which there are, and their nodes.

The minor of a channel is its number. Owner and mode are those of the module's parameters
(``NVreg_ImexChannelCount`` in ``nv-reg.h`` says that nvidia-modprobe honours them).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from devroot.errors import InvalidNodeError
from devroot.nvidia import _nodes
from devroot.nvidia._parameters import policy_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from devroot._device import DeviceNode
    from devroot.nvidia._parameters import Parameters

_FIELD: Final = "channel"


def checked(channels: Iterable[int] | None, parameters: Parameters) -> Sequence[int]:
    """Return *channels* in their order, all of them if None.

    Raises:
        InvalidNodeError: one is no int, or there is no such channel.
    """
    valid = parameters.imex_channels
    if channels is None:
        return valid
    wanted = tuple(channels)
    for channel in wanted:
        if type(channel) is not int or channel not in valid:
            raise InvalidNodeError(_FIELD, channel, reason=_there_are(parameters))
    return wanted


def nodes(
    channels: Sequence[int], parameters: Parameters, *, major: Callable[[str], int]
) -> tuple[DeviceNode, ...]:
    """Return the nodes of *channels*, which were `checked`.

    Args:
        channels: their numbers (decimal).
        parameters: what the kernel module was told.
        major: gives the major of a driver; see `NvidiaDriver.major`.

    Raises:
        MajorNotFoundError: the channels' driver is not registered.
    """
    number = major(_nodes.IMEX_CHANNELS)
    policy = policy_for(parameters)
    return tuple(
        _nodes.node(f"{_nodes.IMEX_CHANNELS}/channel{n}", major=number, minor=n, policy=policy)
        for n in channels
    )


def _there_are(parameters: Parameters) -> str:
    valid, count = parameters.imex_channels, parameters.imex_channel_count
    if count is None:
        told = f"{parameters.path} reports no ImexChannelCount, and its default is {len(valid)}"
    else:
        told = f"ImexChannelCount in {parameters.path} is {count}"
    if not valid:
        return f"there are no IMEX channels: {told}"
    return f"the IMEX channels are 0 to {len(valid) - 1}: {told}"
