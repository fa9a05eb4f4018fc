"""`watch`: the nodes that come and go, as a dev root shows them."""

from __future__ import annotations

import enum
import errno
import time
from collections import deque
from typing import TYPE_CHECKING, Final, final

import attrs

from devroot._evidence import Verdict
from devroot.errors import NotOnHostError
from devroot.udev._catalog import DeviceCatalog
from devroot.udev._device import Device

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

    from typing_extensions import Self

    from devroot._dev_root import DevRoot
    from devroot._device import DeviceNode
    from devroot._evidence import Reach
    from devroot._paths import ContainerPath, HostPath
    from devroot.udev._context import UdevNews

_LOST: Final = "news was lost, for nobody read it in time (ENOBUFS); what it was follows"

# From the news of an event that was not the kernel's own idea but written to a uevent file.
_SYNTHETIC: Final = "SYNTH_UUID"


@final
class Change(enum.Enum):
    """What an `Event` tells.

    .. versionadded:: 0.1.0
    """

    ADDED = "added"
    """The kernel has a device node that it did not have."""

    REMOVED = "removed"
    """The kernel has a device node no longer."""

    OVERFLOW = "overflow"
    """News was lost. What has changed by then follows, found by looking again."""

    UNKNOWN = "unknown"
    """Something may hide devices or news of them; this comes first, if at all."""


@final
@attrs.frozen(kw_only=True)
class Event:
    """One change.

    Attributes:
        change: what happened.
        device: the device; None for `Change.OVERFLOW` and `Change.UNKNOWN`.
        container_path: where the dev root has the node; None if it lies outside of its subset.
        host_path: where the host has it; None likewise, and if its reach is not accepted.
        reach: the reach of that place; None if there is no *container_path*.
        reason: what there is to say besides; empty if there is nothing.

    .. versionadded:: 0.1.0
    """

    change: Change
    device: Device | None = None
    container_path: ContainerPath | None = None
    host_path: HostPath | None = None
    reach: Reach | None = None
    reason: str = ""

    @property
    def node(self) -> DeviceNode | None:
        """The node of the device."""
        return None if self.device is None else self.device.node

    @property
    def outside(self) -> bool:
        """Whether it is a node that the subset of the dev root does not show."""
        return self.device is not None and self.container_path is None

    def __str__(self) -> str:
        words = self.change.value
        if self.device is not None:
            words += f" {self.device.node}"
        return f"{words}: {self.reason}" if self.reason else words


def watch(
    dev_root: DevRoot, catalog: DeviceCatalog | None = None, *, replay: bool = False
) -> Watch:
    """Follow the device nodes that come and go from the moment of *catalog* on.

    See `Watch` for what is told, and when.

    Args:
        dev_root: where the nodes are looked at from.
        catalog: what is known already, and who is asked; narrowed by `DeviceCatalog.select`, only
            such devices are told of. By default all that there are now, by udev.
        replay: whether the devices of the catalogue that are still there are told as well, first.

    Raises:
        NotOnHostError: what the dev root shows is stale.
        OSError: the kernel gives no socket, or a directory on the way cannot be looked into.
        UdevUnavailableError: libudev cannot be loaded.

    .. versionadded:: 0.1.0
    """
    asked = DeviceCatalog.of_host() if catalog is None else catalog
    return Watch(dev_root, asked, replay=replay)


@final
class Watch:
    """An iterator of changes, and a context manager with a descriptor to wait for; see `watch`.

    News comes from the kernel, when it has made or removed the node in devtmpfs; rules of udev
    may still change its mode and owner. It is compared with what is known, so that each change is
    told once, also if it happened between the catalogue and the first look. A device that matters
    and is outside of the dev root's subset is told as well, with `Event.outside`.

    It ends with `NotOnHostError` when what the dev root shows has gone stale: the host removed
    the directory, and makes new nodes where this container does not see them. That is looked at
    before each wait, after the news that has come. Whoever goes on needs a new mount, and so
    mostly a new container.

    One thread at a time.

    Attributes:
        unknown: why news may be missing, a sentence each; empty if nothing is known.

    .. versionadded:: 0.1.0
    """

    def __init__(self, dev_root: DevRoot, catalog: DeviceCatalog, *, replay: bool = False) -> None:
        self._dev_root = dev_root
        self._before = catalog
        self._known = {} if replay else {device.sysfs_path: device for device in catalog}
        self._pending: deque[Event] = deque()
        self._stale: NotOnHostError | None = None
        self._now = dev_root
        self._monitor = catalog.context.monitor()  # hears first, so that nothing is lost
        try:
            self._require_live()
            self.unknown: tuple[str, ...] = (*catalog.unknown, *self._monitor.unknown)
            for reason in self.unknown:
                self._pending.append(Event(change=Change.UNKNOWN, reason=reason))
            self.rescan()
        except BaseException:
            self.close()
            raise

    @property
    def catalog(self) -> DeviceCatalog:
        """What is there, as far as it was found out."""
        devices = sorted(self._known.values(), key=lambda device: device.node.path)
        return attrs.evolve(self._before, devices=tuple(devices))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give the descriptor back; what was found out and not told is lost."""
        self._monitor.close()
        self._pending.clear()

    def fileno(self) -> int:
        """Return the descriptor that becomes readable when there may be something to tell.

        Call ``poll(0)`` until it returns None before each wait for it.
        """
        return self._monitor.fileno()

    def __iter__(self) -> Iterator[Event]:
        return self

    def __next__(self) -> Event:
        event = self.poll()
        if event is None:
            raise StopIteration
        return event

    def poll(self, timeout: float | None = None) -> Event | None:
        """Return the next change, waiting for it if need be.

        Args:
            timeout: how many seconds to wait at most; None waits for ever.

        Returns:
            The change; None if there was none in time, or the watch is closed.

        Raises:
            NotOnHostError: what the dev root shows is stale; also from every later call.
            InvalidNodeError: the kernel describes a node that cannot be.
            MountInfoError: a mount table lost lines that matter here.
            OSError: a directory on the way cannot be looked into.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        while not self._pending:
            if self._hear(0.0):  # what has come already, before the end if it is one
                continue
            self._require_live()
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            if left == 0 or not self._hear(left):
                return None
        return self._pending.popleft()

    def _hear(self, timeout: float | None) -> bool:
        """Take one piece of news, or the loss of some; False if there was none in time."""
        try:
            news = self._monitor.receive(timeout)
        except EOFError:
            return False
        except OSError as error:
            if error.errno != errno.ENOBUFS:
                raise
            self._recover()
            return True
        if news is not None:
            self._take(news)
        return news is not None

    def rescan(self) -> None:
        """Look again at all devices, so that what has changed is told next.

        It is for who hears no news: see `unknown`.

        Raises:
            InvalidNodeError: as from `DeviceCatalog.refresh`; likewise its other errors.
        """
        now = {device.sysfs_path: device for device in self._before.refresh()}
        self._look_at_mounts()
        for path, device in tuple(self._known.items()):
            if path not in now or now[path].node != device.node:
                self._drop(path)
        for path, device in now.items():
            if path not in self._known:
                self._add(device)

    def _recover(self) -> None:
        """Tell that news was lost and look again.

        What is still to be read is older than what was lost, and could contradict what is seen
        then; so it is read and forgotten first.
        """
        self._pending.append(Event(change=Change.OVERFLOW, reason=_LOST))
        while True:
            try:
                if self._monitor.receive(0) is None:
                    break
            except EOFError:
                break
            except OSError as error:
                if error.errno != errno.ENOBUFS:
                    raise
        self.rescan()

    def _take(self, news: UdevNews) -> None:
        record, said = news.record, news.record.properties
        if news.action == "remove":
            # What somebody wrote to a file removes nothing.
            if _SYNTHETIC not in said and record.sysfs_path in self._known:
                self._look_at_mounts()
                self._drop(record.sysfs_path)
            return
        device = Device.of_record(record)
        if device is None or not self._before.matches(device):
            return
        self._look_at_mounts()
        # A device that moves in sysfs keeps its node.
        known = self._known.pop(said.get("DEVPATH_OLD", ""), None)
        known = self._known.get(device.sysfs_path, known)
        if known is not None and known.node != device.node:
            self._known[device.sysfs_path] = known
            self._drop(device.sysfs_path)
            known = None
        if known is None:
            self._add(device)
        self._known[device.sysfs_path] = device

    def _add(self, device: Device) -> None:
        self._known[device.sysfs_path] = device
        self._pending.append(self._event(Change.ADDED, device))

    def _drop(self, sysfs_path: str) -> None:
        device = self._known.pop(sysfs_path)
        self._pending.append(self._event(Change.REMOVED, device))

    def _event(self, change: Change, device: Device) -> Event:
        dev_root, path = self._now, device.node.path
        if not dev_root.contains(path):
            reason = f"it lies outside of what the dev root {dev_root} shows"
            return Event(change=change, device=device, reason=reason)
        reach = dev_root.reach(path)
        accepted = reach.verdict in dev_root.accept
        return Event(
            change=change,
            device=device,
            container_path=dev_root.container_path(path),
            host_path=reach.host_path if accepted else None,
            reach=reach,
            reason="" if accepted else f"its reach is {reach.verdict.name}",
        )

    def _look_at_mounts(self) -> None:
        """Take the dev root as the mounts are now, for all that is told next."""
        self._now = attrs.evolve(self._dev_root, view=self._dev_root.view.refresh())

    def _require_live(self) -> None:
        """Raise if what the dev root shows has gone stale."""
        if self._stale is None:
            self._look_at_mounts()
            reach = self._now.reach()
            stale = [part for part in reach.parts or (reach,) if part.verdict is Verdict.STALE]
            if not stale:
                return
            self._stale = NotOnHostError(
                stale[0].container_path, reach=stale[0], remedies=self._dev_root.remedies
            )
            self.close()
        raise self._stale
