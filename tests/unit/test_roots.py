"""Driver roots and dev roots: which one is chosen, and what it hands out."""

from __future__ import annotations

import errno

import attrs
import pytest

from devroot import (
    ContainerPath,
    ContainerView,
    DevicePath,
    DevRoot,
    DriverRoot,
    DriverRootError,
    EvidenceCode,
    Fallback,
    HostDevFallback,
    HostPath,
    InvalidMountError,
    InvalidPathError,
    Mount,
    MountInfoTable,
    MountTable,
    NoDevRootError,
    NotOnHostError,
    OutsideSubsetError,
    PathKindError,
    Refusal,
    RootFallback,
    SubsetFallback,
    Verdict,
)
from devroot.testing import TreeFileSystem

OWN = b"""\
10 9 0:50 / / rw - overlay overlay rw
11 10 0:51 / /dev rw,nosuid - tmpfs tmpfs rw,size=65536k,mode=755
12 10 8:1 /home/kubernetes/bin/nvidia /driver-root ro - ext4 /dev/sda1 rw
"""
DRIVER = Mount(host="/home/kubernetes/bin/nvidia", container="/driver-root")
CAPS = DevicePath("nvidia-caps")


def view_of(*specs: str, table: bytes = OWN, mounts: MountTable | None = None) -> ContainerView:
    """Return the view of a container with these files and mounts."""
    return ContainerView(
        mountinfo=MountInfoTable.parse(table),
        mounts=mounts,
        filesystem=TreeFileSystem(["dir /driver-root", "dir /dev", *specs]),
    )


def driver_root_in(view: ContainerView) -> DriverRoot:
    """Return the driver root that the tests are about."""
    return DriverRoot(host=str(DRIVER.host), container="/driver-root", view=view)


@attrs.frozen
class Answering:
    """A fallback that answers with a dev root of this directory, or refuses."""

    container: str | None

    def dev_root(self, driver_root: DriverRoot, view: ContainerView, /) -> DevRoot | Refusal:
        """Answer."""
        if self.container is None:
            return Refusal(fallback="Answering", reason="it was told to refuse")
        return DevRoot(container=self.container, view=view, declared=driver_root.declared())


def test_driver_root_takes_text_on_both_sides() -> None:
    """The parameter's name says whose path it is, so text will do; a mix-up is refused."""
    root = driver_root_in(view_of())
    assert root.host == HostPath("/home/kubernetes/bin/nvidia")
    assert root.container == ContainerPath("/driver-root")
    assert root.mount == DRIVER
    with pytest.raises(PathKindError):
        DriverRoot(host=ContainerPath("/x"), container="/x", view=view_of())  # type: ignore[arg-type]


def test_driver_root_that_contradicts_the_mounts_is_refused() -> None:
    """One of the two host paths is wrong, and nobody can tell which."""
    mounts = MountTable([Mount(host="/opt/nvidia", container="/driver-root")])
    with pytest.raises(InvalidMountError) as caught:
        driver_root_in(view_of(mounts=mounts))
    assert caught.value.text == "/opt/nvidia:/driver-root"
    assert caught.value.reason == (
        "the driver root is said to be /home/kubernetes/bin/nvidia on the host; give the same host"
        " path in both places"
    )


def test_driver_root_declares_its_own_pair() -> None:
    """It counts as a declared mount, with what a fallback claims, while none are given."""
    claim = Mount(host="/dev", container="/host-dev/dev")
    root = driver_root_in(view_of())
    assert root.declared() == MountTable([DRIVER])
    assert root.declared(claim) == MountTable([DRIVER, claim])


def test_given_mounts_are_complete() -> None:
    """A claim adds nothing to them; the driver root's own pair does where they do not cover it."""
    claim = Mount(host="/dev", container="/host-dev/dev")
    other = Mount(host="/run/cdi", container="/run/cdi")
    root = driver_root_in(view_of(mounts=MountTable([other])))
    assert root.declared(claim) == MountTable([DRIVER, other])
    covered = MountTable([Mount(host="/home", container="/")])
    assert driver_root_in(view_of(mounts=covered)).declared(claim) == covered


def test_a_dev_that_cannot_be_looked_at_is_told_as_it_is() -> None:
    """A ``dev`` that leads in a circle is no missing driver root, and no reason to go elsewhere."""
    root = driver_root_in(view_of("link /driver-root/dev dev"))
    with pytest.raises(OSError, match="symbolic links") as caught:
        root.dev_root()
    assert caught.value.errno == errno.ELOOP
    assert not isinstance(caught.value, DriverRootError)


def test_driver_root_at_the_containers_root_declares_nothing() -> None:
    """A container's root is no mount of the host's, whatever the configuration calls it."""
    view = view_of()
    root = DriverRoot(host="/", container="/", view=view)
    assert root.declared() is None
    assert root.dev_root().reach().verdict is Verdict.UNKNOWN
    given = attrs.evolve(view, mounts=MountTable())
    assert DriverRoot(host="/", container="/", view=given).dev_root().reach().verdict is (
        Verdict.PRIVATE
    )


@pytest.mark.parametrize(
    ("container", "number", "name"),
    [
        ("/nowhere", errno.ENOENT, "ENOENT"),
        ("/a-file", errno.ENOTDIR, "ENOTDIR"),
        ("/loop", errno.ELOOP, "ELOOP"),
    ],
)
def test_driver_root_that_is_no_directory(container: str, number: int, name: str) -> None:
    """The error names the place and asks whether the driver is mounted there."""
    view = view_of("file /a-file", "link /loop loop")
    with pytest.raises(DriverRootError, match=f"is /x mounted there.*{name}") as caught:
        DriverRoot(host="/x", container=container, view=view).dev_root()
    assert caught.value.errno == number
    assert caught.value.filename == container


def test_a_link_that_leads_nowhere_inside_is_not_followed_outside() -> None:
    """Its place is where the link is, though the same text leads to a directory of the container.

    A link on the way to the dev root is the container's own, and is followed.
    """
    table = OWN + b"13 10 0:6 / /elsewhere rw - devtmpfs udev rw\n"
    specs = ["dir /elsewhere", "link /driver-root/dev /elsewhere", "link /here driver-root"]
    view = view_of(*specs, table=table)
    for container in ("/driver-root", "/here"):
        dev_root = DevRoot(container=container, view=view)
        for reach in (dev_root.reach(), dev_root.reach("nvidia0")):
            assert reach.mount is not None
            assert reach.mount.mount_point == ContainerPath("/driver-root")


def test_driver_root_with_an_accepted_dev_is_the_dev_root() -> None:
    """No fallback is asked then."""
    root = driver_root_in(view_of("dir /driver-root/dev"))
    found = root.dev_root(fallback=Answering("/elsewhere"))
    assert found.container == ContainerPath("/driver-root")
    assert found.origin == "the driver root"
    assert found.remedies == (Mount(host="/dev", container="/driver-root/dev"),)
    assert found.reach().verdict is Verdict.DECLARED
    assert found.host_path("nvidia0") == HostPath("/home/kubernetes/bin/nvidia/dev/nvidia0")


@pytest.mark.parametrize("spec", ["file /driver-root/dev", "link /driver-root/dev nowhere"])
def test_something_called_dev_that_is_no_directory_is_no_dev_root(spec: str) -> None:
    """A file, or a link that leads nowhere, does not count as a dev directory."""
    found = driver_root_in(view_of(spec)).dev_root()
    assert found.container == ContainerPath("/")


def test_dev_below_a_link_is_looked_for_inside_the_driver_root() -> None:
    """An absolute link in the driver root starts at the driver root, not at the container's."""
    view = view_of("dir /driver-root/real/dev", "link /driver-root/dev /real/dev")
    found = driver_root_in(view).dev_root()
    assert found.container == ContainerPath("/driver-root")
    assert found.container_path("nvidia0") == ContainerPath("/driver-root/dev/nvidia0")
    assert found.host_path("nvidia0") == HostPath("/home/kubernetes/bin/nvidia/real/dev/nvidia0")


def test_fallback_is_asked_when_dev_is_missing() -> None:
    """Its answer is taken when its reach is accepted."""
    view = view_of("dir /driver-root/x/dev")
    lenient = frozenset({Verdict.DECLARED, Verdict.UNKNOWN})
    found = driver_root_in(view).dev_root(fallback=Answering("/driver-root/x"), accept=lenient)
    assert found.container == ContainerPath("/driver-root/x")
    assert found.reach().verdict is Verdict.DECLARED
    assert found.accept == lenient


def test_without_a_fallback_it_is_the_root() -> None:
    """That is what plugins do that do not ask; the reach tells what it costs."""
    found = driver_root_in(view_of(mounts=MountTable([DRIVER]))).dev_root()
    assert found.container == ContainerPath("/")
    assert found.origin == "RootFallback()"
    assert found.declared == MountTable([DRIVER])
    assert found.container_path("nvidia0") == ContainerPath("/dev/nvidia0")
    with pytest.raises(NotOnHostError, match="PRIVATE") as caught:
        found.host_path("nvidia0")
    assert caught.value.reach.evidence[-1].code is EvidenceCode.RUNTIME_DEV
    assert caught.value.remedies == (Mount(host="/dev", container="/host-dev/dev"),)


def test_unaccepted_answer_is_returned_with_its_verdict() -> None:
    """Nothing better is known, and the caller sees why it is not good."""
    found = driver_root_in(view_of("dir /x/dev")).dev_root(fallback=Answering("/x"))
    assert found.container == ContainerPath("/x")
    assert found.reach().verdict is Verdict.PRIVATE


def test_driver_root_is_better_than_a_fallback_that_is_not_accepted_either() -> None:
    """With nothing accepted, a driver root with a dev is the answer."""
    view = view_of("dir /driver-root/dev", "dir /x/dev")
    root = driver_root_in(view)
    strict = frozenset({Verdict.HOST})
    for fallback in (Answering("/x"), Answering(None)):
        found = root.dev_root(fallback=fallback, accept=strict)
        assert found.container == ContainerPath("/driver-root")
        assert found.accept == strict
        with pytest.raises(NotOnHostError, match="DECLARED"):
            found.host_path("nvidia0")


def test_fallback_is_preferred_to_a_driver_root_that_is_not_accepted() -> None:
    """A dev directory in the driver root is no reason to take it."""
    stale = b"13 12 8:1 /gone//deleted /driver-root/dev rw - ext4 /dev/sda1 rw\n"
    root = driver_root_in(
        view_of("dir /driver-root/dev", "dir /driver-root/ok/dev", table=OWN + stale)
    )
    assert root.dev_root().container == ContainerPath("/driver-root")
    assert root.dev_root().reach().verdict is Verdict.STALE
    lenient = frozenset({Verdict.DECLARED, Verdict.UNKNOWN})
    found = root.dev_root(fallback=Answering("/driver-root/ok"), accept=lenient)
    assert found.container == ContainerPath("/driver-root/ok")
    assert found.accept == lenient


def test_refusal_without_a_dev_is_an_error_with_every_reason() -> None:
    """It lists what each fallback said, those inside a chain one by one."""
    inner = Refusal(fallback="Inner()", reason="no such directory")
    chain = Refusal(fallback="Chain()", reason="none", refusals=(inner, inner))

    @attrs.frozen
    class Refusing:
        def dev_root(self, _driver_root: DriverRoot, _view: ContainerView, /) -> Refusal:
            return chain

    fallback = Refusing()
    assert isinstance(fallback, Fallback)
    with pytest.raises(NoDevRootError, match=r"Inner\(\): no such directory") as caught:
        driver_root_in(view_of()).dev_root(fallback=fallback)
    assert caught.value.refusals == (inner, inner)
    assert caught.value.driver_root == ContainerPath("/driver-root")


def subset(view: ContainerView, *names: DevicePath) -> DevRoot:
    """Return a dev root that shows the names, by default nvidia-caps alone."""
    return DevRoot(container="/host-dev", view=view, names=names or (CAPS,))


SUBSET_TABLE = OWN + b"14 10 0:6 /nvidia-caps /host-dev/dev/nvidia-caps rw - devtmpfs udev rw\n"
SUBSET_MOUNTS = MountTable(
    [DRIVER, Mount(host="/dev/nvidia-caps", container="/host-dev/dev/nvidia-caps")]
)


def test_path_outside_the_subset_has_no_place() -> None:
    """Neither the container's nor the host's path is given out, and the error names the subset."""
    root = subset(view_of(table=SUBSET_TABLE, mounts=SUBSET_MOUNTS))
    for ask in (root.container_path, root.host_path, root.reach, root.require_reach):
        with pytest.raises(OutsideSubsetError, match="/dev/nvidia-caps") as caught:
            ask("nvidia0")
        assert (caught.value.path, caught.value.names) == (DevicePath("nvidia0"), (CAPS,))
    assert not root.contains("nvidia0")
    assert not root.contains("nvidia-caps-imex-channels/channel0")
    assert root.contains("nvidia-caps")
    assert root.contains("/dev/nvidia-caps/nvidia-cap1")
    assert DevRoot(container="/", view=root.view).contains("anything")


def test_container_path_is_given_whatever_the_reach() -> None:
    """Where a node is here does not depend on who else sees it."""
    root = subset(view_of(mounts=MountTable()))
    path = root.container_path("nvidia-caps/nvidia-cap1")
    assert path == ContainerPath("/host-dev/dev/nvidia-caps/nvidia-cap1")
    with pytest.raises(NotOnHostError, match=str(path)):
        root.host_path("nvidia-caps/nvidia-cap1")


def test_host_path_inside_the_subset() -> None:
    """Devtmpfs that was asked for by that name is the host's."""
    view = view_of("dir /host-dev/dev/nvidia-caps", table=SUBSET_TABLE, mounts=SUBSET_MOUNTS)
    root = subset(view)
    assert root.host_path("nvidia-caps/nvidia-cap1") == HostPath("/dev/nvidia-caps/nvidia-cap1")
    assert root.require_reach().verdict is Verdict.HOST
    assert root.dev == ContainerPath("/host-dev/dev")


def test_reach_of_a_subset_is_its_worst() -> None:
    """Every name has its own answer, and the worst one stands for all."""
    view = view_of("dir /host-dev/dev/nvidia-caps", table=SUBSET_TABLE, mounts=SUBSET_MOUNTS)
    reach = subset(view, CAPS, DevicePath("dri")).reach()
    assert [(str(part.container_path), part.verdict) for part in reach.parts] == [
        ("/host-dev/dev/nvidia-caps", Verdict.HOST),
        ("/host-dev/dev/dri", Verdict.PRIVATE),
    ]
    assert reach.verdict is Verdict.PRIVATE
    assert reach.container_path == ContainerPath("/host-dev/dev/dri")


def test_require_reach_can_accept_less() -> None:
    """A caller says what is good enough; a host path that nobody knows is still not given out."""
    remedies = (Mount(host="/dev", container="/host-dev/dev"),)
    root = attrs.evolve(subset(view_of()), remedies=remedies)
    caps = root.container_path("nvidia-caps")
    with pytest.raises(NotOnHostError) as caught:
        root.require_reach()
    assert (caught.value.path, caught.value.remedies) == (caps, remedies)
    lenient = [Verdict.HOST, Verdict.PRIVATE]
    assert root.require_reach(accept=lenient).verdict is Verdict.PRIVATE
    with pytest.raises(NotOnHostError) as caught:
        attrs.evolve(root, accept=frozenset(lenient)).host_path("nvidia-caps")
    assert (caught.value.path, caught.value.remedies) == (caps, remedies)


def refusal(root: DevRoot) -> NotOnHostError:
    """Return the error of a dev root whose reach is not accepted."""
    with pytest.raises(NotOnHostError) as caught:
        root.require_reach()
    return caught.value


def test_a_refusal_names_all_the_mounts_that_are_needed() -> None:
    """A subset needs each of its mounts, and says so."""
    names = ("nvidia-caps", "nvidia-caps-imex-channels")
    fallback = SubsetFallback("/host-dev", names)
    root = attrs.evolve(subset(view_of()), remedies=fallback.mounts)
    assert str(refusal(root)).endswith(
        "\n  mounts that would do together: /dev/nvidia-caps:/host-dev/dev/nvidia-caps,"
        " /dev/nvidia-caps-imex-channels:/host-dev/dev/nvidia-caps-imex-channels"
    )


@pytest.mark.parametrize("granted", [False, True])
def test_a_refusal_does_not_ask_for_the_mount_that_is_there(granted: bool) -> None:  # noqa: FBT001
    """Where the mount is there and decides nothing, the table of the host would."""
    table = OWN.replace(b"11 10 0:51 / /dev", b"13 10 0:51 / /dev")
    host = b"1 0 0:50 / / rw - overlay other rw\n"
    view = attrs.evolve(
        view_of(table=table, mounts=MountTable([DRIVER, Mount(host="/dev", container="/dev")])),
        host_mountinfo=MountInfoTable.parse(host, paths=HostPath) if granted else None,
    )
    fallback = HostDevFallback("/")
    error = refusal(DevRoot(container="/", view=view, remedies=fallback.mounts))
    if granted:
        assert (error.reach.verdict, error.remedies) == (Verdict.PRIVATE, fallback.mounts)
        assert error.advice == ""
    else:
        assert (error.reach.verdict, error.remedies) == (Verdict.UNKNOWN, ())
        assert error.advice == (
            "the host's mount table decides: run the pod with hostPID: true, and read the view"
            " with host_mountinfo=ContainerPath('/proc/1/mountinfo')"
        )
        assert str(error).endswith(f"\n  {error.advice}")


def test_a_refusal_asks_for_the_mount_that_nobody_said() -> None:
    """Where nobody said what is mounted, both the mount and the host's table can help."""
    fallback = HostDevFallback("/")
    error = refusal(DevRoot(container="/", view=view_of(), remedies=fallback.mounts))
    assert error.reach.verdict is Verdict.UNKNOWN
    assert error.remedies == fallback.mounts
    assert "hostPID" in error.advice


def test_a_refusal_in_a_guest_does_not_ask_for_its_table() -> None:
    """With a kernel of its own the table of process 1 is the guest's, which decides nothing."""
    table = OWN.replace(b"/ / rw - overlay overlay", b"/ / rw - virtiofs kataShared")
    error = refusal(DevRoot(container="/", view=view_of(table=table)))
    assert error.reach.evidence[-1].code is EvidenceCode.OWN_KERNEL
    assert error.advice == ""


def test_a_refusal_of_what_went_stale_asks_for_a_restart() -> None:
    """The mount is there, and shows what was deleted; only a new container gets the new one."""
    stale = (
        OWN + b"14 10 0:6 /nvidia-caps//deleted /host-dev/dev/nvidia-caps rw - devtmpfs udev rw\n"
    )
    root = subset(view_of("dir /host-dev/dev/nvidia-caps", table=stale, mounts=SUBSET_MOUNTS))
    error = refusal(
        attrs.evolve(root, remedies=SubsetFallback("/host-dev", ["nvidia-caps"]).mounts)
    )
    assert (error.reach.verdict, error.remedies) == (Verdict.STALE, ())
    assert error.advice == "start the container again, so that it is mounted anew"


def test_names_are_those_of_a_subset() -> None:
    """A dev root takes them as a subset does: texts will do, and none is an error."""
    root = DevRoot(container="/host-dev", view=view_of(), names=["nvidia-caps"])
    assert root.names == (CAPS,)
    assert root.contains("nvidia-caps/nvidia-cap1")
    with pytest.raises(InvalidPathError, match="it has no names"):
        DevRoot(container="/host-dev", view=view_of(), names=())


@pytest.mark.parametrize("target", ["/run/x", "../../run/x", "/nowhere"])
def test_a_directory_that_is_a_link_out_is_on_no_host(target: str) -> None:
    """The host follows it elsewhere, so no host path is given for what is below it."""
    table = OWN + b"14 10 0:6 / /host-dev/dev rw - devtmpfs udev rw\n"
    mounts = MountTable([DRIVER, Mount(host="/dev", container="/host-dev/dev")])
    view = view_of("dir /run/x", f"link /host-dev/dev/sub {target}", table=table, mounts=mounts)
    root = DevRoot(container="/host-dev", view=view)
    assert root.reach("sub").verdict is Verdict.HOST
    with pytest.raises(NotOnHostError) as caught:
        root.host_path("sub/n")
    assert caught.value.reach.evidence[-1].code is EvidenceCode.DANGLING_LINK
    assert root.host_path("other/n") == HostPath("/dev/other/n")


def test_a_dev_that_is_a_link_out_is_on_no_host() -> None:
    """What is made in P/dev lands nowhere, and the host has something else there."""
    table = OWN + b"14 10 8:1 /data /host-dev rw - ext4 /dev/sda1 rw\n"
    mounts = MountTable([DRIVER, Mount(host="/data", container="/host-dev")])
    view = view_of("dir /run/x", "link /host-dev/dev /run/x", table=table, mounts=mounts)
    root = DevRoot(container="/host-dev", view=view)
    for reach in (root.reach(), root.reach("n")):
        assert reach.verdict is Verdict.UNKNOWN
        assert reach.evidence[-1].code is EvidenceCode.DANGLING_LINK


def test_link_at_the_name_is_not_followed() -> None:
    """A node would replace the link, so the link's own place counts."""
    view = view_of(
        "dir /host-dev/dev/nvidia-caps",
        "link /host-dev/dev/nvidia-caps/nvidia-cap1 /etc/passwd",
        table=SUBSET_TABLE,
        mounts=SUBSET_MOUNTS,
    )
    path = subset(view).host_path("nvidia-caps/nvidia-cap1")
    assert path == HostPath("/dev/nvidia-caps/nvidia-cap1")


def test_links_on_the_way_to_the_dev_root_are_the_containers() -> None:
    """A dev root below /var/run is the one in /run, where the runtime mounted it."""
    table = OWN + b"14 10 0:6 / /run/host-dev/dev rw - devtmpfs udev rw\n"
    mounts = MountTable([Mount(host="/dev", container="/var/run/host-dev/dev")])
    view = view_of("dir /run/host-dev/dev", "link /var/run ../run", table=table, mounts=mounts)
    root = DevRoot(container="/var/run/host-dev", view=view)
    assert root.reach().verdict is Verdict.HOST
    assert root.host_path("nvidia0") == HostPath("/dev/nvidia0")
    assert root.container_path("nvidia0") == ContainerPath("/var/run/host-dev/dev/nvidia0")


def test_dev_is_opened_inside_the_dev_root() -> None:
    """A link cannot lead the handle out of P."""
    view = view_of("dir /host-dev/inside", "link /host-dev/dev ../../inside", "dir /inside")
    with DevRoot(container="/host-dev", view=view).open_dev() as handle:
        assert handle.path == ContainerPath("/host-dev/inside")


def test_texts_for_people() -> None:
    """A dev root, a refusal and a reach say in a line what they are."""
    root = subset(view_of())
    assert str(root) == "/host-dev (only /dev/nvidia-caps)"
    two = subset(root.view, CAPS, DevicePath("dri"))
    assert str(two) == "/host-dev (only /dev/nvidia-caps, /dev/dri)"
    assert str(DevRoot(container="/", view=root.view)) == "/"
    remedy = Mount(host="/dev", container="/host-dev/dev")
    assert str(Refusal(fallback="F()", reason="no", remedies=(remedy,))) == (
        "F(): no; mount /dev:/host-dev/dev"
    )
    assert str(Refusal(fallback="F()", reason="no")) == "F(): no"
    assert str(Refusal(fallback="F()", reason="no", remedies=(DRIVER, remedy))) == (
        f"F(): no; mount {DRIVER}, /dev:/host-dev/dev"
    )


def test_root_fallback_is_a_fallback() -> None:
    """The protocol can be checked at run time."""
    assert isinstance(RootFallback(), Fallback)
    assert not isinstance(object(), Fallback)
