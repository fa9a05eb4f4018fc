"""The command ``devices``, on the files of a fake container."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from devroot.__main__ import main
from devroot._cli._arguments import parse

if TYPE_CHECKING:
    from devroot.testing import FakeContainer, FakeHost, FakeUdev

REFERENCE = Path(__file__).parent.parent.parent.parent / "docs/reference/udev.md"
SUBSET = "subset:/host-dev:infiniband"
MOUNT = "/dev/infiniband:/host-dev/dev/infiniband"


@pytest.fixture(autouse=True)
def in_pod(monkeypatch: pytest.MonkeyPatch, pod: FakeContainer) -> None:
    """Let the command run in the container."""
    monkeypatch.setattr("devroot._view.LocalFileSystem", lambda: pod.filesystem)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Return what the command prints."""
    assert main(["devices", *arguments]) == 0
    return capsys.readouterr().out


def documented(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    """Return the document that the command prints."""
    return cast("dict[str, Any]", json.loads(run(capsys, "--json", *arguments)))


def test_devices_with_their_places(capsys: pytest.CaptureFixture[str], host: FakeHost) -> None:
    """Each device has its number, what it belongs to, and its places here and on the host."""
    host.remove("/dev/infiniband/rdma_cm")
    names = ("--name", "infiniband/*", "--name", "kfd")
    assert run(capsys, "--fallback", SUBSET, "--mount", MOUNT, *names) == (
        "Dev root   /host-dev (only /dev/infiniband)\n"
        "Devices    3\n"
        "\n"
        "/dev/infiniband/rdma_cm c 10:120 0666 0:0 misc\n"
        "  here  /host-dev/dev/infiniband/rdma_cm (missing)\n"
        "  host  /dev/infiniband/rdma_cm (HOST)\n"
        "\n"
        "/dev/infiniband/uverbs0 c 231:192 0666 0:0 infiniband_verbs mlx5_core 0000:3b:00.0\n"
        "  here  /host-dev/dev/infiniband/uverbs0 (ok)\n"
        "  host  /dev/infiniband/uverbs0 (HOST)\n"
        "\n"
        "/dev/kfd c 511:0 0600 0:0 kfd\n"
        "  outside the subset that this dev root shows\n"
    )


def test_the_containers_own_dev(capsys: pytest.CaptureFixture[str], pod: FakeContainer) -> None:
    """By default it is looked into, and the host does not have what is there."""
    pod.device("/dev/kfd", major=511, minor=0)
    text = run(capsys, "--mount", MOUNT, "--subsystem", "kfd")
    assert text.endswith("  here  /dev/kfd (private)\n  host  nowhere (PRIVATE)\n")
    assert text.startswith("Dev root   /\nDevices    1\n")


def test_what_nobody_knows(capsys: pytest.CaptureFixture[str]) -> None:
    """Without the mounts it cannot be told where the container's own ``/dev`` is."""
    assert "  host  nobody knows (UNKNOWN)\n" in run(capsys, "--driver", "sd")


def test_what_is_hidden_is_told(
    capsys: pytest.CaptureFixture[str], udev: FakeUdev, pod: FakeContainer
) -> None:
    """A list that may not be whole says so."""
    assert udev.unknown == ()
    pod.tmpfs("/sys/dev")
    text = "tmpfs is mounted over /sys/dev"
    assert run(capsys) == f"Dev root   /\nDevices    0\nUnknown    {text}\n"
    assert documented(capsys)["unknown"] == [text]


def test_another_sysfs(capsys: pytest.CaptureFixture[str], pod: FakeContainer) -> None:
    """Its root is an option."""
    pod.bind("/sys", "/host-sys")
    pod.tmpfs("/sys")
    assert "Devices    0\n" in run(capsys)
    assert "Devices    6\n" in run(capsys, "--sysfs", "/host-sys")


def test_the_document(capsys: pytest.CaptureFixture[str]) -> None:
    """It has the same answers, with numbers as numbers and modes in octal."""
    document = documented(capsys, "--fallback", SUBSET, "--vendor", "0x15b3", "--mount", MOUNT)
    assert document["schema"] == 1
    assert document["dev_root"] == {
        "container": "/host-dev",
        "dev": "/host-dev/dev",
        "names": ["/dev/infiniband"],
    }
    assert document["unknown"] == []
    assert document["devices"] == [
        {
            "path": "/dev/infiniband/uverbs0",
            "type": "c",
            "major": 231,
            "minor": 192,
            "mode": "0666",
            "uid": 0,
            "gid": 0,
            "mode_known": True,
            "subsystem": "infiniband_verbs",
            "driver": "mlx5_core",
            "sysfs_path": "/devices/pci0000:3b/0000:3b:00.0/infiniband_verbs/uverbs0",
            "pci": {"address": "0000:3b:00.0", "vendor": "0x15b3", "product": "0x1017"},
            "presence": "ok",
            "reason": "",
            "container_path": "/host-dev/dev/infiniband/uverbs0",
            "host_path": "/dev/infiniband/uverbs0",
            "verdict": "host",
        }
    ]


def test_the_document_without_places(capsys: pytest.CaptureFixture[str], host: FakeHost) -> None:
    """What is not known is null, and several fallbacks are asked in turn."""
    host.file("/sys/devices/pci0000:03/0000:03:00.0/uevent", "DRIVER=amdgpu\n")
    both = ("--fallback", "host-dev:/nowhere", "--fallback", SUBSET)
    document = documented(capsys, *both, "--name", "dri/card0")
    (device,) = document["devices"]
    assert document["dev_root"]["names"] == ["/dev/infiniband"]
    assert device["pci"] == {"address": "0000:03:00.0", "vendor": None, "product": None}
    assert (device["container_path"], device["host_path"], device["verdict"]) == (None,) * 3
    assert (device["presence"], device["mode_known"]) == ("unknown", False)
    (device,) = documented(capsys, "--name", "kfd")["devices"]
    assert (device["pci"], device["host_path"]) == (None, None)
    assert documented(capsys)["dev_root"]["names"] is None


@pytest.mark.parametrize("vendor", ["0x15b3", "0X15B3", "5555"])
def test_a_vendor_is_a_number(vendor: str) -> None:
    """It is hexadecimal with ``0x`` and decimal without."""
    assert parse(["devices", "--vendor", vendor], version="").vendor == 0x15B3


def test_a_vendor_that_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    """It is told what to write."""
    with pytest.raises(SystemExit):
        parse(["devices", "--vendor", "mellanox"], version="")
    assert "'mellanox': write a number such as 0x15b3" in capsys.readouterr().err


def test_what_cannot_be_read(capsys: pytest.CaptureFixture[str]) -> None:
    """It is one line on the standard error, and exit status 2."""
    assert main(["devices", "--proc", "/nowhere"]) == 2
    assert capsys.readouterr().err.startswith("devroot: /nowhere/self/mountinfo: ")


def test_options_are_documented(capsys: pytest.CaptureFixture[str]) -> None:
    """The reference names each option."""
    text = REFERENCE.read_text(encoding="utf-8")
    with pytest.raises(SystemExit):
        main(["devices", "--help"])
    options = set(re.findall(r"--[a-z-]+", capsys.readouterr().out))
    assert options - set(re.findall(r"--[a-z-]+", text)) == {"--help"}
