"""The log: what is said, by which logger, and that it costs nothing while nobody listens."""

from __future__ import annotations

import errno
import json
import logging
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

import devroot
from devroot import (
    ContainerPath,
    ContainerView,
    DeviceNode,
    DevRoot,
    DriverRoot,
    FirstOf,
    HostDevFallback,
    LocalFileSystem,
    MountInfoTable,
    MountTablesDisagreeError,
    NodeError,
    RootFallback,
    _log,
    _syscalls,
    _view,
    apply,
    cdi,
    char_links,
    mknod,
    plan,
    remove,
)
from devroot._log import Event, is_heard, tell
from devroot._mknod import _tell
from devroot.testing import FakeContainer, FakeHost
from tests._children import environment

if TYPE_CHECKING:
    from collections.abc import Callable

PAGE = Path(__file__).parent.parent.parent / "docs/reference/logging.md"
EVENTS = {event.value: event for event in Event}
CAP = DeviceNode(path="caps/cap7", major=511, minor=7, mode=0o400)
NODE = DeviceNode(path="node", major=511, minor=8)

PROGRAMME = """
import json, sys
import devroot, devroot.cdi, devroot.kubernetes, devroot.nvidia, devroot.oci, devroot.udev
from devroot.testing import scenario
scene = scenario("gke")
fallback = devroot.SubsetFallback("/host-dev", ["nvidia-caps", "nvidia-caps-imex-channels"])

def make(minor):
    driver_root = scene.driver_root
    dev_root = driver_root.dev_root(fallback=fallback)
    node = devroot.DeviceNode(path="nvidia-caps/x", major=511, minor=minor)
    return len(devroot.mknod(dev_root, [node]).outcomes)

make(1)
loaded = "logging" in sys.modules
import logging
make(2)
names = [name for name in logging.Logger.manager.loggerDict if "devroot" in name]
logger = logging.getLogger("devroot")
own = [logger.handlers, logger.level, logger.propagate, logger.disabled, logger.filters]
print(json.dumps([loaded, names, own, logging.getLogger().handlers]))
"""


@pytest.fixture
def host() -> FakeHost:
    """Return a host with a devtmpfs."""
    host = FakeHost()
    host.devtmpfs()
    return host


@pytest.fixture
def pod(host: FakeHost) -> FakeContainer:
    """Return a container that has the host's ``/dev`` mounted aside."""
    return host.container(mounts=["/dev:/host-dev/dev"])


@pytest.fixture
def dev_root(pod: FakeContainer) -> DevRoot:
    """Return the dev root that shows the host's ``/dev``."""
    return DevRoot(container="/host-dev", view=pod.view)


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture) -> Callable[..., list[str]]:
    """Return what tells the texts of the records so far, of some events or of all at ``INFO``."""
    caplog.set_level(logging.DEBUG, logger="devroot")

    def tell_texts(*events: Event) -> list[str]:
        texts: list[str] = []
        for record in caplog.records:
            event = EVENTS[vars(record)["devroot_event"]]
            assert (record.name, record.levelno) == ("devroot", event.level)
            assert record.pathname.startswith(str(Path(devroot.__file__).parent))
            assert Path(record.pathname).name != "_log.py"
            if event in events or (not events and event.level == logging.INFO):
                texts.append(record.getMessage())
        caplog.clear()
        return texts

    return tell_texts


def test_nodes_that_are_made(
    host: FakeHost, dev_root: DevRoot, said: Callable[..., list[str]]
) -> None:
    """Each is told with its number, mode and owner, its container path and its host path."""
    second = DeviceNode(path="caps/cap8", major=511, minor=8)
    mknod(dev_root, [CAP, second, NODE])
    assert said() == [
        f"made {CAP} at /host-dev/dev/caps/cap7, on the host /dev/caps/cap7",
        f"made {second} at /host-dev/dev/caps/cap8, on the host /dev/caps/cap8",
        f"made {NODE} at /host-dev/dev/node, on the host /dev/node",
    ]
    host.assert_on_host(CAP)


def test_nodes_that_are_put_right(
    host: FakeHost, dev_root: DevRoot, said: Callable[..., list[str]]
) -> None:
    """It is told in what the thing that was there differed, and how many were right."""
    host.device("/dev/caps/cap7", major=511, minor=7, mode=0o666, uid=7)
    host.device("/dev/node", major=1, minor=8)
    right = DeviceNode(path="null", major=1, minor=3)
    mknod(dev_root, [CAP, NODE, right])
    cap = f"put {CAP} right at /host-dev/dev/caps/cap7, on the host /dev/caps/cap7"
    assert said(Event.NODE_REPAIRED, Event.NODES_RIGHT) == [
        f"{cap}; it had another mode and owner",
        f"put {NODE} right at /host-dev/dev/node, on the host /dev/node; it had another number",
        "right already in /host-dev/dev: 1",
    ]


def test_a_node_that_is_mounted_alone(host: FakeHost, said: Callable[..., list[str]]) -> None:
    """One that is put right in place is told at its own host path, not at its directory's."""
    host.device("/dev/other", major=511, minor=8, mode=0o600)
    pod = host.container(mounts=["/dev:/host-dev/dev", "/dev/other:/host-dev/dev/node"])
    mknod(DevRoot(container="/host-dev", view=pod.view), [NODE])
    (text,) = said()
    assert " at /host-dev/dev/node, on the host /dev/other; it had another mode" in text
    assert host.device("/dev/other").mode == 0o666


def test_nodes_that_are_removed(
    host: FakeHost, dev_root: DevRoot, said: Callable[..., list[str]]
) -> None:
    """Each is told; of those that were not there nothing is said."""
    host.device("/dev/caps/cap7", major=511, minor=7)
    remove(dev_root, [CAP, NODE])
    assert said(*Event)[-1:] == [
        f"removed {CAP} at /host-dev/dev/caps/cap7, on the host /dev/caps/cap7"
    ]


def test_nodes_that_fail(host: FakeHost, dev_root: DevRoot, said: Callable[..., list[str]]) -> None:
    """Each is told with the reason, and so are those that were made beside it."""
    host.directory("/dev/node")
    with pytest.raises(NodeError):
        mknod(dev_root, [NODE, CAP])
    failed, made = said()
    said_of = "could not have /dev/node c 511:8 0666 0:0 as described"
    assert failed == f"{said_of}: a directory is there, and is never replaced; remove it first"
    assert made.startswith("made /dev/caps/cap7 ")


def test_what_is_left_alone(
    host: FakeHost, dev_root: DevRoot, said: Callable[..., list[str]]
) -> None:
    """It is told with the reason: what was kept as asked, and what its owner withholds."""
    host.file("/dev/node")
    withheld = DeviceNode(path="w", major=1, minor=1, withheld="its owner says so")
    mknod(dev_root, [NODE, withheld], on_conflict="keep")
    assert said(Event.NODE_LEFT) == [
        "left /dev/node alone: a regular file is there",
        "left /dev/w alone: it is missing; its owner says so",
    ]


def test_a_dry_run_says_nothing_of_nodes(dev_root: DevRoot, said: Callable[..., list[str]]) -> None:
    """Nothing was done."""
    mknod(dev_root, [CAP], dry_run=True)
    assert said() == []


def test_a_plan_that_is_carried_out_later(
    dev_root: DevRoot, said: Callable[..., list[str]]
) -> None:
    """It is told when that happens."""
    made = plan(dev_root, [NODE])
    assert said() == []
    apply(made)
    (text,) = said()
    assert text.startswith("made /dev/node ")


def test_links_to_nodes(dev_root: DevRoot, said: Callable[..., list[str]]) -> None:
    """A link is told by its own path and by the node that it leads to."""
    char_links(dev_root, [DeviceNode(path="null", major=1, minor=3)])
    link = "/dev/char/1:3, which leads to /dev/null c 1:3 0666 0:0,"
    assert said() == [f"made {link} at /host-dev/dev/char/1:3, on the host /dev/char/1:3"]


@pytest.mark.parametrize("node", [CAP, NODE], ids=str)
def test_exact_subsets(
    pod: FakeContainer, node: DeviceNode, said: Callable[..., list[str]]
) -> None:
    """Where only the node itself is shown, its own place is asked for and not its directory."""
    dev_root = DevRoot(container="/host-dev", view=pod.view, names=(node.path,))
    pod.directory("/host-dev/dev/caps")
    mknod(dev_root, [node])
    (text,) = said()
    assert text == f"made {node} at /host-dev{node.path}, on the host {node.path}"


def test_private_and_unknown_places(
    pod: FakeContainer, monkeypatch: pytest.MonkeyPatch, said: Callable[..., list[str]]
) -> None:
    """Where the host has no such path that is accepted, the verdict stands for it."""
    mknod(DevRoot(container="/", view=pod.view), [NODE])
    assert said() == ["made /dev/node c 511:8 0666 0:0 at /dev/node, on the host PRIVATE"]

    def fail(*_arguments: object) -> None:
        raise OSError(errno.EACCES, "no")

    monkeypatch.setattr(DevRoot, "reach", fail)
    remove(DevRoot(container="/", view=pod.view), [NODE])
    assert said() == ["removed /dev/node c 511:8 0666 0:0 at /dev/node, on the host UNKNOWN"]


def test_what_an_early_end_left(
    host: FakeHost, dev_root: DevRoot, said: Callable[..., list[str]]
) -> None:
    """A working directory of another run is told once it is removed."""
    host.directory("/dev/.devroot-0123456789abcdef", mode=0o700)
    mknod(dev_root, [NODE])
    assert said(Event.LEFTOVER_REMOVED) == [
        "removed what a run that ended early left: /host-dev/dev/.devroot-0123456789abcdef"
    ]


def test_verdicts_and_their_evidence(pod: FakeContainer, said: Callable[..., list[str]]) -> None:
    """A verdict is told with all of its evidence and with what stands in the way."""
    pod.remount("/host-dev/dev", read_only=True)
    reach = DevRoot(container="/host-dev", view=pod.view).reach()
    words = "; ".join(each.text for each in (*reach.evidence, *reach.blockers))
    assert "is read-only" in words
    assert said(Event.REACH) == [f"/host-dev/dev is HOST, on the host /dev: {words}"]
    devroot.examine(ContainerView(), ContainerPath("/x"))
    (text,) = said(Event.REACH)
    assert text.startswith("/x is UNKNOWN, on the host unknown: the mount table lists no mount")


def test_the_choice_of_a_dev_root(pod: FakeContainer, said: Callable[..., list[str]]) -> None:
    """Each fallback that was refused is told, once, and then what was taken and by whom."""
    driver_root = DriverRoot(host="/opt", container="/opt", view=pod.view)
    pod.directory("/opt")
    nowhere, aside = HostDevFallback("/nowhere"), HostDevFallback("/host-dev")
    driver_root.dev_root(fallback=FirstOf(FirstOf(nowhere), RootFallback(), aside))
    refused, private, taken = said(Event.FALLBACK_REFUSED, Event.DEV_ROOT_CHOSEN)
    assert refused == "refused HostDevFallback('/nowhere'): there is no directory /nowhere/dev"
    assert private.startswith("refused RootFallback(): ")
    by = "HostDevFallback('/host-dev')"
    assert taken == f"took /host-dev as the dev root of driver root /opt, by {by}"
    with pytest.raises(devroot.NoDevRootError):
        driver_root.dev_root(fallback=nowhere)
    (refused,) = said(Event.FALLBACK_REFUSED, Event.DEV_ROOT_CHOSEN)
    assert refused.startswith("refused HostDevFallback('/nowhere'): ")
    pod.tmpfs("/opt/dev")
    driver_root.dev_root(fallback=nowhere)
    refused, taken = said(Event.FALLBACK_REFUSED, Event.DEV_ROOT_CHOSEN)
    assert refused.startswith("refused HostDevFallback('/nowhere'): ")
    assert taken == "took /opt as the dev root of driver root /opt, by the driver root"


def test_openat2_that_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: Callable[..., list[str]]
) -> None:
    """It is told once, when it is learnt; and each time when it stays unsure."""
    root = ContainerPath(str(tmp_path))
    if not hasattr(os, "O_PATH"):
        pytest.skip("only Linux has openat2")

    def answer(number: int) -> None:
        def openat2(*_arguments: object, **_named: object) -> int:
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr(_syscalls, "openat2", openat2)

    answer(errno.EAGAIN)
    files = LocalFileSystem()
    files.resolve(root, "/")
    assert said(Event.OPENAT2_UNSURE, Event.OPENAT2_REFUSED) == [
        f"openat2 stayed unsure of / in {root}: walking this once"
    ]
    answer(errno.ENOSYS)
    files.resolve(root, "/")
    files.resolve(root, "/")
    assert said(Event.OPENAT2_UNSURE, Event.OPENAT2_REFUSED) == [
        "openat2 is refused here, Function not implemented: walking from now on"
    ]
    answer(errno.ENOENT)
    LocalFileSystem().resolve(root, "/")
    assert said(Event.OPENAT2_UNSURE, Event.OPENAT2_REFUSED) == []


def test_mount_tables_that_are_read_again(
    host: FakeHost, monkeypatch: pytest.MonkeyPatch, said: Callable[..., list[str]]
) -> None:
    """It is told why: lines were lost, or two tables are not of one moment."""
    host.file("/lost", "2 1 8:1 / / rw - ext4 d rw\n3 7 0:5 / /dev rw - tmpfs t rw\n")
    MountInfoTable.read(host.filesystem, ContainerPath("/"), "lost", paths=ContainerPath)
    assert set(said(Event.TABLES_REREAD)) == {"reading the mount tables again: lost has lost lines"}
    reasons = ["device 0:5 is tmpfs in the one and ext4 in the other"]

    def disagree(*_tables: object) -> None:
        if reasons:
            raise MountTablesDisagreeError(reasons.pop())

    monkeypatch.setattr(_view, "_require_one_kernel", disagree)
    assert host.view.host_mountinfo is not None
    (text,) = said(Event.TABLES_REREAD)
    assert "device 0:5 is tmpfs in the one and ext4 in the other" in text


def test_specs(host: FakeHost, said: Callable[..., list[str]]) -> None:
    """A spec is told when it has its name, and when it has gone."""
    host.directory("/var/run/cdi")
    edits = {"deviceNodes": [{"path": "/dev/null"}]}
    devices = [{"name": "one", "containerEdits": edits}]
    spec = {"cdiVersion": "0.5.0", "kind": "example.com/class", "devices": devices}
    name = cdi.write(host.view, spec)
    assert cdi.remove(host.view, name)
    assert not cdi.remove(host.view, name)
    assert said() == [
        f"wrote the CDI spec of example.com/class to /run/cdi/{name}",
        f"removed the CDI spec /run/cdi/{name}",
    ]


def test_paths_make_no_lines_of_their_own(said: Callable[..., list[str]]) -> None:
    r"""What is no text comes as ``\xff`` and ``\x0a``, also to a stream that takes UTF-8 alone."""
    devroot.examine(ContainerView(), ContainerPath("/a\nb\x7f\x9b\x85\u2028\u2029\udcff é"))
    (text,) = said(Event.REACH)
    assert text.startswith(r"/a\x0ab\x7f\x9b\x85\u2028\u2029\xff é is UNKNOWN, ")
    assert len(text.splitlines()) == 1
    assert text.encode().isascii() is False


def test_nothing_is_looked_up_for_nobody(
    dev_root: DevRoot, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Below the level that is set, no host path is asked for and no record is made."""
    caplog.set_level(logging.WARNING, logger="devroot")
    assert not any(map(is_heard, Event))
    monkeypatch.setattr(_tell, "_Teller", None)
    mknod(dev_root, [NODE])
    assert caplog.records == []


def test_logging_that_is_not_loaded_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody listens then, also while another thread is loading it."""
    for module in (None, ModuleType("logging")):
        monkeypatch.setattr(_log, "_logger", None)
        monkeypatch.setitem(sys.modules, "logging", module)
        assert not is_heard(Event.REACH)
        tell(Event.REACH, "a", "b", "c", "d")
    monkeypatch.setattr(_log, "_logger", None)
    monkeypatch.setitem(sys.modules, "logging", logging)
    assert is_heard(Event.NODE_CREATED) == logging.getLogger("devroot").isEnabledFor(logging.INFO)


def test_one_logger_and_no_handler() -> None:
    """Use loads no `logging`; once it is loaded there is one logger, as the library made it."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAMME],
        capture_output=True,
        text=True,
        env=environment(),
        check=False,
    )
    assert done.stderr == ""
    assert json.loads(done.stdout) == [False, ["devroot"], [[], 0, True, False, []], []]


def test_no_other_room_logs() -> None:
    """Only the room of the log names `logging`."""
    root = Path(devroot.__file__).parent
    for path in root.rglob("*.py"):
        if path.name != "_log.py":
            text = path.read_text(encoding="utf-8")
            assert not re.search(r"^\s*(import|from) logging\b", text, re.MULTILINE), path


def test_nothing_is_a_warning() -> None:
    """Errors are raised; without a handler a warning would go to the standard error."""
    assert {event.level for event in Event} == {logging.DEBUG, logging.INFO}


def test_events_are_documented() -> None:
    """The page has each event with its level and its text, and no other one."""
    rows = re.findall(
        r"^\| `([a-z0-9-]+)` \| ([A-Z]+) \| (.*) \|$", PAGE.read_text("utf-8"), re.MULTILINE
    )
    told = [(name, level, re.sub(r"\*[^*]+\*", "%s", text)) for name, level, text in rows]
    assert told == [
        (event.value, logging.getLevelName(event.level), event.text.replace("%d", "%s"))
        for event in Event
    ]
