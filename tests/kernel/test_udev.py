"""The udev room on a real kernel: sysfs, libudev, and news of loop devices that come and go.

Loop devices are made by the loop driver's control device (loop(4)), with numbers that nobody has,
and removed again. News that changes nothing is made by writing to a ``uevent`` file.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import stat
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from devroot.errors import UdevUnavailableError
from devroot.udev import DeviceCatalog
from tests._children import environment
from tests.conftest import IN_CI

if TYPE_CHECKING:
    from collections.abc import Generator

pytestmark = pytest.mark.kernel

HERE = Path(__file__).parent.parent.parent
CONTROL = "/dev/loop-control"
ADD, REMOVE = 0x4C80, 0x4C81  # LOOP_CTL_ADD and LOOP_CTL_REMOVE of linux/loop.h
ATTEMPTS = 100  # a loop device is busy while somebody looks at it

COMMON = f"""
import errno, fcntl, json, os, signal, socket, subprocess, sys
signal.alarm(300)  # a watch that hears nothing waits for ever
from devroot import ContainerView, DevRoot, DriverRoot, NotOnHostError, SubsetFallback
from devroot.udev import Change, DeviceCatalog, watch

def loop(request, number):
    control = os.open({CONTROL!r}, os.O_RDWR)
    for attempt in range({ATTEMPTS}):
        try:
            fcntl.ioctl(control, request, number)
            break
        except OSError as error:
            if error.errno != errno.EBUSY or attempt == {ATTEMPTS - 1}:
                raise
    os.close(control)

def add(number):
    loop({ADD}, number)

def remove(number):
    loop({REMOVE}, number)

def mount(*words):
    subprocess.run(["mount", *words], check=True)

place, first, second = sys.argv[1], *map(int, sys.argv[2:4])
names = [f"loop{{first}}", f"loop{{second}}"]
"""

FOLLOW = """
mount("-t", "tmpfs", "none", place)
os.mkdir(place + "/dev")
mount("--bind", "/dev", place + "/dev")
exec(sys.argv[4])
NAMES, SUBSET = names, SubsetFallback(place, names)

class Done(Exception):
    pass

class Plugin:
    said = []

    def add(self, node, host_path):
        self.said.append(["add", str(node.path), str(host_path)])
        if node.path.name == names[0]:
            add(second)
        else:
            remove(first)

    def remove(self, node):
        self.said.append(["remove", str(node.path)])
        if node.path.name == names[1]:
            raise Done
        remove(second)

add(first)
try:
    follow(Plugin(), ContainerView.of_process())
except Done:
    print(json.dumps(Plugin.said))
"""

STALE = """
mount("-t", "tmpfs", "none", place)
os.mkdir(place + "/dev")
add(first)
node = f"{place}/dev/{names[0]}"
open(node, "w").close()
mount("--bind", "/dev/" + names[0], node)
devices = DeviceCatalog.of_host().select(name=names)
driver_root = DriverRoot(host="/", container="/", view=ContainerView.of_process())
subset = SubsetFallback.of_devices(place, devices.nodes, exact=True)
dev_root = driver_root.dev_root(fallback=subset)
said = [dev_root.require_reach().verdict.value]
try:
    with watch(dev_root, devices) as events:
        add(second)
        remove(first)
        for event in events:
            said.append([event.change.value, event.node.path.name, event.outside, event.reason])
except NotOnHostError as error:
    said.append(error.reach.verdict.value)
remove(second)
print(json.dumps(said))
"""

OVERFLOW = """
dev_root = DevRoot(container="/", view=ContainerView.of_process())
devices = DeviceCatalog.of_host().select(name=[*names, "null"])
with watch(dev_root, devices) as events:
    said = [events.unknown]
    def news(action):
        with open("/sys/devices/virtual/mem/null/uevent", "w") as file:
            file.write(action)
    news("remove")
    news("add")
    add(first)
    event = next(events)
    said.append([event.change.value, event.node.path.name])
    twin = socket.socket(fileno=os.dup(events.fileno()))
    twin.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)  # the kernel's least
    twin.close()
    for _ in range(100):
        news("change")
    remove(first)
    add(second)
    while (event := events.poll(0)) is not None:
        said.append([event.change.value, event.node and event.node.path.name])
    remove(second)
    event = next(events)
    said.append([event.change.value, event.node.path.name])
print(json.dumps(said))
"""

NAMESPACE = """
dev_root = DevRoot(container="/", view=ContainerView.of_process())
with watch(dev_root, DeviceCatalog.of_host().select(name=names)) as events:
    said = list(iter(lambda: events.poll(0), None))
    said = [event.reason for event in said]
    print("ready", flush=True)
    sys.stdin.readline()
    event = events.poll(0) if said else next(events)
    said.append(event and event.change.value)
    events.rescan()
    event = events.poll(0)
    said.append(event and event.change.value)
print(json.dumps(said))
"""


FORK = """
import uuid
from devroot.udev._pyudev import PyudevMonitor

mark, monitor = str(uuid.uuid4()), PyudevMonitor()
for _ in range(5):
    with open("/sys/devices/virtual/mem/null/uevent", "w") as file:
        file.write(f"change {mark}")

def hear(timeout, enough):
    found = 0
    while found < enough:
        news = monitor.receive(timeout)
        if news is None:
            break
        found += news.record.properties.get("SYNTH_UUID") == mark
    return found

child = os.fork()
if child == 0:
    os._exit(hear(None, 5))
print(json.dumps([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), hear(0, 1)]))
"""


def lacking(reason: str) -> None:
    """Skip, or in CI fail, for want of something."""
    if IN_CI:
        pytest.fail(f"CI tests this on the kernel, but {reason}", pytrace=False)
    pytest.skip(reason)


@pytest.fixture(autouse=True)
def _udev() -> None:
    """Skip without sysfs or libudev."""
    if not Path("/sys/dev/char").exists():
        lacking("no sysfs is mounted at /sys")
    try:
        DeviceCatalog.of_host()
    except UdevUnavailableError as error:
        lacking(str(error))


@contextmanager
def loops() -> Generator[tuple[int, int]]:
    """Give the numbers of two loop devices that nobody has, and see that they are gone after."""
    if not Path(CONTROL).exists():
        lacking(f"there is no {CONTROL}")
    first = 100_000 + 2 * secrets.randbelow(200_000)
    numbers = first, first + 1
    try:
        yield numbers
    finally:
        for number in numbers:
            if Path(f"/sys/block/loop{number}").exists():
                _loop(REMOVE, number)


def _loop(request: int, number: int) -> None:
    control = os.open(CONTROL, os.O_RDWR)
    try:
        fcntl.ioctl(control, request, number)
    finally:
        os.close(control)


def command(programme: str, *arguments: str, unshare: tuple[str, ...]) -> list[str]:
    """Return the words that run a programme in namespaces of its own."""
    return ["unshare", *unshare, sys.executable, "-c", COMMON + programme, *arguments]


def run(programme: str, *arguments: str, unshare: tuple[str, ...] = ("--mount",)) -> Any:  # noqa: ANN401 - whatever JSON can say
    """Return what a programme prints that runs in namespaces of its own."""
    done = subprocess.run(
        command(programme, *arguments, unshare=unshare),
        capture_output=True,
        text=True,
        env=environment(),
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_catalog_is_that_of_the_machine() -> None:
    """What libudev lists and what the files of sysfs say is the same, and ``/dev`` agrees."""
    listed, read = DeviceCatalog.of_host(), DeviceCatalog.of_sysfs()
    for _ in range(5):  # others may plug something in between the two
        if listed.devices != read.devices:
            listed, read = DeviceCatalog.of_host(), DeviceCatalog.of_sysfs()
    assert listed.devices == read.devices
    assert listed.by_number(1, 3).node.path.below_dev == "null"
    null = listed.by_sysfs_path("/sys/class/mem/null")
    assert (null.subsystem, null.node.mode, null.mode_known) == ("mem", 0o666, True)
    assert listed.by_path("tty").subsystem == "tty"
    assert len(listed.select(subsystem="tty", name="tty[0-9]*")) > 1
    seen = 0
    for node in listed.nodes:
        try:
            status = os.lstat(str(node.path))
        except FileNotFoundError:
            continue
        kind = stat.S_ISBLK if node.type == "b" else stat.S_ISCHR
        assert kind(status.st_mode), node
        assert (os.major(status.st_rdev), os.minor(status.st_rdev)) == node.number, node
        seen += 1
    assert seen > 3


def test_links_of_sysfs_lead_to_the_same_places() -> None:
    """A PCI function above a device is where its directory in sysfs lies."""
    for device in DeviceCatalog.of_host():
        place = Path("/sys" + device.sysfs_path)
        if place.exists():
            assert place.resolve() == place
        if device.pci is not None:
            vendor = Path("/sys" + device.pci.sysfs_path, "vendor").read_text().strip()
            assert int(vendor, 16) == device.pci.vendor
            assert Path("/sys/bus/pci/devices", device.pci.name).exists()


def test_the_ten_lines_on_the_kernel(tmp_path: Path) -> None:
    """The page's plugin follows loop devices: one that is there, one that comes, both that go."""
    page = (HERE / "docs/how-to/follow-hot-plug.md").read_text()
    plugin = page.split("```python\n")[1].split("```")[0]
    with loops() as (first, second):
        said = run(FOLLOW, str(tmp_path), str(first), str(second), plugin)
    one, two = f"/dev/loop{first}", f"/dev/loop{second}"
    assert said == [["add", one, one], ["add", two, two], ["remove", one], ["remove", two]]


def test_a_mounted_node_goes_stale(tmp_path: Path) -> None:
    """A node is mounted alone: another one is outside, and its end is the end of the watch."""
    with loops() as (first, second):
        said = run(STALE, str(tmp_path), str(first), str(second))
        shows = f"the dev root {tmp_path} (only /dev/loop{first})"
    assert said == [
        "host",
        ["added", f"loop{second}", True, f"it lies outside of what {shows} shows"],
        ["removed", f"loop{first}", False, "its reach is STALE"],
        "stale",
    ]


def test_lost_news_and_news_by_hand(tmp_path: Path) -> None:
    """The kernel's overflow is told and looked into; what was written to a file changes nothing."""
    with loops() as (first, second):
        said = run(OVERFLOW, str(tmp_path), str(first), str(second))
    assert said == [
        [],
        ["added", f"loop{first}"],
        ["overflow", None],
        ["removed", f"loop{first}"],
        ["added", f"loop{second}"],
        ["removed", f"loop{second}"],
    ]


@pytest.mark.parametrize(
    ("unshare", "reason", "heard"),
    [
        (("--net",), "", ["added", None]),
        (
            ("--net", "--user", "--map-root-user"),
            "this process has a user namespace of its own",
            [None, "added"],
        ),
    ],
    ids=["network", "user"],
)
def test_namespaces(
    tmp_path: Path, unshare: tuple[str, ...], reason: str, heard: list[str | None]
) -> None:
    """News comes to a network namespace of the initial user namespace, and to no other one."""
    if subprocess.run(["unshare", *unshare, "true"], capture_output=True, check=False).returncode:
        lacking("the kernel gives no such namespaces")
    with loops() as (first, second):
        words = command(NAMESPACE, str(tmp_path), str(first), str(second), unshare=unshare)
        with subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment(), text=True
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            _loop(ADD, first)
            process.stdin.write("go\n")
            process.stdin.close()
            *reasons, from_news, from_rescan = json.loads(process.stdout.read())
    assert [from_news, from_rescan] == heard
    assert bool(reasons) == bool(reason)
    assert reason in "".join(reasons)


def test_a_fork_takes_the_news(tmp_path: Path) -> None:
    """A monitor that a fork shares gives each piece of news to one of the two, so both need one."""
    assert run(FORK, str(tmp_path), "0", "1") == [5, 0]
