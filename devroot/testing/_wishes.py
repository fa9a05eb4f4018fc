"""What a container is to be: its mounts, and in whose name its process works."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import attrs

from devroot.errors import InvalidSceneError
from devroot.testing import _runtime
from devroot.testing._devices import DeviceRules
from devroot.testing._limits import Limit
from devroot.testing._rights import ALL_CAPABILITIES, Credentials

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from devroot.testing._runtime import Binding, ProcMask

_SHIFTED: Final = (100000, 65536)  # the range of a user namespace of its own
_PROC_MASKS: Final = ("", "directory", "params")


@attrs.frozen(kw_only=True)
class Wishes:
    """What a container is to be; see `Nesting.container`.

    Raises:
        InvalidSceneError: there is no such mask.
        NotModelledError: it would be privileged in a user namespace.
    """

    mounts: tuple[Binding, ...] = ()
    who: Credentials
    privileged: bool = False
    device_rules: DeviceRules | None = None
    host_mountinfo: bool = False
    host_pid: bool = False
    read_only: bool = False
    proc_mask: ProcMask = ""
    declared: bool = True

    def __attrs_post_init__(self) -> None:
        if self.proc_mask not in _PROC_MASKS:
            call = f"container(proc_mask={self.proc_mask!r})"
            raise InvalidSceneError(call, reason="there are '', 'directory' and 'params'")
        if self.privileged and not self.who.initial:
            raise Limit.PRIVILEGED_USERS.met()

    def replaces(self, path: str) -> bool:
        """Whether a mount that is asked for takes the place of a default one at *path*.

        A mount at ``/dev`` takes the place of all that is mounted below, as with Docker.
        """
        points = {str(binding.mount.container) for binding in self.mounts}
        return path in points or (path.startswith("/dev/") and "/dev" in points)


def capability_bits(capabilities: Collection[str] | None, *, privileged: bool) -> int:
    """Return the mask of these capabilities; None is what a runtime gives.

    Raises:
        InvalidSceneError: there is none of such a name.
    """
    if privileged and capabilities is None:
        return ALL_CAPABILITIES
    names = _runtime.DEFAULT_CAPABILITIES if capabilities is None else capabilities
    return _runtime.capability_bits(names)


def device_rules(rules: Iterable[str] | None) -> DeviceRules | None:
    """Return what these rules allow; None is everything.

    Raises:
        InvalidSceneError: there is no such rule.
    """
    return None if rules is None else DeviceRules.parse(rules)


def credentials(  # noqa: PLR0913 - all of these together are what a process may do
    outer: Credentials,
    *,
    user_namespace: bool = False,
    user: int,
    group: int,
    groups: Iterable[int],
    capabilities: int,
) -> Credentials:
    """Return in whose name the process works of a container that *outer* starts.

    Raises:
        InvalidSceneError: an ID is not possible there.
        NotModelledError: it would have a user namespace in another one.
    """
    if user_namespace and not outer.initial:
        raise Limit.NESTED_USERS.met()
    first, count = _SHIFTED if user_namespace else (outer.first, outer.count)
    others = sorted(groups)
    for number in (user, group, *others):
        if not 0 <= number < count:
            call = f"container(user={user}, group={group}, groups={others})"
            raise InvalidSceneError(call, reason=f"{number} is not from 0 to {count - 1}")
    return Credentials(
        uid=first + user,
        gid=first + group,
        groups=frozenset(first + each for each in others),
        # Who is not root loses them by execve(2); those of the bounding set are not given back.
        capabilities=0 if user else capabilities,
        bounding=capabilities,
        first=first,
        count=count,
        initial=outer.initial and not user_namespace,
    )
