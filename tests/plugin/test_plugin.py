"""The pytest plugin: its fixtures, and what it costs those who do not use them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import devroot
from devroot.testing import FakeHost, pytest_plugin, scenario

if TYPE_CHECKING:
    from collections.abc import Callable

    from devroot.testing import Scenario

fake_host = pytest_plugin.fake_host
devroot_scenario = pytest_plugin.devroot_scenario

PYPROJECT = Path(__file__).parent.parent.parent / "pyproject.toml"


def test_fake_host(fake_host: FakeHost) -> None:
    """The fixture is a new host."""
    assert isinstance(fake_host, FakeHost)
    assert fake_host.containers == []


def test_scenario(devroot_scenario: Callable[[str], Scenario]) -> None:
    """The fixture gives scenes by name."""
    assert devroot_scenario("kind").title == scenario("kind").title


def test_the_plugin_is_light() -> None:
    """Loading the plugin loads no room of the package, and not even attrs."""
    programme = (
        "import pytest, sys\n"
        "before = set(sys.modules)\n"
        "import devroot.testing.pytest_plugin\n"
        "print(sorted(name for name in set(sys.modules) - before))"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(devroot.__file__).parent.parent)}
    done = subprocess.run(
        [sys.executable, "-c", programme], env=environment, capture_output=True, check=True
    )
    assert done.stdout.decode().strip() == str(
        ["devroot", "devroot.testing", "devroot.testing.pytest_plugin"]
    )


def test_the_plugin_is_announced() -> None:
    """Pytest finds the plugin by the package's entry point."""
    text = PYPROJECT.read_text("utf-8")
    assert '[project.entry-points.pytest11]\ndevroot = "devroot.testing.pytest_plugin"\n' in text
