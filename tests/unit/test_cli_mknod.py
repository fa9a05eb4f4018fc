"""``python -m devroot mknod``: what is made, what is refused, and how it is told."""

from __future__ import annotations

import errno
import json
import re
import sys
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import attrs
import pytest

from devroot import DeviceNode, InvalidNodeError
from devroot.__main__ import main
from devroot._cli._making import _with_those_of_kernel
from devroot._cli._progress import MANY, in_steps
from devroot.testing import FakeHost, Scenario, scenario

if TYPE_CHECKING:
    from collections.abc import Callable

REFERENCE = Path(__file__).parent.parent.parent / "docs/reference/cli.md"
SUBSET = "subset:/host-dev:nvidia-caps,nvidia-caps-imex-channels"
CAPABILITY = "/dev/nvidia-caps/nvidia-cap4323"
IMEX = ("--capability", "fabric-imex-mgmt", "--imex-channels", "0,5-6")


class Shell:
    """Runs the command in one scene, whose files stay from run to run."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
    ) -> None:
        self.scene: Scenario = scenario(name)
        self._name = name
        self._capsys = capsys
        monkeypatch.setattr("devroot._cli._setting.scenario", {name: self.scene}.__getitem__)

    def __call__(self, *arguments: str, expected: int = 0) -> str:
        """Return what the command prints, after a look at its exit status."""
        status = main(["mknod", "--scenario", self._name, *arguments])
        captured = self._capsys.readouterr()
        assert (status, captured.err) == (expected, "")
        return captured.out

    def document(self, *arguments: str, expected: int = 0) -> dict[str, Any]:
        """Return the document that the command prints."""
        return cast("dict[str, Any]", json.loads(self(*arguments, "--json", expected=expected)))


@pytest.fixture
def shell(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[str], Shell]:
    """Return what opens a shell in a scene."""
    return lambda name: Shell(monkeypatch, capsys, name)


@pytest.mark.parametrize("name", ["gke", "imex"])
def test_the_host_sees_what_is_made(shell: Callable[[str], Shell], name: str) -> None:
    """A capability and channels are made where the host has them, and a second run changes none."""
    run = shell(name)
    assert not run.scene.host.has(CAPABILITY)
    text = run(*IMEX)
    assert run.scene.host.device(CAPABILITY).number == (511, 4323)
    channels = [f"/dev/nvidia-caps-imex-channels/channel{number}" for number in (0, 5, 6)]
    assert [run.scene.host.device(path).number for path in channels] == [
        (510, 0),
        (510, 5),
        (510, 6),
    ]
    assert "      host  /dev/nvidia-caps (HOST)\n" in text
    assert f"\n4 created\n  - created {CAPABILITY} c 511:4323 0400 0:0\n" in text
    assert "\n4 unchanged\n" in run(*IMEX)


def test_every_kind_of_node(shell: Callable[[str], Shell]) -> None:
    """Control nodes, GPUs and all the channels that the driver has can be had at once."""
    run = shell("talos")
    everything = ("--control", "--gpus", *IMEX[:2], "--imex-channels", "all")
    run.scene.host.remove("/dev/nvidia0")
    run.scene.host.remove("/dev/nvidiactl")
    report = run.document(*everything)["report"]
    assert report["counts"] == {"created": 2051, "unchanged": 3}
    paths = [outcome["path"] for outcome in report["outcomes"]]
    assert paths[:6] == [
        "/dev/nvidiactl",
        "/dev/nvidia-modeset",
        "/dev/nvidia-uvm",
        "/dev/nvidia-uvm-tools",
        "/dev/nvidia0",
        CAPABILITY,
    ]
    assert run.scene.host.device("/dev/nvidia0").number == (195, 0)
    assert "\n2054 unchanged\n" in run(*everything)


def test_a_private_dev_is_refused(shell: Callable[[str], Shell]) -> None:
    """Where the host would not see the nodes none is made, and it is told as by ``explain``."""
    run = shell("gke")
    text = run("--fallback", "root", *IMEX, expected=3)
    assert not run.scene.container.has(CAPABILITY)
    assert "\nDev root      /\nVerdict       PRIVATE: " in text
    assert "What would help: mount this in the pod, for --fallback host-dev:/host-dev:\n" in text
    assert text.endswith(
        "\nNothing was made: the verdicts to accept are HOST, DECLARED, see --accept.\n"
    )
    document = run.document("--fallback", "root", *IMEX, expected=3)
    assert (document["status"], document["report"]) == ("refused", None)
    assert document["accept"] == ["host", "declared"]
    assert [place["accepted"] for place in document["places"]] == [False, False]


def test_no_dev_root(shell: Callable[[str], Shell]) -> None:
    """Without a dev root there is nowhere to make a node."""
    run = shell("gke")
    text = run("--fallback", "host-dev:/none", *IMEX, expected=3)
    assert text.endswith("\nNothing was made: there is no dev root.\n")
    document = run.document("--fallback", "host-dev:/none", *IMEX, expected=3)
    assert (document["status"], document["places"]) == ("refused", [])


def test_other_verdicts_can_be_accepted(shell: Callable[[str], Shell]) -> None:
    """Whoever says that a private place will do has the nodes there."""
    run = shell("gke")
    document = run.document("--fallback", "root", "--accept", "unknown,private", *IMEX)
    assert run.scene.container.device(CAPABILITY).number == (511, 4323)
    assert not run.scene.host.has(CAPABILITY)
    assert document["accept"] == ["unknown", "private"]
    assert document["explanation"]["accepted"]
    assert document["explanation"]["candidates"][1]["state"] == "taken"


@pytest.mark.parametrize(
    ("arguments", "taken"),
    [
        (["--fallback", "root", "--fallback", SUBSET], "root"),
        (["--fallback", SUBSET, "--fallback", "root"], SUBSET),
        (["--driver-root", "/:/", "--fallback", SUBSET], "driver-root"),
    ],
)
def test_the_first_accepted_one_is_taken(
    shell: Callable[[str], Shell], arguments: list[str], taken: str
) -> None:
    """What is accepted decides also which dev root is taken, and after it none is asked."""
    run = shell("gke")
    document = run.document(*arguments, "--accept", "host,private", *IMEX)
    states = {one["asked"]: one["state"] for one in document["explanation"]["candidates"]}
    asked = list(states)
    assert [one for one in asked if states[one] == "taken"] == [taken]
    assert {states[one] for one in asked[asked.index(taken) + 1 :]} <= {"not-asked"}
    assert run.scene.host.has(CAPABILITY) == (taken == SUBSET)


def test_a_proof_can_be_asked_for(shell: Callable[[str], Shell]) -> None:
    """Fewer verdicts can be accepted as well: what is only declared is then refused."""
    run = shell("kind")
    run.scene.container.tmpfs("/aside")
    arguments = ("--control", "--fallback", "host-dev")
    assert run.document(*arguments, "--accept", "host", expected=3)["status"] == "refused"


def test_the_place_of_the_node_counts(shell: Callable[[str], Shell]) -> None:
    """A tmpfs over the directory of a node is told, although the dev root is the host's."""
    run = shell("talos")
    run.scene.container.tmpfs("/host-dev/dev/nvidia-caps")
    text = run(*IMEX, expected=3)
    assert text.startswith("/host-dev/dev/nvidia-caps is PRIVATE, because\n  - mount ")
    assert "channels is" not in text
    assert "Asked for a dev root" not in text
    assert "Accepted." not in text
    assert not run.scene.host.has("/dev/nvidia-caps-imex-channels/channel0")
    assert "\n3 created\n" in run("--imex-channels", "0-2")


def test_what_a_subset_does_not_show(shell: Callable[[str], Shell]) -> None:
    """Nodes outside it fail with the reason, and the others are made; every one is listed."""
    run = shell("gke")
    text = run("--control", "--imex-channels", "0-29", expected=1)
    assert "  - /dev/nvidiactl\n      outside the subset that this dev root shows\n" in text
    assert "\n30 created, 4 failed\n  - failed /dev/nvidiactl c 195:255 0666 0:0\n" in text
    assert text.count("  - created ") == 30
    document = run.document("--control", expected=1)
    assert document["status"] == "failed"
    assert document["places"][0] == {
        "accepted": True,
        "device_path": "/dev/nvidiactl",
        "container_path": None,
        "reach": None,
    }


def test_nothing_outside_a_subset_that_is_not_accepted(shell: Callable[[str], Shell]) -> None:
    """A subset whose reach is not accepted is refused, also for nodes that it does not show."""
    arguments = ("--fallback", "subset:/:nvidia-caps", "--accept", "host", "--control")
    document = shell("kind").document(*arguments, expected=3)
    assert document["explanation"]["dev_root"]["names"] == ["/dev/nvidia-caps"]
    assert [place["accepted"] for place in document["places"]] == [False] * 4


def test_a_dry_run_changes_nothing(shell: Callable[[str], Shell]) -> None:
    """It says what a run would do, failures included."""
    run = shell("gke")
    text = run(*IMEX, "--dry-run")
    assert "\nDry run, nothing was changed: 4 created\n" in text
    assert not run.scene.host.has(CAPABILITY)
    assert run.document("--control", "--dry-run", expected=1)["report"]["dry_run"]


@pytest.mark.parametrize(
    ("choice", "status", "result"),
    [("repair", 0, "repaired"), ("keep", 0, "kept"), ("error", 1, "failed")],
)
def test_something_else_at_the_name(
    shell: Callable[[str], Shell], choice: str, status: int, result: str
) -> None:
    """What happens to it is a choice, and it is told even among many nodes."""
    run = shell("gke")
    run.scene.host.file(CAPABILITY)
    text = run(*IMEX[:2], "--imex-channels", "0-29", "--on-conflict", choice, expected=status)
    assert f"  - {result} {CAPABILITY} c 511:4323 0400 0:0\n      type" in text
    assert text.count("  - created ") == (30 if status else 0)
    found = run.scene.host.device(CAPABILITY) if choice == "repair" else None
    assert found is None or found.number == (511, 4323)


def test_withheld_nodes(shell: Callable[[str], Shell]) -> None:
    """What the driver wants nobody to make is left, unless it is asked for."""
    run = shell("gke")
    assert isinstance(run.scene.host, FakeHost)
    run.scene.host.nvidia_driver(imex_channels=2048, modify_device_files=False, nodes=False)
    channel = "/dev/nvidia-caps-imex-channels/channel7"
    text = run("--imex-channels", "7")
    assert f"\n1 withheld\n  - withheld {channel} c 510:7 0666 0:0\n      " in text
    assert not run.scene.host.has(channel)
    report = run.document("--imex-channels", "7", "--touch-withheld")["report"]
    assert report["counts"] == {"created": 1}
    assert run.scene.host.device(channel).number == (510, 7)


def test_what_is_left_behind_is_told(
    shell: Callable[[str], Shell],
) -> None:
    """A working directory that cannot be removed is in the text and in the document."""
    run = shell("gke")
    files = run.scene.container.filesystem
    files.fail("remove_directory", errno.EIO, times=100)
    assert "\n  - left behind: /host-dev/dev/nvidia-caps" in run(*IMEX[:2])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "mknod needs --control, --gpus, --capability NAME, --imex-channels RANGE, --subsyst"),
        (["--vendor", "mellanox"], "'mellanox': write a number such as 0x15b3"),
        (["--imex-channels", "3-1"], "'3-1': write all, or numbers and ranges up to 1048575"),
        (["--imex-channels", "1048576"], "'1048576': write all"),
        (["--imex-channels", "-1"], "'-1': write all"),
        (["--imex-channels", "1--2"], "'1--2': write all"),
        (["--imex-channels", "4-"], "'4-': write all"),
        (["--imex-channels", "1,"], "'1,': write all"),
        (["--imex-channels", "²"], "'²': write all"),
        (["--imex-channels", "9" * 5000], "write all"),
        (["--accept", "maybe"], "'maybe': write verdicts with commas between: host, declared"),
        (["--on-conflict", "force"], "invalid choice: 'force'"),
    ],
)
def test_bad_arguments(capsys: pytest.CaptureFixture[str], arguments: list[str], said: str) -> None:
    """What cannot be understood is shown with what would be right, and nothing is made."""
    with pytest.raises(SystemExit) as stop:
        main(["mknod", "--scenario", "gke", *arguments])
    assert stop.value.code == 2
    assert said in capsys.readouterr().err


def test_a_driver_root_is_needed(capsys: pytest.CaptureFixture[str]) -> None:
    """It is told which command wants it."""
    with pytest.raises(SystemExit):
        main(["mknod", "--control"])
    assert "mknod needs --driver-root HOST:CONTAINER, or --sc" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("gke", ["--imex-channels", "2048"], "the IMEX channels are 0 to 2047: "),
        ("gke", ["--capability", "nonsense"], "the driver has no capability 'nonsense'"),
        ("gke", ["--capability", "../x"], "'../x' cannot be a capability"),
        ("wsl", ["--control"], "is the kernel module nvidia loaded?"),
    ],
)
def test_what_the_driver_does_not_have(
    capsys: pytest.CaptureFixture[str], name: str, arguments: list[str], said: str
) -> None:
    """It is one text on the standard error and exit status 2, and nothing is made."""
    assert main(["mknod", "--scenario", name, *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert said in captured.err


class Terminal(StringIO):
    """A terminal that remembers what was written."""

    def isatty(self) -> bool:
        """Return that it is one."""
        return True


def test_many_nodes_show_progress(
    monkeypatch: pytest.MonkeyPatch, shell: Callable[[str], Shell]
) -> None:
    """On a terminal it counts up and is erased at the end; the report is the same."""
    quiet = shell("gke").document("--imex-channels", "all")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    assert shell("gke").document("--imex-channels", "all") == quiet
    counts = list(map(int, re.findall(r"(\d+) of 2048 device nodes", terminal.getvalue())))
    assert counts[0] == 0
    assert counts == sorted(counts)
    assert len(counts) == 20
    assert terminal.getvalue().endswith("\r\x1b[K")


@pytest.mark.parametrize("stream", [None, StringIO(), Terminal()])
def test_nothing_to_wait_for(stream: StringIO | None) -> None:
    """Few nodes show no progress, and many show none where no terminal is."""
    few = range(MANY - 1)
    assert list(in_steps(few, what="", stream=stream)) == [few]
    if not isinstance(stream, Terminal):
        many = range(MANY)
        assert list(in_steps(many, what="", stream=stream)) == [many]
    assert stream is None or stream.getvalue() == ""


def test_options_are_documented(capsys: pytest.CaptureFixture[str]) -> None:
    """The reference has each option, and no other."""
    explain, mknod = REFERENCE.read_text(encoding="utf-8").split("\n## mknod\n")
    with pytest.raises(SystemExit):
        main(["mknod", "--help"])
    options = set(re.findall(r"--[a-z-]+", capsys.readouterr().out)) - {"--help"}
    own = set(re.findall(r"^\| `(--[a-z-]+)[ `]", mknod, re.MULTILINE))
    assert own <= options
    assert options - own <= set(re.findall(r"`(--[a-z-]+)`", mknod))
    assert options - own <= set(re.findall(r"^\| `(--[a-z-]+)[ `]", explain, re.MULTILINE))


def test_a_node_that_only_this_container_sees_is_no_success(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A right node that is mounted on its single name is not the host's, whatever its directory."""
    host = FakeHost()
    host.devtmpfs()
    host.nvidia_driver("/drv", imex_channels=2)
    directory = "nvidia-caps-imex-channels"
    pod = host.container(
        mounts=["/drv:/driver-root:ro", "/dev:/host-dev/dev"], host_pid=True, host_mountinfo=True
    )
    for number in range(2):
        host.device(f"/dev/{directory}/channel{number}", major=510, minor=number)
    pod.tmpfs("/scratch")
    pod.device("/scratch/c0", major=510, minor=0)
    host.remove(f"/dev/{directory}/channel0")
    host.file(f"/dev/{directory}/channel0")
    pod.bind("/scratch/c0", f"/host-dev/dev/{directory}/channel0")
    monkeypatch.setattr("devroot._view.LocalFileSystem", lambda: pod.filesystem)
    where = ("--driver-root=/drv:/driver-root", "--fallback=host-dev:/host-dev")
    command = ["mknod", *where, "--host-mountinfo=/proc/1/mountinfo", "--imex-channels=0-1"]

    assert main(command) == 1
    text = capsys.readouterr().out
    assert "1 failed, 1 unchanged" in text or "1 unchanged, 1 failed" in text
    assert f"  - failed /dev/{directory}/channel0 c 510:0 0666 0:0\n" in text


def test_one_node_for_each_path() -> None:
    """A path that the driver and the kernel both have is made once, with the driver's mode."""
    driver = DeviceNode(path="nvidia0", major=195, minor=0, mode=0o660)
    kernel = DeviceNode(path="nvidia0", major=195, minor=0, mode=0o600)
    other = DeviceNode(path="nvidia1", major=195, minor=1)
    assert _with_those_of_kernel([driver], [kernel, other]) == (driver, other)
    for wrong in (attrs.evolve(kernel, minor=9), attrs.evolve(kernel, type="b")):
        with pytest.raises(InvalidNodeError, match="sysfs says so of /dev/nvidia0, and the driver"):
            _with_those_of_kernel([driver], [wrong])
