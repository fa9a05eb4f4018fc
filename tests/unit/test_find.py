"""Driver files: found inside the driver root on every file system, and passed over with reasons."""

from __future__ import annotations

import contextlib
import copy
import errno
import pickle
from typing import TYPE_CHECKING, Final

import attrs
import pytest

from devroot._driver_root import DriverRoot
from devroot._find import SYSTEM_DIRECTORIES
from devroot._findings import DriverFile, Findings, Obstacle, PassedOver
from devroot._mounts import Mount, MountTable
from devroot._paths import ContainerPath, HostPath
from devroot._view import ContainerView
from devroot.errors import (
    DriverFileError,
    DriverRootError,
    InvalidPathError,
    PathKindError,
)
from devroot.testing import TreeFileSystem
from tests._ldcaches import I386, library, written
from tests._systems import LINKED, LOCAL, TREE, opened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from devroot._ldcache import LdCacheEntry

    Rooted = Callable[..., DriverRoot]

HOST: Final = HostPath("/home/kubernetes/bin/nvidia")
LIB: Final = ("/usr/lib64",)


@pytest.fixture(params=(*LOCAL, LINKED[0], TREE))
def rooted(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Rooted]:
    """Return what gives a driver root with given files, on each file system in turn."""
    with contextlib.ExitStack() as stack:

        def give(*specs: str) -> DriverRoot:
            system = stack.enter_context(opened(request.param, tmp_path, ["dir /", *specs]))
            view = ContainerView(filesystem=system.filesystem)
            return DriverRoot(host=HOST, container=system.root, view=view)

        yield give


def in_tree(*specs: str, mounts: MountTable | None = None) -> DriverRoot:
    """Return the driver root ``/driver-root`` in a tree in memory, with these files."""
    tree = TreeFileSystem(["dir /driver-root", *specs])
    view = ContainerView(filesystem=tree, mounts=mounts)
    return DriverRoot(host=HOST, container="/driver-root", view=view)


def tree_of(root: DriverRoot) -> TreeFileSystem:
    """Return the tree in memory that a driver root is in."""
    tree = root.view.filesystem
    assert isinstance(tree, TreeFileSystem)
    return tree


def cached(*entries: LdCacheEntry, form: str = "new") -> str:
    """Return the spec of an ``ld.so.cache``."""
    content = written(entries, form=form).decode("utf-8", "surrogateescape")
    return f"file /etc/ld.so.cache\n{content}"


def refused(find: Callable[[], object]) -> tuple[PassedOver, ...]:
    """Return what a search that fails passed over."""
    with pytest.raises(DriverFileError) as caught:
        find()
    return caught.value.passed_over


def below(root: DriverRoot, found: DriverFile) -> tuple[str, str]:
    """Return where a file is, from the driver root, in the container and on the host."""
    return (
        "/" + found.container.relative_to(root.container),
        "/" + str(found.host)[len(str(HOST)) + 1 :],
    )


# What leads to which file.


def test_first_directory_wins(rooted: Rooted) -> None:
    """Directories are looked into in the order given, and the rest is not looked at."""
    root = rooted("file /b/libx.so", "file /c/libx.so")
    found = root.find("libx.so", directories=("/a", "/b", "/c"))
    assert found == DriverFile(
        container=root.container / "b/libx.so",
        host=HOST / "b/libx.so",
        asked="/b/libx.so",
        passed_over=(
            PassedOver(
                path=f"{root.container}/a/libx.so",
                obstacle=Obstacle.MISSING,
                reason=f"{root.container}/a does not exist",
            ),
        ),
    )


def test_absolute_link_means_the_driver_roots_file(rooted: Rooted) -> None:
    """A link to a path that this container has too leads to the one inside the driver root."""
    root = rooted("link /usr/lib64/libx.so.1 /etc/hostname", "file /etc/hostname")
    assert below(root, root.find("libx.so.1", directories=LIB)) == ("/etc/hostname",) * 2


def test_absolute_link_to_a_file_outside_is_dangling(rooted: Rooted) -> None:
    """That the container or the host has the file does not make it the driver's."""
    root = rooted("link /usr/lib64/libx.so.1 /etc/passwd", "dir /etc")
    (passed_over,) = refused(lambda: root.find("libx.so.1", directories=LIB, cache=None))
    assert passed_over.obstacle is Obstacle.DANGLING
    assert passed_over.path == f"{root.container}/usr/lib64/libx.so.1"
    assert "a link to /etc/passwd" in passed_over.reason
    assert f"{root.container}/etc/passwd does not exist" in passed_over.reason


@pytest.mark.parametrize("hops", [3, 40])
def test_link_that_climbs_stops_at_the_driver_root(rooted: Rooted, hops: int) -> None:
    """However many steps up a link takes, it stays in the driver root."""
    root = rooted(f"link /usr/lib64/libx.so {'../' * hops}etc/passwd", "file /etc/passwd")
    assert below(root, root.find("libx.so", directories=LIB)) == ("/etc/passwd",) * 2


def test_name_and_directory_that_climb_stop_at_the_driver_root(rooted: Rooted) -> None:
    """The same holds for what is asked for."""
    root = rooted("file /etc/passwd", "dir /usr/lib64")
    found = root.find("../../../../etc/passwd", directories=LIB)
    assert below(root, found) == ("/etc/passwd",) * 2
    assert found.asked == "/usr/lib64/../../../../etc/passwd"
    assert below(root, root.find("passwd", directories=("/usr/../../etc",))) == ("/etc/passwd",) * 2


def test_chain_of_links_on_the_way(rooted: Rooted) -> None:
    """Links to directories and links to links are followed inside the driver root, too."""
    root = rooted(
        "link /lib64 usr/lib64",
        "link /usr/lib64/libx.so.1 /etc/alternatives/x",
        "link /etc/alternatives/x /opt/x/libx.so.1",
        "link /opt/x/libx.so.1 libx.so.1.2.3",
        "file /opt/x/libx.so.1.2.3",
    )
    found = root.find("libx.so.1", directories=("/lib64",))
    assert below(root, found) == ("/opt/x/libx.so.1.2.3",) * 2
    assert found.asked == "/lib64/libx.so.1"


@pytest.mark.parametrize("name", ["lib[a].so", "lib*.so", "lib?.so", "[!x]*"])
def test_wildcards_in_a_name_are_part_of_it(rooted: Rooted, name: str) -> None:
    """A plain name with such characters is the file of that name and no other."""
    root = rooted("file /a/liba.so", "file /b/liba.so", f"file '/b/{name}'")
    found = root.find(name, directories=("/a", "/b"))
    assert below(root, found)[0] == f"/b/{name}"
    assert [each.obstacle for each in found.passed_over] == [Obstacle.MISSING]


def test_wildcards_in_a_directory_are_part_of_it(rooted: Rooted) -> None:
    """A directory is looked into under its name, for names and for patterns."""
    root = rooted("file /l[ab]/libx.so", "file /la/libx.so")
    assert below(root, root.find("libx.so", directories=("/l[ab]",)))[0] == "/l[ab]/libx.so"
    (found,) = root.find_all("lib*.so", directories=("/l[ab]",)).require()
    assert below(root, found)[0] == "/l[ab]/libx.so"


def test_name_of_several_components(rooted: Rooted) -> None:
    """It is looked for below each directory."""
    root = rooted("dir /etc/vulkan", "file /usr/share/vulkan/icd.d/x.json")
    found = root.find("vulkan/icd.d/x.json", directories=("/etc", "/usr/share"))
    assert below(root, found)[0] == "/usr/share/vulkan/icd.d/x.json"


def test_name_that_starts_with_a_slash_is_a_path(rooted: Rooted) -> None:
    """It counts from the driver root, and no directory is looked into."""
    root = rooted("file /etc/x.conf", "file /usr/lib64/etc/x.conf")
    assert below(root, root.find("/etc/x.conf", directories=LIB))[0] == "/etc/x.conf"
    (passed_over,) = refused(lambda: root.find("/x.conf", directories=("/etc",)))
    assert passed_over.path == f"{root.container}/x.conf"


@pytest.mark.parametrize("directory", ["usr/lib64", "/usr/lib64/", "//usr//lib64"])
def test_spelling_of_a_directory(rooted: Rooted, directory: str) -> None:
    """Slashes around a directory make no difference."""
    root = rooted("file /usr/lib64/libx.so")
    assert below(root, root.find("libx.so", directories=(directory,)))[0] == "/usr/lib64/libx.so"


def test_the_driver_root_itself_is_a_directory(rooted: Rooted) -> None:
    """A file can lie right in it."""
    root = rooted("file /nvidia-smi")
    found = root.find("nvidia-smi", directories=("/",))
    assert below(root, found) == ("/nvidia-smi",) * 2
    assert found.asked == "/nvidia-smi"
    assert [file.asked for file in root.find_all("nvidia-*", directories=("/",))] == ["/nvidia-smi"]


def test_bytes_that_are_no_text_survive(rooted: Rooted) -> None:
    """A name is bytes, and what is not UTF-8 in it comes back unchanged."""
    root = rooted("file /usr/lib64/lib\udcff.so")
    assert root.find("lib\udcff.so", directories=LIB).container.name == "lib\udcff.so"
    (found,) = root.find_all("lib?.so", directories=LIB)
    assert bytes(found.container).endswith(b"lib\xff.so")


# What is passed over.


def test_everything_that_is_no_regular_file_is_passed_over(rooted: Rooted) -> None:
    """Whatever lies at the name before the file is reported with what is wrong with it."""
    root = rooted(
        "dir /dir/libx.so",
        "fifo /fifo/libx.so",
        "socket /socket/libx.so",
        "link /dangling/libx.so ../gone/libx.so.1",
        "link /loop/libx.so libx.so",
        "link /todir/libx.so ../dir",
        "file /file",
        "link /elsewhere gone/lib",
        "dir /empty",
        "link /toempty empty",
        "file /unreadable/libx.so 0000",
        "file /last/libx.so",
    )
    directories = (
        "/absent/sub",
        "/dir",
        "/fifo",
        "/socket",
        "/dangling",
        "/loop",
        "/todir",
        "/file",
        "/elsewhere",
        "/empty",
        "/toempty",
        "/unreadable",
        "/last",
    )
    top = str(root.container)
    found = root.find("libx.so", directories=directories)
    assert below(root, found)[0] == "/last/libx.so"
    assert [each.path for each in found.passed_over] == [
        f"{top}{directory}/libx.so" for directory in directories[:-1]
    ]
    assert [(each.obstacle, each.reason) for each in found.passed_over] == [
        (Obstacle.MISSING, f"{top}/absent does not exist"),
        (Obstacle.NOT_REGULAR, "not a regular file (directory)"),
        (Obstacle.NOT_REGULAR, "not a regular file (fifo)"),
        (Obstacle.NOT_REGULAR, "not a regular file (socket)"),
        (
            Obstacle.DANGLING,
            f"a link to ../gone/libx.so.1, but inside the driver root {top}/gone does not exist",
        ),
        (Obstacle.LOOP, f"too many links, or a magic one, at {top}/loop/libx.so"),
        (Obstacle.NOT_REGULAR, "not a regular file (directory)"),
        (Obstacle.MISSING, f"{top}/file is not a directory"),
        (Obstacle.MISSING, f"{top}/gone does not exist"),
        (Obstacle.MISSING, "it does not exist"),
        (Obstacle.MISSING, f"{top}/empty/libx.so does not exist"),
        (Obstacle.NOT_READABLE, "its mode 0000 lets nobody read it"),
    ]


def test_device_node_at_the_name_is_passed_over() -> None:
    """A library is no device."""
    root = in_tree("char /driver-root/usr/lib64/libx.so 195:0")
    (passed_over,) = refused(lambda: root.find("libx.so", directories=LIB, cache=None))
    assert passed_over.reason == "not a regular file (character device)"


@pytest.mark.parametrize("mode", ["0400", "0111", "0444", "4755"])
def test_mode_that_lets_somebody_read_or_execute(mode: str) -> None:
    """Whether this process may is for the kernel to say when it opens the file."""
    root = in_tree(f"file /driver-root/bin/x {mode}")
    assert root.find("x", directories=("/bin",)).container == ContainerPath("/driver-root/bin/x")


@pytest.mark.parametrize("name", [".", "..", "libx.so/", "./"])
def test_names_of_directories(rooted: Rooted, name: str) -> None:
    """A name that can only be a directory's is no error, and never found."""
    root = rooted("file /usr/lib64/libx.so")
    obstacles = [each.obstacle for each in refused(lambda: root.find(name, directories=LIB))]
    assert obstacles[0] in {Obstacle.NOT_REGULAR, Obstacle.MISSING}


@pytest.mark.parametrize("number", [errno.EACCES, errno.EPERM])
def test_directory_that_may_not_be_looked_into(number: int) -> None:
    """It is passed over, and the place is named."""
    root = in_tree("file /driver-root/b/libx.so")
    tree_of(root).fail("resolve", number, path="/driver-root/a/libx.so")
    (passed_over,) = root.find("libx.so", directories=("/a", "/b")).passed_over
    assert passed_over.obstacle is Obstacle.NOT_READABLE
    assert passed_over.reason == "this process may not look into /driver-root/a/libx.so"


def test_place_that_the_kernel_cannot_reach() -> None:
    """An I/O error in one place does not end the search."""
    root = in_tree("file /driver-root/b/libx.so")
    tree_of(root).fail("resolve", errno.EIO, path="/driver-root/a/libx.so")
    (passed_over,) = root.find("libx.so", directories=("/a", "/b")).passed_over
    assert passed_over.obstacle is Obstacle.UNREACHABLE
    assert "/driver-root/a/libx.so: Input/output error" in passed_over.reason


def test_name_longer_than_any_file_has(rooted: Rooted) -> None:
    """It is no error of its own kind: there is no such file."""
    root = rooted("dir /usr/lib64")
    passed_over = refused(lambda: root.find("x" * 256, directories=LIB, cache=None))
    assert [each.obstacle for each in passed_over] == [Obstacle.UNREACHABLE]


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE, errno.ENOMEM])
@pytest.mark.parametrize("operation", ["resolve", "status"])
def test_lack_of_resources_ends_the_search(number: int, operation: str) -> None:
    """That this process has no descriptor left does not mean that a file is missing."""
    root = in_tree("file /driver-root/usr/lib64/libx.so")
    tree_of(root).fail(operation, number, path="/driver-root/usr/lib64/libx.so")
    with pytest.raises(OSError, match=r"libx\.so") as caught:
        root.find("libx.so", directories=LIB)
    assert caught.value.errno == number
    assert not isinstance(caught.value, DriverFileError)


def test_file_that_vanishes_meanwhile() -> None:
    """Between two looks the file can go; then it is missing."""
    root = in_tree("file /driver-root/a/libx.so", "file /driver-root/b/libx.so")
    tree_of(root).fail("status", errno.ENOENT, path="/driver-root/a/libx.so")
    found = root.find("libx.so", directories=("/a", "/b"))
    assert below(root, found)[0] == "/b/libx.so"
    assert found.passed_over[0].reason == "it does not exist"


# Where the file is on the host.


def test_host_path_follows_the_declared_mounts() -> None:
    """A mount below the driver root has a host path of its own."""
    mounts = MountTable(
        [
            Mount(host=HOST, container="/driver-root"),
            Mount(host="/opt/libs", container="/driver-root/usr/lib64"),
        ]
    )
    root = in_tree("file /driver-root/usr/lib64/libx.so", mounts=mounts)
    assert root.find("libx.so", directories=LIB).host == HostPath("/opt/libs/libx.so")


def test_file_that_the_host_does_not_have() -> None:
    """What lies on an emptyDir cannot be handed to a workload, and is passed over."""
    mounts = MountTable(
        [
            Mount(host=HOST, container="/driver-root"),
            Mount(host=None, container="/driver-root/tmp"),
        ]
    )
    root = in_tree(
        "file /driver-root/tmp/libx.so", "file /driver-root/usr/lib64/libx.so", mounts=mounts
    )
    found = root.find("libx.so", directories=("/tmp", *LIB))
    assert found.host == HOST / "usr/lib64/libx.so"
    assert found.passed_over[0].obstacle is Obstacle.NOT_FROM_HOST
    assert "mount at /driver-root/tmp is not from a known host path" in found.passed_over[0].reason


@pytest.mark.parametrize("mounts", [None, MountTable([Mount(host="/dev", container="/dev")])])
def test_driver_root_that_is_the_containers_root(mounts: MountTable | None) -> None:
    """Nothing is declared for it, and the driver root's own pair of paths holds."""
    view = ContainerView(filesystem=TreeFileSystem(["file /usr/lib64/libx.so"]), mounts=mounts)
    for host in ("/", "/run/nvidia/driver"):
        root = DriverRoot(host=host, container="/", view=view)
        found = root.find("libx.so", directories=LIB)
        assert found.container == ContainerPath("/usr/lib64/libx.so")
        assert found.host == HostPath(host) / "usr/lib64/libx.so"
        assert root.to_host(ContainerPath("/")) == HostPath(host)
        absent = refused(lambda root=root: root.find("liby.so", directories=LIB))  # type: ignore[misc]
        assert absent[0].path == "/usr/lib64/liby.so"


def test_to_host_is_for_places_in_the_driver_root() -> None:
    """Another place, and a path of the other side, are refused."""
    root = in_tree()
    assert root.to_host(ContainerPath("/driver-root/etc")) == HOST / "etc"
    with pytest.raises(InvalidPathError, match="does not lie below /driver-root"):
        root.to_host(ContainerPath("/etc"))
    with pytest.raises(PathKindError):
        root.to_host(HOST)  # type: ignore[arg-type]


def test_resolve_stays_in_the_driver_root(rooted: Rooted) -> None:
    """It answers for anything, directories too, and raises for what does not exist."""
    root = rooted("link /lib /usr/lib", "dir /usr/lib", "file /usr/lib/libx.so")
    assert root.resolve("/../lib/libx.so") == root.container / "usr/lib/libx.so"
    assert root.resolve("lib/") == root.container / "usr/lib"
    with pytest.raises(FileNotFoundError):
        root.resolve("/etc/passwd")


# Searches that fail.


def test_failure_lists_every_candidate(rooted: Rooted) -> None:
    """The error is a FileNotFoundError whose text alone is enough to see what is wrong."""
    root = rooted("dir /usr/lib64/libx.so", "dir /lib64")
    with pytest.raises(FileNotFoundError) as caught:
        root.find("libx.so", directories=("/usr/lib64", "/lib64"), cache=None)
    error = caught.value
    assert isinstance(error, DriverFileError)
    assert (error.errno, error.filename) == (errno.ENOENT, "libx.so")
    assert error.driver_root == root.container
    assert [each.obstacle for each in error.passed_over] == [Obstacle.NOT_REGULAR, Obstacle.MISSING]
    what = f"no such regular file in the driver root {root.container}"
    assert str(error).split("\n") == [
        f"libx.so: {what} [ENOENT: No such file or directory]; what was looked at:",
        f"  - {root.container}/usr/lib64/libx.so: not a regular file (directory)",
        f"  - {root.container}/lib64/libx.so: it does not exist",
    ]


@pytest.mark.parametrize("directories", [(), ("/x",)])
def test_failure_survives_a_copy(directories: tuple[str, ...]) -> None:
    """It can be pickled, with all that it says."""
    root = in_tree()
    with pytest.raises(DriverFileError) as caught:
        root.find("libx.so", directories=directories, cache=None)
    for other in (pickle.loads(pickle.dumps(caught.value)), copy.copy(caught.value)):
        assert str(other) == str(caught.value)
        assert vars(other) == vars(caught.value)


def test_failure_without_any_place() -> None:
    """If no directory was given, the error says that."""
    with pytest.raises(DriverFileError, match="no place was given to look at"):
        in_tree().find("libx.so", directories=(), cache=None)


@pytest.mark.parametrize("container", ["/nowhere", "/file", "/loop"])
def test_driver_root_that_is_no_directory(container: str) -> None:
    """That is told at once, rather than that every single candidate is missing."""
    tree = TreeFileSystem(["file /file", "link /loop loop"])
    root = DriverRoot(host=HOST, container=container, view=ContainerView(filesystem=tree))
    with pytest.raises(DriverRootError, match=f"is {HOST} mounted there"):
        root.find("libx.so")
    with pytest.raises(DriverRootError, match=f"is {HOST} mounted there"):
        root.find_all("libx.so")


@pytest.mark.parametrize("search", ["find", "find_all"])
@pytest.mark.parametrize(
    ("name", "directories", "error"),
    [
        ("", LIB, InvalidPathError),
        ("a\0b", LIB, InvalidPathError),
        (7, LIB, PathKindError),
        (ContainerPath("/x"), LIB, PathKindError),
        ("x", "/usr/lib64", PathKindError),
        ("x", (ContainerPath("/usr/lib64"),), PathKindError),
        ("x", ("/usr", ""), InvalidPathError),
        ("x", ("/a\0b",), InvalidPathError),
    ],
)
def test_what_cannot_be_asked_for(
    search: str, name: object, directories: object, error: type[Exception]
) -> None:
    """A mistake of the caller is told as such, not as a file that is missing."""
    with pytest.raises(error):
        getattr(in_tree(), search)(name, directories=directories)


def test_usual_places_are_those_of_distributions() -> None:
    """Without a word a library and a program are found where distributions put them."""
    root = in_tree("file /driver-root/lib64/libx.so", "file /driver-root/sbin/x")
    assert root.find("libx.so").asked == "/lib64/libx.so"
    assert root.find("x").asked == "/sbin/x"
    places = [each.path for each in refused(lambda: root.find("y"))]
    assert places == [
        *(f"/driver-root{directory}/y" for directory in SYSTEM_DIRECTORIES),
        "/driver-root/etc/ld.so.cache",
    ]


# Patterns.


def test_pattern_gives_the_newest_first(rooted: Rooted) -> None:
    """Numbers in names count as numbers, the rest as text, and each directory for itself."""
    root = rooted(
        "file /b/libcuda.so.90.1",
        "file /a/libcuda.so.535.54.03",
        "file /a/libcuda.so.550.9.1",
        "file /a/libcuda.so.550.90.07",
        "file /a/libcuda.so.1000.1",
        "file /a/libcudadebugger.so.1000.1",
        "file /a/libnvcuvid.so.1000.1",
    )
    findings = root.find_all("libcuda*.so.*.*", directories=("/b", "/a"), cache=None)
    assert [found.asked for found in findings] == [
        "/b/libcuda.so.90.1",
        "/a/libcuda.so.1000.1",
        "/a/libcuda.so.550.90.07",
        "/a/libcuda.so.550.9.1",
        "/a/libcuda.so.535.54.03",
        "/a/libcudadebugger.so.1000.1",
    ]
    assert len(findings) == len(findings.require()) == 6
    assert findings.passed_over == ()


def test_equal_numbers_are_in_the_order_of_their_text() -> None:
    """The order of what is found never depends on the file system."""
    root = in_tree(*(f"file /driver-root/a/x.{number}" for number in ("7", "007", "07")))
    found = [each.container.name for each in root.find_all("x.*", directories=("/a",))]
    assert found == ["x.007", "x.07", "x.7"]


def test_file_with_several_names_comes_once(rooted: Rooted) -> None:
    """A merged /usr and the links of a library do not multiply it."""
    root = rooted(
        "link /lib64 usr/lib64",
        "link /usr/lib64/libx.so libx.so.1",
        "link /usr/lib64/libx.so.1 libx.so.1.2",
        "file /usr/lib64/libx.so.1.2",
    )
    (found,) = root.find_all("libx.so*", directories=("/usr/lib64", "/lib64"))
    assert below(root, found)[0] == "/usr/lib64/libx.so.1.2"
    assert found.asked == "/usr/lib64/libx.so"


def test_pattern_stays_within_a_component(rooted: Rooted) -> None:
    """A wildcard matches no slash; each component of a pattern is one of its own."""
    root = rooted(
        "file /fw/nvidia/535.1/gsp_a.bin",
        "file /fw/nvidia/550.1/gsp_a.bin",
        "file /fw/nvidia/550.1/gsp_b.bin",
        "file /fw/nvidia/550.1/other.bin",
        "file /fw/nvidia/readme",
        "file /fw/nvidia/550.2",
    )
    findings = root.find_all("nvidia/*.*/gsp*.bin", directories=("/fw",))
    assert [found.asked for found in findings] == [
        "/fw/nvidia/550.1/gsp_a.bin",
        "/fw/nvidia/550.1/gsp_b.bin",
        "/fw/nvidia/535.1/gsp_a.bin",
    ]
    places = [(each.path, each.reason) for each in findings.passed_over[:1]]
    top = root.container
    assert places == [(f"{top}/fw/nvidia/550.2", f"{top}/fw/nvidia/550.2 is not a directory")]
    assert len(root.find_all("*.bin", directories=("/fw",))) == 0
    assert [found.asked for found in root.find_all("/fw/*/*/other.bin", directories=LIB)] == [
        "/fw/nvidia/550.1/other.bin"
    ]


def test_hidden_names_are_matched_by_a_dot_only(rooted: Rooted) -> None:
    """As for a shell, a wildcard does not stand for a leading dot."""
    root = rooted("file /a/.x", "file /a/x")
    assert [found.asked for found in root.find_all("*x", directories=("/a",))] == ["/a/x"]
    assert [found.asked for found in root.find_all(".?", directories=("/a",))] == ["/a/.x"]


def test_pattern_passes_over_what_is_no_file(rooted: Rooted) -> None:
    """Matches that are no regular files, and directories without a match, are told."""
    root = rooted("dir /a/libx.so.2", "link /a/libx.so.1 gone", "dir /b", "file /c")
    findings = root.find_all("libx.so.*", directories=("/a", "/b", "/c", "/d"), cache=None)
    top = root.container
    assert [(each.path, each.obstacle) for each in findings.passed_over] == [
        (f"{top}/a/libx.so.2", Obstacle.NOT_REGULAR),
        (f"{top}/a/libx.so.1", Obstacle.DANGLING),
        (f"{top}/b", Obstacle.MISSING),
        (f"{top}/c", Obstacle.MISSING),
        (f"{top}/d", Obstacle.MISSING),
    ]
    assert findings.passed_over[2].reason == "no name in it matches libx.so.*"
    assert refused(findings.require) == findings.passed_over


def test_pattern_without_wildcards_is_a_name_in_every_directory() -> None:
    """All files of that name are given, not only the first."""
    root = in_tree("file /driver-root/a/x", "file /driver-root/c/x")
    findings = root.find_all("x", directories=("/a", "/b", "/c"), cache=None)
    assert [found.asked for found in findings] == ["/a/x", "/c/x"]
    assert [each.path for each in findings.passed_over] == ["/driver-root/b/x"]


def test_findings_are_of_their_pattern() -> None:
    """What was looked for and where stays with what was found."""
    root = in_tree()
    assert root.find_all("/x*") == Findings(
        pattern="/x*",
        driver_root=root.container,
        files=(),
        passed_over=(
            PassedOver(
                path="/driver-root",
                obstacle=Obstacle.MISSING,
                reason="no name in it matches x*",
            ),
        ),
    )


def test_lack_of_resources_ends_the_search_by_pattern() -> None:
    """A directory that cannot be opened for want of descriptors is not an empty one."""
    root = in_tree("dir /driver-root/usr/lib64")
    tree_of(root).fail("open_directory", errno.EMFILE, path="/driver-root/usr/lib64")
    with pytest.raises(OSError, match="usr/lib64") as caught:
        root.find_all("libx*", directories=LIB)
    assert caught.value.errno == errno.EMFILE


# The cache of the driver root's own ldconfig.


@pytest.mark.parametrize("form", ["new", "old", "both"])
def test_cache_is_asked_last(rooted: Rooted, form: str) -> None:
    """A library that lies elsewhere is found where the driver root's ldconfig saw it."""
    root = rooted(
        cached(library("libx.so.1", "/opt/x/libx.so.1"), form=form),
        "link /opt/x/libx.so.1 /opt/y/libx.so.1.2",
        "file /opt/y/libx.so.1.2",
    )
    found = root.find("libx.so.1", directories=LIB)
    assert below(root, found) == ("/opt/y/libx.so.1.2",) * 2
    assert found.asked == "/opt/x/libx.so.1"
    assert [each.path for each in found.passed_over] == [f"{root.container}/usr/lib64/libx.so.1"]


def test_cache_is_the_driver_roots_own(rooted: Rooted) -> None:
    """The one of this container is never read, through no link either."""
    root = rooted("link /etc/ld.so.cache /etc/ld.so.conf", "dir /usr/lib64")
    assert refused(lambda: root.find("libc.so.6", directories=LIB))[-1] == PassedOver(
        path=f"{root.container}/etc/ld.so.cache",
        obstacle=Obstacle.DANGLING,
        reason="a link to /etc/ld.so.conf, but inside the driver root"
        f" {root.container}/etc/ld.so.conf does not exist",
    )


def test_cache_leads_nowhere_outside(rooted: Rooted) -> None:
    """A path in the cache is one inside the driver root, whatever it looks like."""
    root = rooted(
        cached(library("a.so", "/../../etc/passwd"), library("b.so", "etc/passwd")),
        "file /etc/passwd",
    )
    assert below(root, root.find("a.so", directories=LIB))[0] == "/etc/passwd"
    assert below(root, root.find("b.so", directories=LIB))[0] == "/etc/passwd"


def test_libraries_of_32_bits_are_passed_over(rooted: Rooted) -> None:
    """The cache tells which those are, and they are no answer."""
    root = rooted(
        cached(
            library("libx.so.1", "/usr/lib/libx.so.1", flags=I386),
            library("libx.so.1", "/gone/libx.so.1"),
            library("libx.so.1", "/opt/libx.so.1"),
        ),
        "file /usr/lib/libx.so.1",
        "file /opt/libx.so.1",
    )
    found = root.find("libx.so.1", directories=())
    assert found.asked == "/opt/libx.so.1"
    assert [(each.path, each.obstacle) for each in found.passed_over] == [
        (f"{root.container}/usr/lib/libx.so.1", Obstacle.OTHER_ABI),
        (f"{root.container}/gone/libx.so.1", Obstacle.MISSING),
    ]
    assert "a library of 32 bits (i386 or the like), says" in found.passed_over[0].reason


@pytest.mark.parametrize("content", ["", "junk", "glibc-ld.so.cache1.1" + "\xff" * 40])
def test_broken_cache_is_passed_over(rooted: Rooted, content: str) -> None:
    """Nothing is taken from it, and the search says so instead of failing at it."""
    root = rooted(f"file /etc/ld.so.cache\n{content}", "file /a/liby.so.1")
    last = refused(lambda: root.find("libx.so.1", directories=LIB))[-1]
    assert (last.path, last.obstacle) == (
        f"{root.container}/etc/ld.so.cache",
        Obstacle.BROKEN_CACHE,
    )
    assert last.reason.startswith("skipped, for it cannot be trusted: it ")
    findings = root.find_all("lib*", directories=("/a",))
    assert [found.asked for found in findings] == ["/a/liby.so.1"]
    assert findings.passed_over == (last,)


def test_cache_that_is_too_large_is_not_read() -> None:
    """The size is looked at first."""
    root = in_tree()
    tree = tree_of(root)
    tree.file("/driver-root/etc/ld.so.cache", bytes(4 * 2**20 + 1))
    tree.fail("read_bytes", AssertionError("it was read"))
    (last,) = refused(lambda: root.find("libx.so.1", directories=()))
    assert last.obstacle is Obstacle.BROKEN_CACHE
    assert "4194305 bytes" in last.reason


def test_cache_that_is_no_file(rooted: Rooted) -> None:
    """A directory at its place is passed over like any other candidate."""
    root = rooted("dir /etc/ld.so.cache")
    (last,) = refused(lambda: root.find("libx.so.1", directories=()))
    assert last.reason == "not a regular file (directory)"


def test_cache_that_does_not_list_the_name(rooted: Rooted) -> None:
    """That, too, is part of the answer."""
    root = rooted(cached(library("liby.so", "/liby.so")))
    (last,) = refused(lambda: root.find("lib*.so", directories=()))
    assert last.reason == "it does not list lib*.so"


def test_cache_is_not_asked_where_it_cannot_help() -> None:
    """It knows no paths, and can be left out or be another one."""
    root = in_tree(
        "file /driver-root/opt/libx.so",
        "dir /driver-root/glibc/etc",
    )
    tree_of(root).file(
        "/driver-root/glibc/etc/ld.so.cache", written([library("libx.so", "/opt/libx.so")])
    )
    tree_of(root).file("/driver-root/etc/ld.so.cache", "broken")
    assert refused(lambda: root.find("a/libx.so", directories=())) == ()
    assert refused(lambda: root.find("libx.so", directories=(), cache=None)) == ()
    other = root.find("libx.so", directories=(), cache="glibc/etc/ld.so.cache")
    assert other.asked == "/opt/libx.so"


def test_pattern_is_looked_for_where_the_cache_has_libraries(rooted: Rooted) -> None:
    """The cache lists libcuda.so.1 only; its directory has the file with the version."""
    root = rooted(
        cached(
            library("libcuda.so.1", "/opt/lib/libcuda.so.1"),
            library("libx.so.1", "/a/libx.so.1"),
            library("libcuda.so.1", "/opt/lib32/libcuda.so.1", flags=I386),
        ),
        "link /opt/lib/libcuda.so.1 libcuda.so.550.90.07",
        "file /opt/lib/libcuda.so.550.90.07",
        "file /opt/lib32/libcuda.so.550.90.07",
        "dir /a",
    )
    findings = root.find_all("libcuda.so.*.*", directories=("/a",))
    assert [below(root, found)[0] for found in findings] == ["/opt/lib/libcuda.so.550.90.07"]
    assert [each.path for each in findings.passed_over] == [f"{root.container}/a"]
    assert len(root.find_all("libcuda.so.*.*", directories=("/a",), cache=None)) == 0


def test_records_are_values() -> None:
    """What was found can be compared, hashed and shown."""
    root = in_tree("file /driver-root/usr/lib64/libx.so")
    found = root.find("libx.so", directories=LIB)
    assert {found, attrs.evolve(found)} == {found}
    passed_over = PassedOver(path="/x/y", obstacle=Obstacle.MISSING, reason="it does not exist")
    assert str(passed_over) == "/x/y: it does not exist"
