"""Fallbacks: what each takes and refuses, and which mount would mend a refusal."""

from __future__ import annotations

import pytest

from devroot import (
    ContainerPath,
    ContainerView,
    DevicePath,
    DevRoot,
    DriverRoot,
    EvidenceCode,
    Fallback,
    FirstOf,
    HostDevFallback,
    HostPath,
    InvalidPathError,
    Mount,
    MountInfoTable,
    MountTable,
    NoDevRootError,
    PathKindError,
    Reach,
    Refusal,
    RootFallback,
    SubsetFallback,
    Verdict,
)
from devroot.testing import TreeFileSystem

OWN = b"""\
10 9 0:50 / / rw - overlay overlay rw
11 10 0:51 / /dev rw,nosuid - tmpfs tmpfs rw,size=65536k,mode=755
12 10 8:1 /drv /driver-root ro - ext4 /dev/sda1 rw
"""
DRIVER = Mount(host="/drv", container="/driver-root")
CAPS_TARGET = "/host-dev/dev/nvidia-caps"
CAPS_MOUNT = Mount(host="/dev/nvidia-caps", container=CAPS_TARGET)
DEVTMPFS_CAPS = b"14 10 0:6 /nvidia-caps /host-dev/dev/nvidia-caps rw - devtmpfs udev rw\n"
TMPFS_CAPS = b"14 10 0:60 /nvidia-caps /host-dev/dev/nvidia-caps rw - tmpfs tmpfs rw\n"
DEVTMPFS_DEV = b"14 10 0:6 / /host-dev/dev rw - devtmpfs udev rw\n"


def ask(
    fallback: Fallback | HostDevFallback | SubsetFallback | FirstOf,
    *specs: str,
    table: bytes = b"",
    mounts: MountTable | None = None,
) -> DevRoot | Refusal:
    """Ask a fallback in a container with these files and these mounts besides the usual."""
    view = ContainerView(
        mountinfo=MountInfoTable.parse(OWN + table),
        mounts=mounts,
        filesystem=TreeFileSystem(["dir /driver-root", "dir /dev", *specs]),
    )
    root = DriverRoot(host="/drv", container="/driver-root", view=view)
    return fallback.dev_root(root, view)


def found(answer: DevRoot | Refusal) -> DevRoot:
    """Return the answer, which must be a dev root."""
    assert isinstance(answer, DevRoot), str(answer)
    return answer


def refused(answer: DevRoot | Refusal) -> Refusal:
    """Return the answer, which must be a refusal."""
    assert isinstance(answer, Refusal), str(answer)
    return answer


def test_subset_with_its_mounts() -> None:
    """Each name is mounted below P/dev, and only they are shown."""
    answer = ask(
        SubsetFallback("/host-dev", ["nvidia-caps"]), f"dir {CAPS_TARGET}", table=TMPFS_CAPS
    )
    root = found(answer)
    assert root.container == ContainerPath("/host-dev")
    assert root.names == (DevicePath("nvidia-caps"),)
    assert root.reach().verdict is Verdict.DECLARED
    assert root.reach().evidence[-1].code is EvidenceCode.DECLARED
    assert root.host_path("nvidia-caps/x") == HostPath("/dev/nvidia-caps/x")
    assert root.origin == "SubsetFallback('/host-dev', ['nvidia-caps'])"


def test_subset_below_a_mount_of_the_whole_dev() -> None:
    """All of the host's /dev at P/dev will do; still only the names are shown."""
    answer = ask(
        SubsetFallback("/host-dev", ["nvidia-caps"]), "dir /host-dev/dev", table=DEVTMPFS_DEV
    )
    root = found(answer)
    assert root.reach().verdict is Verdict.HOST
    assert root.names == (DevicePath("nvidia-caps"),)
    assert root.host_path("nvidia-caps/x") == HostPath("/dev/nvidia-caps/x")


def test_subset_that_nothing_is_mounted_for() -> None:
    """The claim alone makes no mount: the directory of the container's own root is refused."""
    refusal = refused(ask(SubsetFallback("/host-dev", ["nvidia-caps"]), f"dir {CAPS_TARGET}"))
    assert refusal.reach is not None
    assert refusal.reach.verdict is Verdict.PRIVATE
    assert refusal.remedies == (CAPS_MOUNT,)
    assert refusal.fallback == "SubsetFallback('/host-dev', ['nvidia-caps'])"
    assert refusal.reason == f"{CAPS_TARGET} is PRIVATE: {refusal.reach.evidence[-1].text}"


def test_subset_of_which_one_name_is_missing() -> None:
    """One name that does not reach the host spoils the whole; the error names it."""
    fallback = SubsetFallback("/host-dev", ["nvidia-caps", "dri"])
    refusal = refused(
        ask(fallback, f"dir {CAPS_TARGET}", "dir /host-dev/dev/dri", table=TMPFS_CAPS)
    )
    assert "/host-dev/dev/dri is PRIVATE" in refusal.reason
    assert refusal.remedies == fallback.mounts


def test_claims_do_not_count_where_the_mounts_are_given() -> None:
    """A table that is given is complete: what it does not list was not asked for."""
    fallback = SubsetFallback("/host-dev", ["nvidia-caps"])
    specs = [f"dir {CAPS_TARGET}"]
    root = found(ask(fallback, *specs, table=TMPFS_CAPS, mounts=MountTable([DRIVER])))
    assert root.reach().verdict is Verdict.UNKNOWN
    listed = MountTable([DRIVER, CAPS_MOUNT])
    assert found(ask(fallback, *specs, table=TMPFS_CAPS, mounts=listed)).reach().verdict is (
        Verdict.DECLARED
    )


@pytest.mark.parametrize("fallback", [SubsetFallback("/p", ["x"]), HostDevFallback("/p")])
@pytest.mark.parametrize(
    ("specs", "reason"),
    [
        ([], "there is no directory /p/dev"),
        (["file /p"], "there is no directory /p/dev"),
        (["file /p/dev"], "/p/dev is not a directory"),
    ],
)
def test_missing_dev_is_refused_with_the_mount(
    fallback: SubsetFallback | HostDevFallback, specs: list[str], reason: str
) -> None:
    """A dev root is a directory with a directory called dev."""
    refusal = refused(ask(fallback, *specs))
    assert refusal.reason == reason
    assert refusal.fallback == repr(fallback)
    expected = "/dev/x:/p/dev/x" if isinstance(fallback, SubsetFallback) else "/dev:/p/dev"
    assert [str(mount) for mount in refusal.remedies] == [expected]


@pytest.mark.parametrize("fallback", [SubsetFallback("/p", ["x"]), HostDevFallback("/p")])
@pytest.mark.parametrize(
    ("table", "mounts"),
    [
        (b"14 10 0:6 / /p rw - devtmpfs udev rw\n", None),
        (
            b"14 10 0:61 / /p rw - tmpfs tmpfs rw\n",
            MountTable([Mount(host="/dev", container="/p")]),
        ),
    ],
)
def test_host_dev_at_a_directory_not_called_dev(
    fallback: SubsetFallback | HostDevFallback, table: bytes, mounts: MountTable | None
) -> None:
    """The usual mistake is told apart, with the mount that would do."""
    refusal = refused(ask(fallback, "char /p/null 1:3", table=table, mounts=mounts))
    assert "mounted at /p itself" in refusal.reason
    assert [str(mount) for mount in refusal.remedies] == ["/dev:/p/dev"]


@pytest.mark.parametrize(
    ("table", "mounts"),
    [
        (b"14 10 8:1 /y /p rw - ext4 /dev/sda1 rw\n", None),
        (b"14 10 8:1 /y /p rw - ext4 x rw\n", MountTable([Mount(host="/y", container="/p")])),
    ],
)
def test_another_mount_at_the_directory_is_not_taken_for_the_hosts_dev(
    table: bytes, mounts: MountTable | None
) -> None:
    """Only devtmpfs, or what was asked for as /dev, is."""
    refusal = refused(ask(HostDevFallback("/p"), "dir /p", table=table, mounts=mounts))
    assert refusal.reason == "there is no directory /p/dev"


def test_host_dev_over_the_containers_own() -> None:
    """By default P is the root; devtmpfs there, asked for as /dev, is the host's."""
    table = b"13 11 0:6 / /dev rw - devtmpfs udev rw\n"
    root = found(ask(HostDevFallback(), table=table))
    assert root.container == ContainerPath("/")
    assert root.reach().verdict is Verdict.HOST
    assert root.names is None
    assert root.origin == "HostDevFallback('/')"


def test_host_dev_that_cannot_be_told_from_the_runtimes() -> None:
    """A tmpfs at /dev is unknown while nobody says, and private when it was not asked for."""
    assert found(ask(HostDevFallback("/"))).reach().verdict is Verdict.UNKNOWN
    refusal = refused(ask(HostDevFallback("/"), mounts=MountTable([DRIVER])))
    assert refusal.reach is not None
    assert refusal.reach.verdict is Verdict.PRIVATE
    assert [str(mount) for mount in refusal.remedies] == ["/dev:/dev"]


def test_first_of_takes_the_first_accepted() -> None:
    """A later one that is accepted is better than an earlier one that is unknown."""
    chain = FirstOf(HostDevFallback("/"), SubsetFallback("/host-dev", ["nvidia-caps"]))
    root = found(ask(chain, f"dir {CAPS_TARGET}", table=DEVTMPFS_CAPS))
    assert root.container == ContainerPath("/host-dev")


def test_the_reach_of_an_answer_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """However deep a chain, what a fallback has found of its answer is not asked for again.

    A fallback of somebody else is asked as the protocol says, and its answer is looked at.
    """
    asked: list[str] = []
    reach = DevRoot.reach

    def counted(dev_root: DevRoot) -> Reach:
        asked.append(dev_root.origin)
        return reach(dev_root)

    monkeypatch.setattr(DevRoot, "reach", counted)
    subset = SubsetFallback("/host-dev", ["nvidia-caps"])
    chain = FirstOf(FirstOf(HostDevFallback("/missing"), subset))
    view = ContainerView(
        mountinfo=MountInfoTable.parse(OWN + DEVTMPFS_CAPS),
        filesystem=TreeFileSystem(["dir /driver-root/dev", "dir /dev", f"dir {CAPS_TARGET}"]),
    )
    root = DriverRoot(host="/drv", container="/driver-root", view=view)
    accept = {Verdict.HOST}  # so that the driver root's own dev, which is declared, will not do

    assert root.dev_root(fallback=chain, accept=accept).container == ContainerPath("/host-dev")
    assert asked == ["the driver root", repr(subset)]

    asked.clear()
    refusing = FirstOf(RootFallback(), subset)
    assert root.dev_root(fallback=refusing, accept=accept).container == ContainerPath("/host-dev")
    assert asked == ["the driver root", "RootFallback()", repr(subset)]


def test_first_of_takes_the_first_unknown_if_none_is_accepted() -> None:
    """It never passes silently: its reach says unknown."""
    chain = FirstOf(
        SubsetFallback("/host-dev", ["nvidia-caps"]), HostDevFallback("/"), HostDevFallback("/")
    )
    root = found(ask(chain))
    assert root.origin == "HostDevFallback('/')"
    assert root.reach().verdict is Verdict.UNKNOWN


def test_first_of_accepts_what_it_is_told_to() -> None:
    """With a stricter choice a declared mount is not enough."""
    subset = SubsetFallback("/host-dev", ["nvidia-caps"])
    specs = [f"dir {CAPS_TARGET}"]
    assert isinstance(ask(FirstOf(subset), *specs, table=TMPFS_CAPS), DevRoot)
    strict = FirstOf(subset, accept=[Verdict.HOST])
    refusal = refused(ask(strict, *specs, table=TMPFS_CAPS))
    assert [leaf.fallback for leaf in refusal.flat()] == [repr(subset)]
    assert "is DECLARED" in refusal.flat()[0].reason


def test_first_of_lists_every_refusal() -> None:
    """Also a dev root that is certain not to reach the host counts as refused."""
    chain = FirstOf(SubsetFallback("/p", ["x"]), RootFallback(), FirstOf(HostDevFallback("/q")))
    refusal = refused(ask(chain, mounts=MountTable([DRIVER])))
    assert (refusal.fallback, refusal.reason) == (repr(chain), "no fallback is accepted")
    assert [leaf.fallback for leaf in refusal.flat()] == [
        "SubsetFallback('/p', ['x'])",
        "RootFallback()",
        "HostDevFallback('/q')",
    ]
    assert repr(chain) == (
        "FirstOf(SubsetFallback('/p', ['x']), RootFallback(), FirstOf(HostDevFallback('/q')))"
    )


def test_error_of_a_driver_root_lists_the_chain() -> None:
    """What a person reads has every fallback, its reason and its mount."""
    view = ContainerView(
        mountinfo=MountInfoTable.parse(OWN),
        mounts=MountTable([DRIVER]),
        filesystem=TreeFileSystem(["dir /driver-root", "dir /dev"]),
    )
    root = DriverRoot(host="/drv", container="/driver-root", view=view)
    chain = FirstOf(HostDevFallback("/"), SubsetFallback("/host-dev", ["nvidia-caps"]))
    with pytest.raises(NoDevRootError) as caught:
        root.dev_root(fallback=chain)
    text = str(caught.value)
    assert "HostDevFallback('/'): /dev is PRIVATE" in text
    assert "mount /dev:/dev" in text
    assert "no directory /host-dev/dev; mount /dev/nvidia-caps:/host-dev/dev/nvidia-caps" in text


def test_names_of_a_subset() -> None:
    """They are paths below /dev, each once, in order."""
    fallback = SubsetFallback(ContainerPath("/p"), ["b", DevicePath("/dev/a"), "/dev/b"])
    assert fallback.names == (DevicePath("b"), DevicePath("a"))
    wrong: list[tuple[str | list[str], tuple[str, str, str]]] = [
        ("a", ("a", "list of device paths", "write ['a'], a list of names")),
        ([], ("[]", "subset of /dev", "it has no names")),
    ]
    for names, error in wrong:
        with pytest.raises(InvalidPathError) as caught:
            SubsetFallback("/p", names)
        assert (caught.value.text, caught.value.kind, caught.value.reason) == error
    with pytest.raises(PathKindError):
        SubsetFallback(HostPath("/p"), ["x"])  # type: ignore[arg-type] # what is tested


class Refusing:
    """A user's fallback that wraps another one, and refuses."""

    _examined = True

    def __init__(self, wrapped: Fallback) -> None:
        self.wrapped = wrapped

    def __getattr__(self, name: str) -> object:
        return getattr(self.wrapped, name)

    def dev_root(self, driver_root: DriverRoot, view: ContainerView, /) -> DevRoot | Refusal:
        """Refuse whatever the other one says."""
        assert isinstance(self.wrapped.dev_root(driver_root, view), DevRoot)
        return Refusal(fallback="Refusing", reason="it is told to")


class Derived(HostDevFallback):  # type: ignore[misc]  # it is final, which nobody checks here
    """A user's fallback that is derived from one of the library, and refuses."""

    def dev_root(self, driver_root: DriverRoot, view: ContainerView, /) -> DevRoot | Refusal:
        """Refuse whatever the other one says."""
        assert isinstance(super().dev_root(driver_root, view), DevRoot)
        return Refusal(fallback="Derived", reason="it is told to")


@pytest.mark.parametrize("own", [Refusing(HostDevFallback("/host-dev")), Derived("/host-dev")])
def test_what_a_users_own_fallback_says_holds(own: Fallback) -> None:
    """It is asked by its dev_root alone, whatever it wraps or derives from."""
    specs = ("dir /host-dev/dev",)
    assert isinstance(ask(HostDevFallback("/host-dev"), *specs, table=DEVTMPFS_DEV), DevRoot)
    answer = ask(FirstOf(own), *specs, table=DEVTMPFS_DEV)
    assert isinstance(answer, Refusal)
    assert [refusal.reason for refusal in answer.refusals] == ["it is told to"]
