"""What ``explain`` says of set-ups that are no scenario."""

from __future__ import annotations

import json

from devroot import (
    ContainerView,
    DriverRoot,
    Mount,
    MountInfoTable,
    MountTable,
    kubernetes,
)
from devroot._cli import _json, _text
from devroot._cli._arguments import parse_fallback
from devroot._cli._explanation import Explanation, Remedy, State, explain
from devroot.testing import TreeFileSystem
from tests._kubernetes import yaml

ROOT_LINE = "100 99 0:50 / / rw - overlay overlay rw\n"
PRIVATE_DEV = "101 100 0:51 / /dev rw,nosuid - tmpfs tmpfs rw,size=65536k,mode=755\n"
HOST_DEV = "102 100 0:6 / /drv/dev rw,nosuid - devtmpfs devtmpfs rw\n"


def explained(
    mountinfo: str,
    *fallbacks: str,
    mounts: list[str] | None = None,
    files: tuple[str, ...] = (),
    capabilities: int | None = None,
) -> Explanation:
    """Explain the driver root ``/opt/drv:/drv`` of a container without the host's table."""
    view = ContainerView(
        mounts=None if mounts is None else MountTable(map(Mount.parse, mounts)),
        mountinfo=MountInfoTable.parse(mountinfo.encode()),
        filesystem=TreeFileSystem(["dir /drv", "dir /dev", *files]),
        effective_capabilities=capabilities,
    )
    driver_root = DriverRoot(host="/opt/drv", container="/drv", view=view)
    return explain(driver_root, [(text, parse_fallback(text)) for text in fallbacks or ["root"]])


def test_a_driver_root_with_dev() -> None:
    """A driver root whose dev reaches the host is taken, and no fallback is asked."""
    explanation = explained(
        ROOT_LINE + HOST_DEV, mounts=["/opt/drv:/drv", "/dev:/drv/dev"], files=("dir /drv/dev",)
    )
    own, root = explanation.candidates
    assert (own.state, root.state, root.reach) == (State.TAKEN, State.NOT_ASKED, None)
    assert explanation.accepted
    assert (explanation.remedies, explanation.advice) == ((), ())
    assert "  - root: not asked\n      an earlier answer was accepted\n" in _text.render(
        explanation
    )


def test_a_driver_root_whose_dev_does_not_reach_the_host() -> None:
    """A dev in the driver root that is not accepted stays the answer if nothing is better."""
    explanation = explained(ROOT_LINE, "host-dev", mounts=["/x:/x"], files=("dir /drv/dev",))
    own, fallback = explanation.candidates
    assert (own.state, fallback.state) == (State.TAKEN, State.REFUSED)
    text = _text.render(explanation)
    assert "nothing better was found, but /drv/dev is PRIVATE: " in text.replace("\n      ", " ")
    assert "What would help: mount this in the pod:\n" in text
    assert "      mountPath: /drv/dev\n" in text
    assert "Or mount this in the pod, for --fallback host-dev:\n" in text
    assert "      mountPath: /dev\n" in text


def test_nobody_knows() -> None:
    """Where nothing decides, the advice is what would: the host's table, and the mounts."""
    explanation = explained(ROOT_LINE + PRIVATE_DEV, "host-dev")
    assert len(explanation.advice) == 2
    text = _text.render(explanation)
    assert "Mounts        nobody said\nHost's table  not granted\n" in text
    assert "      host  /dev/nvidia-caps (UNKNOWN)\n" in text
    assert (
        "Not accepted.\n\n"
        "Grant the host's mount table, which decides: run the pod with hostPID: true, and\n"
        "add --host-mountinfo /proc/1/mountinfo.\n\n"
        "Say what is mounted: add --mount HOST:CONTAINER for every mount of the\n"
        "container.\n\n"
        "Or mount this in the pod, for --fallback host-dev:\n"
    ) in text


def test_nobody_knows_where() -> None:
    """Where no host path is known either, it is not made up."""
    explanation = explained(ROOT_LINE + PRIVATE_DEV, "root")
    assert "      host  nobody knows (UNKNOWN)\n" in _text.render(explanation)


def test_a_mount_that_is_there_is_no_remedy() -> None:
    """What was asked for already is not proposed once more."""
    explanation = explained(
        ROOT_LINE + PRIVATE_DEV, "host-dev", mounts=["/opt/drv:/drv", "/dev:/dev"]
    )
    assert explanation.remedies == ()
    assert [advice.split(",")[0] for advice in explanation.advice] == [
        "Grant the host's mount table"
    ]


def test_two_fallbacks_with_one_remedy() -> None:
    """The same mounts are proposed once."""
    mounts = ["/opt/drv:/drv"]
    explanation = explained(ROOT_LINE, "host-dev:/p", "host-dev:/p", mounts=mounts)
    assert [remedy.fallback for remedy in explanation.remedies] == ["host-dev:/p"]


def test_stale() -> None:
    """A directory that was deleted on the host needs a restart and no other mount."""
    stale = "103 100 0:6 /nvidia-caps//deleted /p/dev/nvidia-caps rw - devtmpfs devtmpfs rw\n"
    explanation = explained(
        ROOT_LINE + stale,
        "subset:/p:nvidia-caps",
        mounts=["/opt/drv:/drv", "/dev/nvidia-caps:/p/dev/nvidia-caps"],
        files=("dir /p/dev/nvidia-caps",),
    )
    assert explanation.dev_root is None
    assert explanation.advice == ("Restart the pod, so that what was deleted is mounted anew.",)
    assert explanation.remedies == ()


def test_the_worse_name_of_a_subset_decides() -> None:
    """Each name of a subset has its own reasons, and the worst verdict is the answer."""
    one = "103 100 0:6 /a /p/dev/a rw - devtmpfs devtmpfs rw\n"
    other = "104 100 0:9 /b /p/dev/b rw - ext4 /dev/sda1 rw\n"
    explanation = explained(
        ROOT_LINE + one + other,
        "subset:/p:a,b",
        mounts=["/dev/a:/p/dev/a", "/dev/b:/p/dev/b"],
        files=("dir /p/dev/a", "dir /p/dev/b"),
    )
    text = _text.render(explanation)
    assert explanation.accepted
    assert "\nVerdict       DECLARED: a mount was asked for and is there;" in text
    assert "\n/p/dev/a is HOST, because\n" in text
    assert "\n/p/dev/b is DECLARED, because\n" in text
    document = json.loads(_json.render(explanation, version="1"))
    assert [part["verdict"] for part in document["reach"]["parts"]] == ["host", "declared"]


def test_blockers_are_told() -> None:
    """What stands in the way of making a node is told with the verdict, and does not change it."""
    read_only = HOST_DEV.replace("rw,nosuid", "ro,nodev")
    explanation = explained(
        ROOT_LINE + read_only, mounts=["/dev:/drv/dev"], files=("dir /drv/dev",), capabilities=0
    )
    assert explanation.accepted
    text = _text.render(explanation)
    assert "\nand in the way is\n  - mount 102 (devtmpfs 0:6 / at /drv/dev) is read-only" in text
    document = json.loads(_json.render(explanation, version="1"))
    codes = [blocker["code"] for blocker in document["reach"]["blockers"]]
    assert codes == ["ro", "nodev", "no-cap-mknod"]


def test_a_mount_without_a_host_side() -> None:
    """A mount whose host side nobody knows is null in the document."""
    view = ContainerView(
        mounts=MountTable([Mount(host=None, container="/cache")]),
        mountinfo=MountInfoTable.parse(ROOT_LINE.encode()),
        filesystem=TreeFileSystem(["dir /drv"]),
    )
    driver_root = DriverRoot(host="/opt/drv", container="/drv", view=view)
    explanation = explain(driver_root, [("root", parse_fallback("root"))])
    document = json.loads(_json.render(explanation, version="1"))
    assert document["mounts"] == [{"host": None, "container": "/cache", "read_only": False}]


def test_volumes_are_those_of_the_library() -> None:
    """The mounts that would help are printed as the very volumes that the library gives."""
    mounts = [Mount(host="/dev/nvidia-caps", container="/my aside, #/dev")]
    mounts += [Mount(host="/usr/lib", container="/lib", read_only=True)]
    mounts += [Mount(host="/dev", container="/true"), Mount(host="/dev", container="/b/dev")]
    lines = _text._yaml(Remedy(fallback="host-dev", mounts=tuple(mounts)))
    printed = yaml.safe_load("\n".join(lines))
    needed = kubernetes.volumes(*mounts)
    assert printed == {"volumes": needed.volumes, "volumeMounts": needed.volume_mounts}


def test_paths_stay_whole() -> None:
    """A long path is not broken across lines, so that it can be copied."""
    long = "/p/" + "x-" * 50
    text = _text.render(explained(ROOT_LINE, f"host-dev:{long}", mounts=[]))
    assert f"\n  - host-dev:{long}:\n    refused\n" in text
    assert f"\n      {long}/dev\n" in text
