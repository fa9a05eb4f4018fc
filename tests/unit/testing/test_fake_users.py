"""Who may do what on a fake host: users, groups, capabilities, user namespaces, device cgroups.

That the answers are the kernel's is checked against it, by random programmes in
``tests/differential``.
"""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Any

import pytest

from devroot import (
    ContainerPath,
    DeviceNode,
    DriverRoot,
    FileType,
    NodeError,
    mknod,
)
from devroot.errors import InvalidSceneError
from devroot.testing import FakeContainer, FakeHost
from devroot.testing._rights import CAP_DAC_READ_SEARCH, CAP_FOWNER, ROOT, Credentials

if TYPE_CHECKING:
    from collections.abc import Callable

TOP = ContainerPath("/")


@pytest.fixture
def host() -> FakeHost:
    """Return a host with devtmpfs and files of several users."""
    host = FakeHost(
        [
            "dir /data 0750 1000:100",
            "file /data/own 0640 1000:100\nsecret",
            "file /data/others 0666 7:7\nshared",
            "file /data/set-id 4755 7:7",
            "dir /data/inner 0700 0:0",
            "file /data/inner/f",
            "dir /sticky 1777",
            "file /sticky/others 0666 7:7",
            "file /sticky/secret 0600 7:7",
            "link /sticky/link /data",
        ]
    )
    host.devtmpfs("/dev")
    return host


def start(host: FakeHost, **wishes: Any) -> FakeContainer:  # noqa: ANN401 - of a container
    """Return a container that sees the files."""
    return host.container(mounts=["/data:/data", "/sticky:/sticky", "/dev:/host-dev"], **wishes)


def number_of(action: Callable[[], object]) -> int:
    """Return the errno with which *action* fails; 0 if it does not."""
    try:
        action()
    except OSError as error:
        return error.errno or 0
    return 0


def look(container: FakeContainer, path: str) -> int:
    """Return the errno of reading the file *path*."""
    return number_of(lambda: container.filesystem.read_bytes(TOP, path))


def enter(container: FakeContainer, path: str) -> int:
    """Return the errno of opening the directory *path*."""
    return number_of(lambda: container.filesystem.open_directory(TOP, path).close())


@pytest.mark.parametrize(
    ("ids", "own", "inner"),
    [
        ({"user": 1000}, 0, errno.EACCES),
        ({"user": 5, "group": 100}, 0, errno.EACCES),
        ({"user": 5, "groups": [9, 100]}, 0, errno.EACCES),
        ({"user": 5, "group": 5}, errno.EACCES, errno.EACCES),
        ({}, 0, 0),
        ({"capabilities": ["DAC_READ_SEARCH"]}, 0, 0),
        ({"capabilities": ["MKNOD"]}, errno.EACCES, errno.EACCES),
        ({"user": 5, "privileged": True}, errno.EACCES, errno.EACCES),
    ],
)
def test_looking(host: FakeHost, ids: dict[str, Any], own: int, inner: int) -> None:
    """Mode, owner, groups and capabilities say what may be read; others have no capabilities."""
    container = start(host, **ids)
    assert look(container, "data/own") == own
    assert look(container, "data/inner/f") == inner
    assert enter(container, "data/inner") == inner


def test_changing(host: FakeHost) -> None:
    """Who may look need not write, and who may write to a sticky directory takes only its own."""
    container = start(host, user=5, group=100)
    assert container.view.effective_capabilities == 0
    with container.filesystem.open_directory(TOP, "data") as data:
        assert number_of(lambda: data.make_symlink("new", "x")) == errno.EACCES
        assert number_of(lambda: data.unlink("own")) == errno.EACCES
        assert number_of(lambda: data.open_directory("inner")) == errno.EACCES
    with container.filesystem.open_directory(TOP, "sticky") as sticky:
        assert number_of(lambda: sticky.unlink("others")) == errno.EPERM
        sticky.write_file("mine", b"x", mode=0o600)
        sticky.make_directory("d", mode=0o2700, uid=5, gid=100)
        assert (sticky.lstat("mine").uid, sticky.lstat("mine").gid) == (5, 100)
        assert number_of(lambda: sticky.make_directory("e", mode=0o700)) == errno.EPERM
        assert number_of(lambda: sticky.rename("mine", sticky, "others", replace=True)) == 1
        sticky.unlink("mine")


def test_content(host: FakeHost) -> None:
    """A file has a mode of its own, wherever it is."""
    assert look(start(host, user=5), "sticky/secret") == errno.EACCES
    assert look(start(host, user=7), "sticky/secret") == 0
    assert look(start(host, capabilities=["DAC_READ_SEARCH"]), "sticky/secret") == 0


def test_looking_is_not_changing(host: FakeHost) -> None:
    """The capability to look everywhere changes nothing."""
    files = start(host, capabilities=["DAC_READ_SEARCH"]).filesystem
    with files.open_directory(TOP, "data") as data:
        assert number_of(lambda: data.make_symlink("new", "x")) == errno.EACCES


def test_moving_a_directory(host: FakeHost) -> None:
    """To another directory, one moves only what one may write to, for its ``..`` changes."""
    host.add("dir /data 0777", "dir /data/a 0777", "dir /data/theirs 0755 7:7")
    with start(host, user=5).filesystem.open_directory(TOP, "data") as data:
        with data.open_directory("a") as a:
            moved = number_of(lambda: data.rename("theirs", a, "x", replace=False))
        assert moved == errno.EACCES
        data.rename("theirs", data, "x", replace=False)


def test_what_is_given_away_half_done(host: FakeHost) -> None:
    """A new file that went to somebody else stays, if its maker may not take it away any more."""
    some = {"user": 0, "capabilities": ["CHOWN", "MKNOD"]}
    host.directory("/sticky", mode=0o1777, uid=7)
    with start(host, **some).filesystem.open_directory(TOP, "sticky") as sticky:
        fifo = FileType.FIFO
        attempt = number_of(
            lambda: sticky.make_node("n", type=fifo, major=0, minor=0, mode=0o600, uid=5)
        )
        assert attempt == errno.EPERM
        assert sticky.lstat("n").uid == 5
    host.directory("/sticky", mode=0o777, uid=7)
    with start(host, **some).filesystem.open_directory(TOP, "sticky") as sticky:
        refused = number_of(lambda: sticky.make_directory("d", mode=0o755, uid=5))
        assert refused == errno.EPERM
        assert "d" not in sticky.names()


def test_giving_to_a_group(host: FakeHost) -> None:
    """The owner may give a file to a group that it is in, and to no other."""
    with start(host, user=7, groups=[9]).filesystem.open_directory(TOP, "sticky") as sticky:
        before = sticky.lstat("others")
        sticky.mend("others", expected=before, gid=9)
        assert sticky.lstat("others").gid == 9
        refused = number_of(lambda: sticky.mend("others", expected=before, gid=10))
        assert refused == errno.EPERM


def test_the_library_tells_of_it(host: FakeHost) -> None:
    """Whoever is not root has no nodes made, nor has root in a directory of somebody else."""
    host.directory("/data/dev", uid=1000)
    host.directory("/data", uid=1000)
    node = DeviceNode(path="nvidia0", major=195, minor=0)
    some = ["MKNOD", "CHOWN", "FOWNER"]
    for wishes, number in (({"user": 1000}, errno.EPERM), ({"capabilities": some}, errno.EACCES)):
        view = start(host, **wishes).view
        dev_root = DriverRoot(host="/data", container="/data", view=view).dev_root()
        with pytest.raises(NodeError) as caught:
            mknod(dev_root, [node])
        assert caught.value.errno == number


def test_second_names(host: FakeHost) -> None:
    """A second name is for what one could write to; ``protected_hardlinks`` is on."""
    container = start(host, user=5, group=100)
    host.directory("/data", mode=0o777, uid=1000)
    with container.filesystem.open_directory(TOP, "data") as data:
        data.link("others", data, "again")
        for name in ("own", "set-id"):
            assert number_of(lambda name=name: data.link(name, data, "x")) == errno.EPERM  # type: ignore[misc]  # mypy sees no type
    container._process.protected_hardlinks = False
    with container.filesystem.open_directory(TOP, "data") as data:
        data.link("own", data, "x")
    with container.filesystem.open_directory(TOP, "host-dev") as dev:
        container._process.protected_hardlinks = True
        assert number_of(lambda: dev.link("null", dev, "x")) == errno.EPERM


def test_links_in_a_sticky_directory(host: FakeHost) -> None:
    """The link of another in a sticky directory for all is not followed, not even by root."""
    host.add("link /sticky/mine /data")
    host._at(TOP / "sticky").inode.child("link").uid = 7
    container = start(host)
    with pytest.raises(PermissionError) as caught:
        container.filesystem.resolve(TOP, "sticky/link")
    assert caught.value.filename == "/sticky/link"
    assert str(container.filesystem.resolve(TOP, "sticky/link/own")) == "/data/own"
    assert str(container.filesystem.resolve(TOP, "sticky/mine")) == "/data"
    container._process.protected_symlinks = False
    assert str(container.filesystem.resolve(TOP, "sticky/link")) == "/data"


def test_a_walk_says_where_it_was_stopped(host: FakeHost) -> None:
    """A dot in a directory that may not be searched is refused, with its path."""
    container = start(host, user=5)
    for path in ("data/.", "data/..", "data/inner"):
        with pytest.raises(PermissionError) as caught:
            container.filesystem.status(TOP, path)
        assert caught.value.filename == ("/data/inner" if path == "data/inner" else "/data")


def test_owners_in_a_user_namespace(host: FakeHost) -> None:
    """What is the host's is nobody's there, and root there may not write to it."""
    container = start(host, user_namespace=True)
    status = container.filesystem.status(TOP, "sticky/others")
    assert (status.uid, status.gid) == (65534, 65534)
    assert enter(container, "data/inner") == errno.EACCES
    assert container.filesystem.status(TOP, "etc").uid == 0
    assert container.device("/dev/null").uid == 65534
    with container.filesystem.open_directory(TOP, "tmp") as directory:
        directory.make_directory("d", mode=0o700, uid=3)
        assert directory.lstat("d").uid == 3
        refused = number_of(lambda: directory.make_directory("e", mode=0o700, uid=70000))
        assert refused == errno.EINVAL
    assert container._at(TOP / "tmp/d").inode.uid == 100003


def test_nodes_in_a_user_namespace(host: FakeHost) -> None:
    """Its ``/dev`` has the host's nodes, mounted one by one, for it may make none."""
    host.remove("/dev/full")
    container = host.container(user_namespace=True)
    assert container.device("/dev/null").number == (1, 3)
    assert " /null /dev/null " in container.mountinfo()
    assert not container.has("/dev/full")


def test_a_container_in_a_user_namespace(host: FakeHost) -> None:
    """What is started there is there too."""
    outer = host.container(user_namespace=True)
    inner = outer.container()
    assert inner.view.initial_user_namespace is False
    assert inner._process.who == outer._process.who


def test_status_says_who_it_is(host: FakeHost) -> None:
    """``/proc/self/status`` has the IDs, as the reader's user namespace counts."""
    files = host.container(user=7, group=8, groups=[9], user_namespace=True).filesystem
    status = files.read_bytes(TOP, "proc/self/status").decode()
    assert "\nUid:\t7\t7\t7\t7\nGid:\t8\t8\t8\t8\nGroups:\t9 \n" in status
    assert "\nCapEff:\t0000000000000000\nCapBnd:\t00000000a80425fb\n" in status
    outside = host.filesystem
    assert b"\nUid:\t100007\t" in outside.read_bytes(TOP, "proc/1000/status")


def test_looking_into_processes(host: FakeHost) -> None:
    """The namespaces of a process are for itself, its equals and whoever may trace."""
    read = "proc/1/ns/user"
    assert number_of(lambda: host.container(host_pid=True).filesystem.read_link(TOP, read)) == 13
    tracing = host.container(host_pid=True, capabilities=["SYS_PTRACE"])
    assert tracing.filesystem.read_link(TOP, read) == "user:[4026531837]"
    equal = host.container(host_pid=True, privileged=True, capabilities=None)
    assert equal.filesystem.read_link(TOP, read) == "user:[4026531837]"
    users = host.container(host_pid=True, user_namespace=True, capabilities=["SYS_PTRACE"])
    assert number_of(lambda: users.filesystem.read_link(TOP, read)) == errno.EACCES
    weak = host.container(host_pid=True, user=3)
    own = f"proc/{weak._process.pid}/ns/user"
    assert weak.filesystem.read_link(TOP, own) == "user:[4026531837]"
    assert enter(weak, "proc/1/ns") == errno.EACCES


def test_magic_links_are_not_followed(host: FakeHost) -> None:
    """A magic link has a text; following it inside a root is ``ELOOP``, as `openat2` has it."""
    files = host.container().filesystem
    assert number_of(lambda: files.status(TOP, "proc/self/ns/user")) == errno.ELOOP


@pytest.mark.parametrize("ids", [{"user": -1}, {"group": 2**32}, {"groups": [1, 2**32 - 1]}])
def test_ids_that_there_are_not(host: FakeHost, ids: dict[str, Any]) -> None:
    """An ID that the user namespace does not have is refused."""
    with pytest.raises(InvalidSceneError, match="is not from 0 to"):
        host.container(**ids)


@pytest.mark.parametrize(
    ("rules", "made"),
    [
        (["a"], {"char", "block", "other"}),
        (["c 195:* rwm"], {"char"}),
        (["c 195:7 rw"], set[str]()),
        (["b *:7 m"], {"block"}),
        (["c *:* m", "b *:* m"], {"char", "block", "other"}),
        ([], set[str]()),
    ],
)
def test_a_device_cgroup(host: FakeHost, rules: list[str], made: set[str]) -> None:
    """Nodes that the device cgroup does not allow are ``EPERM``, and a whiteout is no device."""
    container = start(host, device_cgroup=rules)
    nodes = {
        "char": (FileType.CHARACTER, 195, 7),
        "block": (FileType.BLOCK, 195, 7),
        "other": (FileType.CHARACTER, 1, 3),
    }
    with container.filesystem.open_directory(TOP, "host-dev") as directory:
        found = {
            name: number_of(
                lambda name=name, t=type_, n=(major, minor): directory.make_node(  # type: ignore[misc]  # mypy sees no type
                    name, type=t, major=n[0], minor=n[1], mode=0o600
                )
            )
            for name, (type_, major, minor) in nodes.items()
        }
        directory.make_node("w", type=FileType.CHARACTER, major=0, minor=0, mode=0o600)
    assert found == {name: 0 if name in made else errno.EPERM for name in nodes}


@pytest.mark.parametrize("rule", ["c 195:*", "x 1:1 m", "c 1 m", "a 1:1 m", "c 1:1 x"])
def test_rules_that_are_none(host: FakeHost, rule: str) -> None:
    """A text that is no rule of a device cgroup is refused."""
    with pytest.raises(InvalidSceneError, match="a rule is"):
        host.container(device_cgroup=[rule])


def test_names_that_only_the_kernel_makes(host: FakeHost) -> None:
    """In procfs and sysfs nobody makes or takes names, root neither."""
    FILE, FIFO = FileType.REGULAR, FileType.FIFO  # noqa: N806 - as short as can be
    files = host.filesystem
    with files.open_directory(TOP, "proc/driver") as d, files.open_directory(TOP, "dev") as dev:
        attempts: list[tuple[int, Callable[[], object]]] = [
            (errno.EPERM, lambda: d.make_directory("x", mode=0o700)),
            (errno.EPERM, lambda: d.make_symlink("x", "y")),
            (errno.EPERM, lambda: d.make_node("x", type=FIFO, major=0, minor=0, mode=0)),
            (errno.EACCES, lambda: d.make_node("x", type=FILE, major=0, minor=0, mode=0)),
            (errno.EACCES, lambda: d.write_file("x", b"", mode=0)),
            (errno.EXDEV, lambda: dev.link("null", d, "x")),
        ]
        for number, attempt in attempts:
            assert number_of(attempt) == number
    host.proc_file("driver/x/y", "")
    with files.open_directory(TOP, "proc/driver/x") as d:
        for attempt in (
            lambda: d.unlink("y"),
            lambda: d.link("y", d, "again"),
            lambda: d.rename("y", d, "again", replace=True),
            lambda: files.open_directory(TOP, "proc/driver").remove_directory("x"),
        ):
            with pytest.raises(OSError) as caught:  # noqa: PT011 - the errno says which
                attempt()
            assert caught.value.errno == errno.EPERM


def test_a_whiteout_on_an_overlay(host: FakeHost) -> None:
    """On an overlay nobody makes the node 0:0, with which it hides names."""
    with host.container().filesystem.open_directory(TOP, "") as root:
        refused = number_of(
            lambda: root.make_node("w", type=FileType.CHARACTER, major=0, minor=0, mode=0)
        )
    assert refused == errno.EPERM


def test_sizes_of_directories(host: FakeHost) -> None:
    """A directory has the size that its kind of file system gives it."""
    host.tmpfs("/t")
    host.add("dir /t/a", "dir /t/b", "dir /etc/x")
    status = host.filesystem.status
    sizes = [status(TOP, path).size for path in ("t", "t/a", "etc", "proc", "sys")]
    assert sizes == [80, 40, 4096, 0, 0]
    assert host.container().filesystem.status(TOP, "dev/mqueue").size == 40


def test_set_id_bits_of_new_files() -> None:
    """In a set-group-ID directory an executable file loses the bit if its maker is no member."""
    host = FakeHost(["dir /d 2777 0:9"])
    with host.container(mounts=["/d:/d"], user=5).filesystem.open_directory(TOP, "d") as d:
        fifo = FileType.FIFO
        d.make_node("n", type=fifo, major=0, minor=0, mode=0o2755, uid=5, gid=9)
        assert (d.lstat("n").mode, d.lstat("n").gid) == (0o755, 9)
        d.make_directory("e", mode=0o755, uid=5, gid=9)
        assert d.lstat("e").mode == 0o755


def test_who_knows_whom() -> None:
    """A capability reaches files of one's own user namespace only."""
    inside = Credentials(uid=100000, gid=100000, first=100000, count=65536, initial=False)
    inode = FakeHost(["file /f 0600 0:0"])._at(TOP / "f").inode
    assert ROOT.may_to(CAP_FOWNER, inode)
    assert not inside.may_to(CAP_FOWNER, inode)
    assert not inside.may_to(CAP_DAC_READ_SEARCH, inode)
    assert not inside.may(CAP_FOWNER)
    inode.uid = 100005
    assert not inside.may_to(CAP_FOWNER, inode)
    with pytest.raises(PermissionError):
        inside.own(inode, uid=None, gid=100001)
    inside.set_mode(inode, 0o644)
    assert inside.shown(inode.uid) == 5
