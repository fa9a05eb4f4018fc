"""The view of a process: what is read from /proc, how it is renewed, and where a path leads."""

from __future__ import annotations

import errno
import pickle
from typing import TYPE_CHECKING, Any

import pytest

from devroot import (
    ContainerPath,
    ContainerView,
    HostPath,
    InvalidPathError,
    LocalFileSystem,
    MountInfo,
    MountInfoError,
    MountInfoTable,
    MountTable,
    MountTablesDisagreeError,
    PathKindError,
    ProcFileError,
    ProcUnavailableError,
    Verdict,
    examine,
)
from devroot.testing import Operation, TreeFileSystem
from tests._views import (
    DEV_LINE,
    HOST_DEV_LINE,
    HOST_ROOT_LINE,
    ROOT_LINE,
    host_table_of,
    mounts_of,
    table_of,
    view_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable

OWN = f"{ROOT_LINE}\n{DEV_LINE}\n"
HOST = f"{HOST_ROOT_LINE}\n{HOST_DEV_LINE}\n"
STATUS = "Name:\tplugin\nCapPrm:\t000001ffffffffff\nCapEff:\t00000000a80425fb\nCapBnd:\t0\n"
INITIAL = "user:[4026531837]"
HOST_TABLE = ContainerPath("/host/proc/1/mountinfo")


def proc_files(
    *, proc: str = "/proc", own: str = OWN, status: str | None = STATUS, namespace: str = INITIAL
) -> TreeFileSystem:
    """Return the files of a process whose ID is 7; an empty text leaves its file out."""
    files = TreeFileSystem([f"dir {proc}/7/ns", f"link {proc}/self 7"])
    if own:
        files.file(f"{proc}/7/mountinfo", own)
    if status is not None:
        files.file(f"{proc}/7/status", status)
    if namespace:
        files.symlink(f"{proc}/7/ns/user", namespace)
    files.file(str(HOST_TABLE), HOST)
    return files


def rewriting(files: TreeFileSystem, path: str, content: str, *, at: int) -> Callable[..., None]:
    """Return a hook by which the *at*-th read of a file finds another content."""
    seen = 0

    def hook(operation: Operation) -> None:
        nonlocal seen
        if operation.name == "read_bytes" and operation.path == path:
            seen += 1
            if seen == at:
                files.file(path.replace("self", "7"), content)

    return hook


# What is read.


def test_the_view_of_a_process_is_read_from_proc() -> None:
    """Its own mount table, its user namespace and its effective capabilities."""
    files = proc_files()
    view = ContainerView.of_process(filesystem=files)
    assert view.mountinfo == table_of(ROOT_LINE, DEV_LINE)
    assert view.initial_user_namespace is True
    assert view.effective_capabilities == 0xA80425FB
    assert (view.mounts, view.host_mountinfo, view.proc) == (None, None, ContainerPath("/proc"))
    assert view.filesystem is files


def test_the_procfs_to_read_can_be_elsewhere() -> None:
    """The host's may be mounted aside, where the container's own is masked."""
    proc = ContainerPath("/host/proc")
    view = ContainerView.of_process(proc=proc, filesystem=proc_files(proc="/host/proc"))
    assert view.proc == proc
    assert len(view.mountinfo) == 2


def test_the_declared_mounts_are_kept() -> None:
    """They are what the caller says; nothing in /proc tells."""
    mounts = mounts_of("/dev:/dev")
    assert ContainerView.of_process(mounts=mounts, filesystem=proc_files()).mounts == mounts


def test_the_hosts_table_is_read_from_the_file_that_is_granted() -> None:
    """Its mount points are host paths."""
    view = ContainerView.of_process(host_mountinfo=HOST_TABLE, filesystem=proc_files())
    assert view.host_mountinfo == host_table_of(HOST_ROOT_LINE, HOST_DEV_LINE)
    assert view.host_mountinfo_file == HOST_TABLE


def test_the_hosts_table_can_be_given_as_data() -> None:
    """Then no file is read for it."""
    table = host_table_of(HOST_ROOT_LINE)
    view = ContainerView.of_process(host_mountinfo=table, filesystem=proc_files())
    assert view.host_mountinfo is table
    assert view.host_mountinfo_file is None


def test_without_another_file_system_the_real_one_is_used() -> None:
    """A view that was built from data has it by default, too."""
    assert isinstance(ContainerView().filesystem, LocalFileSystem)


def test_of_process_reads_the_real_file_system(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where none is given."""
    files = proc_files()
    monkeypatch.setattr("devroot._view.LocalFileSystem", lambda: files)
    assert ContainerView.of_process().filesystem is files


def test_a_process_on_the_host_sees_the_hosts_paths() -> None:
    """Every path is the same on both sides, and the process's table is the host's."""
    view = ContainerView.of_host(filesystem=proc_files(own=HOST))
    reach = examine(view, ContainerPath("/dev/nvidia0"))
    assert (reach.verdict, reach.host_path) == (Verdict.HOST, HostPath("/dev/nvidia0"))
    reach = examine(view, ContainerPath("/srv/x"))
    assert (reach.verdict, reach.host_path) == (Verdict.HOST, HostPath("/srv/x"))


def test_a_process_on_the_host_can_have_its_procfs_elsewhere() -> None:
    """Both tables come from there."""
    proc = ContainerPath("/mnt/proc")
    files = proc_files(proc="/mnt/proc", own=HOST)
    view = ContainerView.of_host(proc=proc, filesystem=files)
    assert view.host_mountinfo_file == proc / "self/mountinfo"
    assert view.proc == proc


# The user namespace and the capabilities.


@pytest.mark.parametrize(
    ("namespace", "expected"),
    [(INITIAL, True), ("user:[4026532281]", False), ("user:[40265318371]", False), ("", None)],
)
def test_the_user_namespace_is_known_by_its_inode(namespace: str, expected: bool | None) -> None:  # noqa: FBT001 - a row of the table
    """The initial one has a fixed number; what cannot be read is not known."""
    view = ContainerView.of_process(filesystem=proc_files(namespace=namespace))
    assert view.initial_user_namespace is expected


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ("CapEff:\t0000000000000000\n", 0),
        ("CapEff:\t000001ffffffffff", (1 << 41) - 1),
        ("Name:\tCapEff\nXCapEff:\t1\nCapEffective:\t2\n", None),
        ("", None),
        (None, None),
    ],
)
def test_the_capabilities_are_the_effective_ones(status: str | None, expected: int | None) -> None:
    """In hexadecimal; a kernel or an emulation that does not state them leaves them unknown."""
    view = ContainerView.of_process(filesystem=proc_files(status=status))
    assert view.effective_capabilities == expected


@pytest.mark.parametrize("text", ["", "zz", "12 34", "\udcff"])
def test_capabilities_that_are_no_number_are_an_error(text: str) -> None:
    """It names the file and shows what stands there."""
    files = proc_files(status=f"Name:\tx\nCapEff:\t{text}\n")
    with pytest.raises(ProcFileError, match=r"CapEff is .*no hexadecimal number") as caught:
        ContainerView.of_process(filesystem=files)
    assert caught.value.path == ContainerPath("/proc/self/status")


# What cannot be read.


def test_a_missing_mountinfo_is_named_with_its_errno() -> None:
    """The error says which file, and asks for the procfs."""
    with pytest.raises(ProcUnavailableError, match="is a procfs mounted there") as caught:
        ContainerView.of_process(filesystem=TreeFileSystem())
    assert caught.value.errno == errno.ENOENT
    assert caught.value.filename == "/proc/self/mountinfo"


def test_a_missing_host_table_is_named_with_its_errno() -> None:
    """It was granted, so it is not left out silently."""
    granted = ContainerPath("/proc/1/mountinfo")
    with pytest.raises(ProcUnavailableError) as caught:
        ContainerView.of_process(host_mountinfo=granted, filesystem=proc_files())
    assert (caught.value.errno, caught.value.filename) == (errno.ENOENT, "/proc/1/mountinfo")


def test_a_host_table_that_may_not_be_read_is_named_with_its_errno() -> None:
    """The mountinfo of another user's process needs a capability."""
    files = proc_files()
    files.fail("read_bytes", errno.EACCES, path=HOST_TABLE)
    with pytest.raises(ProcUnavailableError) as caught:
        ContainerView.of_process(host_mountinfo=HOST_TABLE, filesystem=files)
    assert caught.value.errno == errno.EACCES


def test_a_table_that_cannot_be_parsed_is_an_error() -> None:
    """It names the line."""
    files = proc_files(own=f"{OWN}12 10 0:6 / /cut\n")
    with pytest.raises(MountInfoError, match="line 3"):
        ContainerView.of_process(filesystem=files)


# Paths and tables of the wrong kind.


def test_paths_of_the_wrong_kind_are_refused() -> None:
    """A text does not say whose path it is, and a host path is not here."""
    for wrong in ("/proc", HostPath("/proc")):
        with pytest.raises(PathKindError, match="a ContainerPath is wanted"):
            ContainerView(proc=wrong)  # type: ignore[arg-type] # that is the test
        with pytest.raises(PathKindError, match="a ContainerPath is wanted"):
            ContainerView.of_process(proc=wrong)  # type: ignore[arg-type] # that is the test
        with pytest.raises(PathKindError, match="a ContainerPath is wanted"):
            ContainerView.of_host(proc=wrong)  # type: ignore[arg-type] # that is the test
        with pytest.raises(PathKindError, match="a ContainerPath or MountInfoTable is wanted"):
            ContainerView.of_process(host_mountinfo=wrong)  # type: ignore[arg-type] # likewise


def test_tables_of_the_wrong_kind_are_refused() -> None:
    """Their text, or a list of mounts, is no table."""
    with pytest.raises(PathKindError, match="a MountTable is wanted"):
        ContainerView(mounts=[])  # type: ignore[arg-type] # that is the test
    with pytest.raises(PathKindError, match="a MountInfoTable is wanted"):
        ContainerView(mountinfo=OWN)  # type: ignore[arg-type] # that is the test
    with pytest.raises(PathKindError, match="a MountInfoTable is wanted"):
        ContainerView(host_mountinfo=HOST)  # type: ignore[arg-type] # that is the test
    with pytest.raises(PathKindError, match="a MountTable is wanted"):
        ContainerView.of_process(
            mounts="/dev:/dev",  # type: ignore[arg-type] # that is the test
            filesystem=proc_files(),
        )


# Age and renewal.


def test_a_view_from_data_has_no_age_and_is_its_own_renewal() -> None:
    """Nothing was read, so there is nothing to read again."""
    view = view_of()
    assert view.age is None
    assert view.refresh() is view


def test_a_view_of_a_process_knows_its_age() -> None:
    """In seconds, and not less at a later look."""
    view = ContainerView.of_process(filesystem=proc_files())
    assert view.age is not None
    first = view.age
    assert 0 <= first <= view.age


def test_a_renewed_view_has_what_has_changed() -> None:
    """All that was read is read again, the host's table included; what was given stays."""
    files = proc_files()
    mounts = mounts_of("/dev:/dev")
    view = ContainerView.of_process(mounts=mounts, host_mountinfo=HOST_TABLE, filesystem=files)
    line = "12 10 0:6 / /host-dev/dev rw - devtmpfs udev rw,size=4096k"
    files.file("/proc/7/mountinfo", f"{OWN}{line}\n")
    files.file("/proc/7/status", "CapEff:\t0\n")
    files.file(str(HOST_TABLE), f"{HOST}5 1 8:2 / /data rw - ext4 /dev/sdb1 rw\n")
    renewed = view.refresh()
    assert renewed.mountinfo == table_of(ROOT_LINE, DEV_LINE, line)
    assert renewed.effective_capabilities == 0
    assert renewed.host_mountinfo is not None
    assert len(renewed.host_mountinfo) == 3
    assert (renewed.mounts, renewed.proc, renewed.filesystem) == (mounts, view.proc, files)
    assert len(view.mountinfo) == 2
    assert renewed.read_at is not None
    assert view.read_at is not None
    assert renewed.read_at >= view.read_at


def test_a_host_table_given_as_data_stays_when_the_view_is_renewed() -> None:
    """Nobody said where to read it again."""
    table = host_table_of(HOST_ROOT_LINE)
    view = ContainerView.of_process(host_mountinfo=table, filesystem=proc_files())
    assert view.refresh().host_mountinfo is table


def test_a_renewed_view_reads_the_same_procfs() -> None:
    """Wherever that was."""
    proc = ContainerPath("/host/proc")
    view = ContainerView.of_process(proc=proc, filesystem=proc_files(proc="/host/proc"))
    assert view.refresh().proc == proc


def test_a_renewal_can_fail() -> None:
    """A procfs that has gone is an error, not an old answer."""
    files = proc_files()
    view = ContainerView.of_process(filesystem=files)
    files.remove("/proc/7/mountinfo")
    with pytest.raises(ProcUnavailableError):
        view.refresh()


# Two tables that were read one after the other.


def test_tables_that_disagree_are_read_again() -> None:
    """A mount that came and went in between took a device number that another one has now."""
    torn = f"{OWN}12 10 0:6 / /x rw - tmpfs tmpfs rw\n"
    files = proc_files(own=torn)
    files.before(rewriting(files, "/proc/self/mountinfo", OWN, at=2))
    view = ContainerView.of_process(host_mountinfo=HOST_TABLE, filesystem=files)
    assert len(view.mountinfo) == 2


def test_of_many_mounts_of_the_host_few_are_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A view looks at no lines but those with a device or an ID of the process's own mounts.

    Two equal tables agree, and no line is decoded.
    """
    pods = "".join(f"{n} 1 0:{n} / /pods/{n} rw - tmpfs tmpfs rw\n" for n in range(100, 2100))
    own = MountInfoTable.parse(b"300 99 9:1 / / rw - overlay overlay rw\n")
    shared = MountInfoTable.parse(b"99 98 0:400 / / rw - tmpfs tmpfs rw\n")
    text = f"1 0 8:1 / / rw - ext4 /dev/sda1 rw\n{pods}".encode()
    host = MountInfoTable.parse(text, paths=HostPath)
    decoded: list[bytes] = []
    from_line = MountInfo.from_line

    def counted(line: bytes, *, paths: Any) -> Any:  # noqa: ANN401 - of either kind
        decoded.append(line.split(b" ")[0])
        return from_line(line, paths=paths)

    monkeypatch.setattr(MountInfo, "from_line", counted)
    with pytest.raises(MountTablesDisagreeError, match="have the same ID"):
        ContainerView(mountinfo=own, host_mountinfo=host)
    assert set(decoded) <= {b"300"}
    decoded.clear()
    ContainerView(mountinfo=shared, host_mountinfo=host)
    assert set(decoded) <= {b"99", b"400"}
    decoded.clear()
    ContainerView(mountinfo=MountInfoTable.parse(text), host_mountinfo=host)
    assert set(decoded) <= {b"2099"}  # as any text may, it could be cut in its last line


def test_tables_that_agree_at_last_are_taken() -> None:
    """There are three attempts."""
    files = proc_files(own=f"{OWN}12 10 0:6 / /x rw - tmpfs tmpfs rw\n")
    files.before(rewriting(files, "/proc/self/mountinfo", OWN, at=3))
    view = ContainerView.of_process(host_mountinfo=HOST_TABLE, filesystem=files)
    assert len(view.mountinfo) == 2


def test_tables_that_never_agree_are_an_error() -> None:
    """After three attempts they are of two kernels, and no verdict is drawn from them."""
    files = proc_files(own=f"{OWN}12 10 0:6 / /x rw - tmpfs tmpfs rw\n")
    reads: list[str] = []
    files.before(lambda operation: reads.append(operation.path))
    with pytest.raises(MountTablesDisagreeError, match="0:6 is tmpfs in the one and devtmpfs"):
        ContainerView.of_process(host_mountinfo=HOST_TABLE, filesystem=files)
    assert reads.count("/proc/self/mountinfo") == 3


def test_a_table_that_lost_lines_is_read_again() -> None:
    """Mounts come and go while a table is read; what is whole is taken."""
    files = proc_files(own=f"{OWN}13 12 0:6 / /dev/x rw - tmpfs tmpfs rw\n")
    files.before(rewriting(files, "/proc/self/mountinfo", OWN, at=2))
    assert len(ContainerView.of_process(filesystem=files).mountinfo) == 2


# Views as values.


def test_views_are_equal_if_what_they_hold_is() -> None:
    """When and from where the tables were read does not matter."""
    files = TreeFileSystem()
    one, other = (
        ContainerView(
            mounts=mounts_of("/a:/b"),
            mountinfo=table_of(ROOT_LINE),
            host_mountinfo=host_table_of(HOST_ROOT_LINE),
            filesystem=files,
            host_mountinfo_file=ContainerPath(path),
            read_at=seconds,
        )
        for path, seconds in (("/a", 1.0), ("/b", 2.0))
    )
    assert one == other
    assert one != view_of()


def test_an_empty_view_has_no_mounts_at_all() -> None:
    """Everything has a default, and none of it is a claim."""
    view = ContainerView(filesystem=TreeFileSystem())
    assert len(view.mountinfo) == 0
    assert (view.mounts, view.host_mountinfo) == (None, None)
    assert (view.initial_user_namespace, view.effective_capabilities) == (None, None)


def test_the_tables_of_a_view_can_be_sent_to_another_process() -> None:
    """They are plain values, as far as the file system is."""
    view = view_of(mounts=["/dev:/dev"], host=[HOST_ROOT_LINE])
    tables = (view.mounts, view.mountinfo, view.host_mountinfo)
    kinds = (MountTable, MountInfoTable, MountInfoTable)
    assert all(map(isinstance, tables, kinds))
    assert pickle.loads(pickle.dumps(tables)) == tables


# Where a path leads.


def locate(path: str, *specs: str, root: str = "/", follow_last: bool = True) -> str:
    """Return where a path leads among these files."""
    view = view_of(files=specs)
    found = view.locate(ContainerPath(path), root=ContainerPath(root), follow_last=follow_last)
    return str(found)


def test_a_path_without_links_leads_to_itself() -> None:
    """Whether it exists or not."""
    for path in ("/", "/a", "/a/b", "/a/missing", "/missing/too/deep"):
        assert locate(path, "dir /a/b") == path


def test_links_on_the_existing_part_are_followed() -> None:
    """What does not exist is added as it stands."""
    specs = ("link /a /real", "dir /real/b", "link /real/b/c ../d")
    assert locate("/a", *specs) == "/real"
    assert locate("/a/b/x/y", *specs) == "/real/b/x/y"
    assert locate("/a/b/c", *specs) == "/real/b/c"
    assert locate("/a/b/c", *specs, "dir /real/d") == "/real/d"


def test_a_dangling_link_stays_as_a_name() -> None:
    """It counts as one that does not exist, and so does what would lie below it."""
    assert locate("/a/b", "link /a nowhere") == "/a/b"


def test_a_file_in_the_way_is_the_existing_part() -> None:
    """Nothing lies below it, so the names stay."""
    assert locate("/l/x", "file /f", "link /l f") == "/f/x"


def test_the_last_link_need_not_be_followed() -> None:
    """A node would replace it; links before it are followed all the same."""
    specs = ("link /a /real", "link /real/x /other", "dir /other")
    assert locate("/a/x", *specs) == "/other"
    assert locate("/a/x", *specs, follow_last=False) == "/real/x"
    assert locate("/a", *specs, follow_last=False) == "/a"
    assert locate("/", *specs, follow_last=False) == "/"


def test_links_stay_inside_the_root() -> None:
    """An absolute link below a driver root starts at the driver root, as after chroot(2)."""
    specs = ("link /drv/dev /host/dev", "dir /drv/host/dev", "dir /host/dev")
    assert locate("/drv/dev/x", *specs, root="/drv") == "/drv/host/dev/x"
    assert locate("/drv/dev/x", *specs) == "/host/dev/x"
    assert locate("/drv", *specs, root="/drv") == "/drv"


def test_a_root_that_does_not_exist_holds_no_links() -> None:
    """The path stays as it is, and whoever opens it gets the kernel's error."""
    assert locate("/drv/dev/x", root="/drv") == "/drv/dev/x"


def test_a_path_outside_the_root_is_refused() -> None:
    """By whole components."""
    for path in ("/other", "/drv-backup/x", "/"):
        with pytest.raises(InvalidPathError, match="does not lie below /drv"):
            locate(path, "dir /drv", root="/drv")


def test_links_that_loop_have_no_place() -> None:
    """Their error is not taken for a name that does not exist."""
    with pytest.raises(OSError, match=r"\[Errno \d+\]") as caught:
        locate("/a/x", "link /a a")
    assert caught.value.errno == errno.ELOOP


def test_a_directory_that_may_not_be_entered_hides_the_place() -> None:
    """What lies below it is not known."""
    files = TreeFileSystem(["dir /a"])
    files.fail("resolve", errno.EACCES)
    with pytest.raises(PermissionError):
        view_of(files=files).locate(ContainerPath("/a/x"))


def test_only_container_paths_are_located() -> None:
    """Neither a text nor a host path."""
    for wrong in ("/a", HostPath("/a")):
        with pytest.raises(PathKindError, match="a ContainerPath is wanted"):
            view_of().locate(wrong)  # type: ignore[arg-type] # that is the test
        with pytest.raises(PathKindError, match="a ContainerPath is wanted"):
            view_of().locate(ContainerPath("/a"), root=wrong)  # type: ignore[arg-type] # likewise
