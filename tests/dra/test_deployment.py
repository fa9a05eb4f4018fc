"""The manifest of the worked example, and that its page shows what its files have."""

from __future__ import annotations

import json
import re
import runpy
from typing import Any

import pytest

from devroot import kubernetes
from tests import _kubernetes
from tests.dra._example import DOCS, EXAMPLE, deployment

PAGE = (DOCS / "how-to/write-a-dra-driver.md").read_text("utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def items(capsys: pytest.CaptureFixture[str]) -> dict[str, dict[str, Any]]:
    """Return what the programme prints for kubectl, by the kind of object."""
    runpy.run_path(str(EXAMPLE / "deployment.py"), run_name="__main__")
    found = json.loads(capsys.readouterr().out)
    return {item["kind"]: item for item in found["items"]}


def test_the_manifest_is_valid(capsys: pytest.CaptureFixture[str]) -> None:
    """Kubernetes takes all of it, the new kind of object where it is known."""
    found = items(capsys)
    assert [*found] == [
        "ServiceAccount",
        "ClusterRole",
        "ClusterRoleBinding",
        "DeviceClass",
        "DaemonSet",
    ]
    _kubernetes.validate(found.pop("DeviceClass"), versions=_kubernetes.VERSIONS[1:])
    for item in found.values():
        _kubernetes.validate(item)


def test_the_manifest_lets_nodes_reach_the_host(capsys: pytest.CaptureFixture[str]) -> None:
    """It has no problem that is known, and starts on a node where nothing is yet but a driver."""
    manifest = items(capsys)["DaemonSet"]
    assert kubernetes.check(manifest, driver_root=deployment.DRIVER_ROOT.host) == ()
    volumes = manifest["spec"]["template"]["spec"]["volumes"]
    sources = [volume["hostPath"] for volume in volumes]
    assert [one["path"] for one in sources if one.get("type") != "DirectoryOrCreate"] == [
        "/home/kubernetes/bin/example",
        "/proc",
    ]


def lines(text: str) -> str:
    """Return the lines of a text without their indentation."""
    return "\n".join(line.strip() for line in text.strip().splitlines())


@pytest.mark.parametrize("block", BLOCKS)
def test_the_page_shows_the_files(block: str) -> None:
    """Each programme of the page stands like that in one of the two files."""
    files = [path.read_text("utf-8") for path in sorted(EXAMPLE.glob("*.py"))]
    assert len(files) == 2
    assert any(lines(block) in lines(file) for file in files)
