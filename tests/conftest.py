"""What all tests share: profiles for Hypothesis, where devroot comes from, what needs root."""

from __future__ import annotations

import functools
import os
import subprocess
from pathlib import Path

import hypothesis
import pytest

import devroot
from tests import _openat2

IN_CI = os.environ.get("CI") == "true"
KERNEL = pytest.StashKey[str]()

# Examples are counted, never timed: a slow machine must not fail a test.
_common = hypothesis.settings(deadline=None, print_blob=True)
hypothesis.settings.register_profile("dev", _common, max_examples=50)
hypothesis.settings.register_profile(
    "ci", _common, max_examples=50, derandomize=True, database=None
)
hypothesis.settings.register_profile("long", _common, max_examples=2000)
hypothesis.settings.load_profile(
    os.environ.get("DEVROOT_HYPOTHESIS_PROFILE", "ci" if IN_CI else "dev")
)


def pytest_configure(config: pytest.Config) -> None:
    """Refuse to test the working tree where the installed wheel is meant, and openat2 if told."""
    place = Path(devroot.__file__)
    if os.environ.get("DEVROOT_EXPECT_INSTALLED") == "1" and "site-packages" not in place.parts:
        message = f"the installed devroot is to be tested, but {place} was imported"
        raise pytest.UsageError(message)

    config.stash[KERNEL] = _openat2.obey()


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Say which devroot is tested, and what the kernel is made to refuse."""
    place = f"devroot: {Path(devroot.__file__).parent} ({devroot.__version__})"
    return [place, *filter(None, [config.stash[KERNEL]])]


@functools.cache
def _why_no_kernel_tests() -> str:
    """Return why this process cannot make mount namespaces; empty if it can."""
    if os.geteuid() != 0:
        return "needs root"
    command = ["unshare", "--mount", "--pid", "--fork", "--mount-proc", "true"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return "needs unshare, from util-linux"
    return f"cannot make a mount namespace: {done.stderr.strip()}" if done.returncode else ""


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip tests of the real kernel where it does not permit them; in CI that is a failure."""
    if item.get_closest_marker("kernel") and (reason := _why_no_kernel_tests()):
        if IN_CI:
            pytest.fail(f"CI runs the tests on the real kernel, but this {reason}", pytrace=False)
        pytest.skip(reason)
