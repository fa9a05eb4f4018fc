"""The tutorial as root: its plugin makes its node on a host of real namespaces."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests._pages import Page, shows, walk

pytestmark = pytest.mark.kernel

TUTORIAL = Page("docs/tutorial/first-plugin.md")
PLACES = ("/dev/nvidia-caps-imex-channels", "/driver-root", "/home/kubernetes", "/host-dev")


def traces() -> tuple[str, list[str], list[str]]:
    """Return what the programme would change on the machine, if it changed anything."""
    mounts = Path("/proc/self/mountinfo").read_text(errors="surrogateescape")
    places = [f"{root}{path}" for root in ("", "/mnt") for path in PLACES]
    return mounts, sorted(os.listdir("/mnt")), [*filter(os.path.lexists, places)]


def test_the_plugin_in_real_namespaces(tmp_path: Path) -> None:
    """Who follows the page to its end sees the node on the host, and no trace stays of it."""
    before = traces()
    as_root = 0
    for command, shown, printed in walk(TUTORIAL, tmp_path, as_root=True):
        assert shows(shown, printed), f"{command}:\n{printed}"
        as_root += command.startswith("sudo ")
    assert as_root == 1
    assert traces() == before
