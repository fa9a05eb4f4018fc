"""``python -m devroot``: arguments, exit status and what is printed."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import devroot
from devroot.__main__ import main
from devroot.testing import FakeHost, FakeUdev, scenario

if TYPE_CHECKING:
    from collections.abc import Callable

    Run = Callable[..., tuple[int, str, str]]

SUBSET = "subset:/host-dev:nvidia-caps,nvidia-caps-imex-channels"
LONGEST = 80


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Return a function that runs the programme here: exit status, output and error output."""

    def run(*argv: str) -> tuple[int, str, str]:
        try:
            status = main(argv)
        except SystemExit as stop:
            status = stop.code if isinstance(stop.code, int) else 1
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run


def as_programme(*argv: str, **options: Any) -> subprocess.CompletedProcess[str]:  # noqa: ANN401 - those of subprocess.run
    """Run the programme as a process of its own."""
    env = {**os.environ, "PYTHONPATH": str(Path(devroot.__file__).parent.parent)}
    return subprocess.run(
        [sys.executable, "-m", "devroot", *argv],
        env=env,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        **options,
    )


def test_root_fallback_is_not_accepted(run: Run) -> None:
    """The fallback ``/`` of the scenario is told as the bug that it is, with a way out."""
    status, out, err = run("explain", "--scenario", "gke", "--fallback", "root")
    assert (status, err) == (3, "")
    assert (
        out
        == """\
Driver root   /driver-root, on the host /home/kubernetes/bin/nvidia
Mounts        6 given
Host's table  granted

Asked for a dev root:
  - driver-root: refused
      it has no dev directory
  - root: taken
      nothing better was found, but /dev is PRIVATE: the host's mount table
      shows this place at no host path

Dev root      /
Verdict       PRIVATE: what is made there stays in this container

/dev is PRIVATE, because
  - mount 2777 (tmpfs 0:313 / at /dev) serves /dev
  - the mounts that were asked for do not cover /dev
  - the host's mount table shows this place at no host path

Where device paths land:
  - /dev/nvidia-caps
      here  /dev/nvidia-caps
      host  nowhere (PRIVATE)

Not accepted.

What would help: mount this in the pod, for --fallback host-dev:/host-dev:
    volumeMounts:  # of the container
    - name: host-dev
      mountPath: /host-dev/dev
      mountPropagation: HostToContainer
    volumes:  # of the pod
    - name: host-dev
      hostPath:
        path: /dev
        type: Directory
"""
    )


def test_subset_fallback_is_accepted(run: Run) -> None:
    """The subset of the scenario reaches the host, and each of its names says where."""
    status, out, err = run("explain", "--scenario", "gke", "--fallback", SUBSET)
    assert (status, err) == (0, "")
    assert f"  - {SUBSET}: taken\n" in out
    assert "Dev root      /host-dev (only /dev/nvidia-caps, " in out
    assert "\nVerdict       HOST: proved: the host sees what is made there\n" in out
    assert (
        "  - /dev/nvidia-caps-imex-channels\n"
        "      here  /host-dev/dev/nvidia-caps-imex-channels\n"
        "      host  /dev/nvidia-caps-imex-channels (HOST)\n"
    ) in out
    assert out.endswith("\n\nAccepted.\n")


def test_scenario_brings_its_fallback(run: Run) -> None:
    """Without a fallback the scenario's own is explained."""
    given = run("explain", "--scenario", "gke", "--fallback", SUBSET)
    assert run("explain", "--scenario", "gke") == given


def test_demo_shows_both(run: Run) -> None:
    """The demo has the two explanations in it, word for word, and fits a terminal."""
    status, out, err = run("demo")
    assert (status, err) == (0, "")
    for fallback in ("root", SUBSET):
        assert run("explain", "--scenario", "gke", "--fallback", fallback)[1] in out
    assert out.index("Not accepted.") < out.index("\nAccepted.")
    assert max(map(len, out.split("\n"))) <= LONGEST + 1


def test_fallbacks_are_asked_in_order(run: Run) -> None:
    """The first accepted one is taken, those before it say why not, those after are not asked."""
    status, out, _ = run(
        *("explain", "--scenario", "gke", "--json"),
        *("--fallback", "host-dev", "--fallback", "subset:/none:nvidia-caps"),
        *("--fallback", SUBSET, "--fallback", "root"),
    )
    assert status == 0
    states = {each["asked"]: each["state"] for each in json.loads(out)["candidates"]}
    assert states == {
        "driver-root": "refused",
        "host-dev": "refused",
        "subset:/none:nvidia-caps": "refused",
        SUBSET: "taken",
        "root": "not-asked",
    }


def test_no_dev_root(run: Run) -> None:
    """Where every fallback refuses there is no dev root, and each one's mounts are shown."""
    fallbacks = ("--fallback", "host-dev:/host", "--fallback", "subset:/aside:nvidia-caps,nvidia0")
    status, out, _ = run("explain", "--scenario", "gke", *fallbacks)
    assert status == 3
    assert "\nDev root      none\n\nNot accepted.\n" in out
    assert "Where device paths land" not in out
    assert out.endswith("""\
Or mount this in the pod, for --fallback subset:/aside:nvidia-caps,nvidia0:
    volumeMounts:  # of the container
    - name: host-dev-nvidia-caps
      mountPath: /aside/dev/nvidia-caps
      mountPropagation: HostToContainer
    - name: host-dev-nvidia0
      mountPath: /aside/dev/nvidia0
      mountPropagation: HostToContainer
    volumes:  # of the pod
    - name: host-dev-nvidia-caps
      hostPath:
        path: /dev/nvidia-caps
        type: DirectoryOrCreate
    - name: host-dev-nvidia0
      hostPath:
        path: /dev/nvidia0
""")
    document = json.loads(run("explain", "--scenario", "gke", "--json", *fallbacks)[1])
    assert (document["accepted"], document["dev_root"], document["reach"]) == (False, None, None)
    assert document["paths"] == []


def test_mounts_that_are_given_are_all(run: Run) -> None:
    """With ``--mount`` the scenario's own mounts do not count any more."""
    arguments = ("explain", "--scenario", "gke", "--json", "--mount", "/opt:/opt:ro")
    document = json.loads(run(*arguments)[1])
    assert document["mounts"] == [{"host": "/opt", "container": "/opt", "read_only": True}]
    (candidate,) = [each for each in document["candidates"] if each["asked"] == SUBSET]
    assert candidate["reach"]["evidence"][1]["code"] == "not-declared"


def test_outside_the_subset(run: Run) -> None:
    """A subset without ``nvidia-caps`` says that it does not show it."""
    fallback = "subset:/host-dev:nvidia-caps-imex-channels"
    status, out, _ = run("explain", "--scenario", "gke", "--fallback", fallback)
    assert status == 0
    assert "  - /dev/nvidia-caps\n      outside the subset that this dev root shows\n" in out
    document = json.loads(run("explain", "--scenario", "gke", "--fallback", fallback, "--json")[1])
    assert document["paths"][0] == {
        "device_path": "/dev/nvidia-caps",
        "container_path": None,
        "reach": None,
    }


def test_another_driver_root(run: Run) -> None:
    """A driver root that is given counts instead of the scenario's."""
    status, out, _ = run("explain", "--scenario", "gke", "--driver-root", "/:/host-dev")
    assert status == 0
    assert "Driver root   /host-dev, on the host /\n" in out
    assert "  - driver-root: refused\n      /host-dev/dev is PRIVATE: " in out


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        ([], "the following arguments are required: COMMAND"),
        (["explain"], "explain needs --driver-root HOST:CONTAINER, or --scenario NAME"),
        (["explain", "--driver-root", "/a"], "'/a': write HOST:CONTAINER"),
        (["explain", "--driver-root", "/a:/b:ro"], "'/a:/b:ro': write HOST:CONTAINER"),
        (["explain", "--driver-root", "a:/b"], "'a' cannot be a HostPath: it is relative"),
        (["explain", "--driver-root", "/a:/../b"], "'/../b' cannot be a ContainerPath"),
        (["explain", "--mount", "/a"], "mount '/a': write HOST:CONTAINER"),
        (["explain", "--host-mountinfo", "x"], "'x' cannot be a ContainerPath"),
        (["explain", "--proc", ""], "'' cannot be a ContainerPath: it is empty"),
        (["explain", "--scenario", "gce"], "invalid choice: 'gce'"),
        (["explain", "--fallback", "dev"], "'dev': write root, host-dev, host-dev:P or subset:P"),
        (["explain", "--fallback", "root:/"], "'root:/': write root, host-dev"),
        (["explain", "--fallback", "host-dev:/a:b"], "'host-dev:/a:b': write root"),
        (["explain", "--fallback", "host-dev:a"], "'a' cannot be a ContainerPath: it is relative"),
        (["explain", "--fallback", "subset:/a"], "'subset:/a': write root"),
        (["explain", "--fallback", "subset:/a:"], "'' cannot be a DevicePath"),
        (["explain", "--fallback", "subset:/a:../b"], "'/dev/../b' cannot be a DevicePath"),
        (["explain", "--fall", "root"], "unrecognized arguments: --fall root"),
    ],
)
def test_bad_arguments(run: Run, argv: list[str], said: str) -> None:
    """What cannot be understood is shown with what would be right, and nothing is done."""
    if argv and "--driver-root" not in argv and "--scenario" not in argv and len(argv) > 1:
        argv = [*argv, "--driver-root", "/a:/b"]
    status, out, err = run(*argv)
    assert (status, out) == (2, "")
    assert said in err


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["--driver-root", "/a:/none"], "devroot: /none: the driver root cannot be looked into"),
        (["--driver-root", "/a:/etc/hosts"], "ENOTDIR"),
        (["--driver-root", "/a:/driver-root"], "the driver root is said to be /a on the host"),
        (["--proc", "/none"], "devroot: /none/self/mountinfo: the mount table cannot be read"),
        (["--host-mountinfo", "/none"], "devroot: /none: the mount table cannot be read"),
        (["--host-mountinfo", "/proc/devices"], "devroot: mountinfo line 1: it has 2 of"),
    ],
)
def test_what_cannot_be_read(run: Run, argv: list[str], said: str) -> None:
    """An error of the library is one clear text and exit status 2."""
    status, out, err = run("explain", "--scenario", "gke", *argv)
    assert (status, out) == (2, "")
    assert said in err
    assert "Traceback" not in err


def test_an_error_of_the_kernel_is_a_text(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory that cannot be looked into is told as such."""

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", "/dev\udcff")

    monkeypatch.setattr("devroot._cli._commands.explain", refuse)
    status, out, err = run("explain", "--scenario", "gke")
    assert (status, out) == (2, "")
    assert err == "devroot: [Errno 13] Permission denied: '/dev\\udcff'\n"


def test_bytes_that_are_no_text_are_shown(run: Run) -> None:
    """A path that is not UTF-8 is printed with its bytes, whatever the terminal."""
    status, out, _ = run(
        "explain", "--scenario", "gke", "--fallback", "subset:/p\udcff:nvidia-caps"
    )
    assert status == 3
    assert "there is no directory /p\\xff/dev" in out
    assert "# mount '/dev/nvidia-caps:/p\\udcff/dev/nvidia-caps': a manifest is UTF-8" in out


def test_no_name_controls_the_terminal(run: Run) -> None:
    """What would move the cursor or change a colour is shown as text, in errors as well."""
    status, out, _ = run("explain", "--scenario", "gke", "--fallback", "host-dev:/p\x1b[2J\x9b")
    assert status == 3
    assert "there is no directory /p\\x1b[2J\\x9b/dev" in out
    assert not [letter for letter in out if letter != "\n" and not letter.isprintable()]
    status, _, err = run("explain", "--driver-root", "/a\x1b[2J:/none")
    assert status == 2
    assert "/a\\x1b[2J" in err


def test_version(run: Run) -> None:
    """``--version`` prints the version of the package."""
    assert run("--version") == (0, f"devroot {devroot.__version__}\n", "")


def test_help_has_the_exit_status(run: Run) -> None:
    """``--help`` says how fallbacks are written and what the exit status means."""
    status, out, _ = run("explain", "--help")
    assert status == 0
    assert "subset:P:NAME,NAME" in out
    assert "  3   it is not, or there is no dev root\n" in out


@pytest.mark.skipif(sys.platform != "linux", reason="reads the real /proc")
def test_this_process_can_be_explained() -> None:
    """The programme explains the process that runs it, and its exit status is its answer."""
    done = as_programme("explain", "--driver-root", "/:/", "--json", stdout=subprocess.PIPE)
    assert done.stderr == ""
    document = json.loads(done.stdout)
    assert (document["schema"], document["mounts"]) == (1, None)
    assert done.returncode == (0 if document["accepted"] else 3)


def test_a_reader_that_leaves_is_no_error() -> None:
    """Output that nobody reads any more ends the programme without a traceback."""
    read_end, write_end = os.pipe()
    os.close(read_end)
    try:
        done = as_programme("demo", stdout=write_end)
    finally:
        os.close(write_end)
    assert (done.returncode, done.stderr) == (141, "")


def test_nodes_that_the_dev_root_lacks(run: Run) -> None:
    """``--nodes`` counts those that the driver needs, and says which are not there."""
    status, out, _ = run("explain", "--scenario", "host-root", "--nodes")
    assert status == 0
    assert "\nNodes that CUDA needs of the NVIDIA driver: 4 of 4 are there for the host\n" in out
    assert "\nNodes of devices that the kernel lists in /sys: it cannot be told\n" in out
    assert "  - no device is listed there\n" in out
    status, out, _ = run("explain", "--scenario", "gke", "--nodes")
    assert (
        "\nNodes that CUDA needs of the NVIDIA driver: 0 of 4 are there for the host\n"
        "  - unknown: /dev/nvidiactl, /dev/nvidia-uvm, /dev/nvidia-uvm-tools,\n"
        "    /dev/nvidia0\n"
    ) in out
    document = json.loads(run("explain", "--scenario", "gke", "--nodes", "--json")[1])
    nvidia, kernel = document["nodes"]["nvidia"], document["nodes"]["kernel"]
    assert (nvidia["total"], len(nvidia["absent"]), nvidia["unknown"]) == (4, 4, [])
    assert {one["presence"] for one in nvidia["absent"]} == {"unknown"}
    assert (kernel["total"], kernel["absent"]) == (None, [])


def test_nodes_that_nobody_asked_for(run: Run) -> None:
    """Without ``--nodes`` nothing is said of them."""
    status, out, _ = run("explain", "--scenario", "gke")
    assert status == 0
    assert "CUDA" not in out
    assert json.loads(run("explain", "--scenario", "gke", "--json")[1])["nodes"] is None


def test_nodes_without_a_driver_or_a_dev_root(run: Run) -> None:
    """Where it cannot be told which nodes are missing, the reason is."""
    _, out, _ = run("explain", "--scenario", "wsl", "--nodes")
    assert "NVIDIA driver: it cannot be told\n  - /proc/driver/nvidia/params: is the kernel" in out
    _, out, _ = run("explain", "--scenario", "gke", "--fallback", "host-dev:/none", "--nodes")
    assert out.count(": it cannot be told\n  - there is no dev root to look into\n") == 2


def test_nodes_of_the_kernel(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Devices in sysfs are looked for too: ten names of a kind are shown, and the rest counted."""
    scene = scenario("talos")
    assert isinstance(scene.host, FakeHost)
    udev = FakeUdev(scene.host)
    for minor in range(12):
        udev.plug(f"/dev/disk{minor}", major=8, minor=minor, subsystem="block", type="b")
        scene.host.remove(f"/dev/disk{minor}")
    udev.plug("/dev/kfd", major=511, minor=0, subsystem="kfd")
    monkeypatch.setattr("devroot._cli._setting.scenario", {"talos": scene}.__getitem__)
    _, out, _ = run("explain", "--scenario", "talos", "--nodes")
    assert "lists in /sys: 1 of 13 are there for the host\n  - missing: /dev/disk0, /dev/" in out
    assert "/dev/disk7 and 2 more\n" in out
    kernel = json.loads(run("explain", "--scenario", "talos", "--nodes", "--json")[1])["nodes"]
    assert kernel["kernel"]["total"] == 13
    assert len(kernel["kernel"]["absent"]) == 12


def test_sysfs_that_cannot_be_read(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sysfs that refuses is a reason, and no end of the explanation."""
    scene = scenario("talos")
    assert isinstance(scene.host, FakeHost)
    FakeUdev(scene.host).plug("/dev/kfd", major=511, minor=0, subsystem="kfd")
    place = "/sys/devices/virtual/kfd/kfd/uevent"
    scene.filesystem.fail("read_bytes", errno.EACCES, path=place)
    monkeypatch.setattr("devroot._cli._setting.scenario", {"talos": scene}.__getitem__)
    status, out, _ = run("explain", "--scenario", "talos", "--nodes")
    assert status == 0
    assert "in /sys: it cannot be told\n  - [Errno 13] Permission denied" in out
