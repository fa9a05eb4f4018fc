"""``python -m devroot mknod`` for devices of the kernel, on the files of a fake container."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from devroot.__main__ import main

if TYPE_CHECKING:
    from devroot.testing import FakeContainer, FakeHost

EXAMPLE = re.compile(
    r"^```text\n\$ python -m devroot mknod (.*?)\n(Dev.*?)^```$", re.MULTILINE | re.DOTALL
)
REFERENCE = Path(__file__).parent.parent.parent.parent / "docs/reference/cli.md"
ASIDE = ("--fallback", "subset:/host-dev:infiniband")
MOUNT = ("--mount", "/dev/infiniband:/host-dev/dev/infiniband")
VERBS = ("--subsystem", "infiniband_verbs")
UVERBS0 = "/dev/infiniband/uverbs0"


@pytest.fixture(autouse=True)
def in_pod(monkeypatch: pytest.MonkeyPatch, pod: FakeContainer) -> None:
    """Let the command run in the container."""
    monkeypatch.setattr("devroot._view.LocalFileSystem", lambda: pod.filesystem)


class Shell:
    """Runs the command in the container."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str, expected: int = 0) -> str:
        """Return what the command prints, after a look at its exit status."""
        status = main(["mknod", *arguments])
        captured = self._capsys.readouterr()
        assert (status, captured.err) == (expected, "")
        return captured.out

    def document(self, *arguments: str, expected: int = 0) -> dict[str, Any]:
        """Return the document that the command prints."""
        return cast("dict[str, Any]", json.loads(self(*arguments, "--json", expected=expected)))


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    """Return what runs the command."""
    return Shell(capsys)


def test_what_is_missing_or_has_another_number_is_made(shell: Shell, host: FakeHost) -> None:
    """The host gets the nodes that it lacks, and one with another number is replaced."""
    host.remove(UVERBS0)
    host.remove("/dev/infiniband/rdma_cm")
    host.device("/dev/infiniband/rdma_cm", major=10, minor=121)
    text = shell(*ASIDE, *MOUNT, "--name", "infiniband/*")
    assert text == (
        "Dev root      /host-dev (only /dev/infiniband)\n"
        "Where the nodes go:\n"
        "  - /dev/infiniband\n"
        "      here  /host-dev/dev/infiniband\n"
        "      host  /dev/infiniband (HOST)\n"
        "\n"
        "1 created, 1 repaired\n"
        "  - repaired /dev/infiniband/rdma_cm c 10:120 0666 0:0\n"
        "      number: character device 10:121 0666 0:0 is there\n"
        "  - created /dev/infiniband/uverbs0 c 231:192 0666 0:0\n"
    )
    assert (host.device(UVERBS0).number, host.device(UVERBS0).mode) == ((231, 192), 0o666)
    assert host.device("/dev/infiniband/rdma_cm").number == (10, 120)
    assert "\n2 unchanged\n" in shell(*ASIDE, *MOUNT, "--name", "infiniband/*")


def test_modes_and_owners_are_local_policy(shell: Shell, host: FakeHost) -> None:
    """A node with the right number stays as udev has left it."""
    host.remove(UVERBS0)
    host.device(UVERBS0, major=231, minor=192, mode=0o660, gid=44)
    assert "\n1 unchanged\n" in shell(*ASIDE, *MOUNT, *VERBS)
    assert (host.device(UVERBS0).mode, host.device(UVERBS0).gid) == (0o660, 44)


@pytest.mark.parametrize(
    ("filters", "made"),
    [
        (["--subsystem", "infiniband_*"], [UVERBS0]),
        (["--driver", "mlx5_core"], [UVERBS0]),
        (["--vendor", "0x15b3"], [UVERBS0]),
        (["--name", "infiniband/*", "--vendor", "0x15b3"], [UVERBS0]),
        (["--subsystem", "misc", *VERBS], ["/dev/infiniband/rdma_cm", UVERBS0]),
    ],
)
def test_filters(shell: Shell, filters: list[str], made: list[str]) -> None:
    """The devices are those that ``devices`` lists for the same options."""
    report = shell.document(*ASIDE, *MOUNT, *filters)["report"]
    assert [outcome["path"] for outcome in report["outcomes"]] == made


def test_the_containers_own_dev_is_refused(
    shell: Shell, host: FakeHost, pod: FakeContainer
) -> None:
    """Without a mount of the host's, nothing is made; without ``--driver-root`` it is ``/``."""
    host.remove(UVERBS0)
    text = shell(*MOUNT, "--subsystem", "kfd", expected=3)
    assert text.startswith("Driver root   /, on the host /\n")
    assert text.endswith(
        "\nNothing was made: the verdicts to accept are HOST, DECLARED, see --accept.\n"
    )
    assert not pod.has("/dev/kfd")
    document = shell.document(*MOUNT, "--subsystem", "kfd", expected=3)
    assert (document["status"], document["report"]) == ("refused", None)


def test_other_verdicts_can_be_accepted(shell: Shell, host: FakeHost, pod: FakeContainer) -> None:
    """Whoever says that a private place will do has the nodes there, once and for all."""
    host.remove("/dev/kfd")
    private = (*MOUNT, "--subsystem", "kfd", "--accept", "private")
    assert "\n1 created\n" in shell(*private)
    assert pod.device("/dev/kfd").number == (511, 0)
    assert not host.has("/dev/kfd")
    assert "\n1 unchanged\n" in shell(*private)


def test_outside_the_subset(shell: Shell, pod: FakeContainer) -> None:
    """What the dev root does not show cannot be made in it, and the others are."""
    text = shell(*ASIDE, *MOUNT, "--subsystem", "kfd", *VERBS, expected=1)
    assert "\n1 unchanged, 1 failed\n  - unchanged /dev/infiniband/uverbs0" in text
    assert "  - failed /dev/kfd c 511:0 0600 0:0\n" in text
    assert not pod.has("/host-dev/dev/kfd")


def test_a_node_that_only_the_container_sees(
    shell: Shell, host: FakeHost, pod: FakeContainer
) -> None:
    """A right node that is mounted over the name of the host's is told, and not touched."""
    host.remove(UVERBS0)
    host.file(UVERBS0)
    pod.tmpfs("/scratch")
    pod.device("/scratch/node", major=231, minor=192, mode=0o600)
    pod.bind("/scratch/node", f"/host-dev{UVERBS0}")
    pod.file("/host-mounts", host.mountinfo())
    proof = ("--host-mountinfo", "/host-mounts")
    (outcome,) = shell.document(*ASIDE, *MOUNT, *VERBS, *proof, expected=1)["report"]["outcomes"]
    assert (outcome["result"], outcome["errno"]) == ("failed", None)
    assert "but its reach is PRIVATE" in outcome["reason"]
    assert pod.device(f"/host-dev{UVERBS0}").mode == 0o600


def test_a_node_that_the_containers_own_dev_has(
    shell: Shell, host: FakeHost, pod: FakeContainer
) -> None:
    """One in the container's own ``/dev`` does not do: the host's is made."""
    host.remove(UVERBS0)
    pod.directory("/dev/infiniband")
    pod.device(UVERBS0, major=231, minor=192)
    assert "\n1 created\n" in shell(*ASIDE, *MOUNT, *VERBS)
    assert host.device(UVERBS0).number == (231, 192)


def test_what_hides_devices_is_told(shell: Shell, pod: FakeContainer) -> None:
    """A list that may not be whole says so, in the text and in the document."""
    pod.tmpfs("/sys/class")
    assert "\nUnknown       tmpfs is mounted over /sys/class\n" in shell(*ASIDE, *MOUNT, *VERBS)
    assert shell.document(*ASIDE, *MOUNT, *VERBS)["unknown"] == ["tmpfs is mounted over /sys/class"]


def test_no_such_device(
    shell: Shell, pod: FakeContainer, capsys: pytest.CaptureFixture[str]
) -> None:
    """Filters that let nothing through are an error that names them, and what may hide it."""
    assert main(["mknod", *MOUNT, *VERBS, "--name", "x", "--vendor", "4098"]) == 2
    said = "for --subsystem infiniband_verbs --name x --vendor 0x1002\n"
    assert capsys.readouterr().err == f"devroot: the catalogue has no device node {said}"
    pod.bind("/sys", "/host-sys")
    pod.tmpfs("/sys")
    assert main(["mknod", *MOUNT, *VERBS]) == 2
    assert "tmpfs is mounted at /sys" in capsys.readouterr().err
    assert "\n1 unchanged\n" in shell(*ASIDE, *MOUNT, *VERBS, "--sysfs", "/host-sys")


def test_a_dry_run_and_a_conflict(shell: Shell, host: FakeHost) -> None:
    """The other choices hold for these nodes too."""
    host.remove(UVERBS0)
    assert "\nDry run, nothing was changed: 1 created\n" in shell(
        *ASIDE, *MOUNT, *VERBS, "--dry-run"
    )
    assert not host.has(UVERBS0)
    host.file(UVERBS0)
    keep = shell(*ASIDE, *MOUNT, *VERBS, "--on-conflict", "keep")
    assert f"\n1 kept\n  - kept {UVERBS0}" in keep
    assert shell.document(*ASIDE, *MOUNT, *VERBS, "--on-conflict", "error", expected=1)


def test_nodes_of_the_driver_and_of_the_kernel(
    shell: Shell, host: FakeHost, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both can be had at once; the driver's need a driver root, and come first."""
    both = ("--control", *VERBS, *ASIDE, *MOUNT)
    with pytest.raises(SystemExit):
        main(["mknod", *both])
    assert "mknod needs --driver-root HOST:CONTAINER" in capsys.readouterr().err
    assert main(["mknod", *both, "--driver-root", "/:/"]) == 2
    assert "is the kernel module nvidia loaded?" in capsys.readouterr().err
    host.nvidia_driver()
    report = shell.document(*both, "--driver-root", "/:/", expected=1)["report"]
    assert [outcome["path"] for outcome in report["outcomes"]][::4] == ["/dev/nvidiactl", UVERBS0]
    assert report["counts"] == {"unchanged": 1, "failed": 4}


def test_libudev_is_not_needed(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """The devices are read from the files of sysfs, so that a slim image will do."""
    monkeypatch.setitem(sys.modules, "pyudev", None)
    assert "\n1 unchanged\n" in shell(*ASIDE, *MOUNT, *VERBS)


def test_the_example_of_the_reference(shell: Shell, host: FakeHost) -> None:
    """What the page shows is what the command prints on such a host."""
    host.remove(UVERBS0)
    page = REFERENCE.read_text(encoding="utf-8").split("\n## mknod\n")[1]
    found = EXAMPLE.search(page)
    assert found is not None
    arguments = found[1].replace("\\\n", " ").split()
    assert shell(*MOUNT, *arguments) == found[2]
