"""Fixtures for pytest; loaded by it where devroot is installed, and by nothing else.

.. versionadded:: 0.1.0
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from devroot.testing import FakeHost, Scenario

__all__ = ["devroot_scenario", "fake_host"]


@pytest.fixture
def fake_host() -> FakeHost:
    """Return a new `FakeHost`: a host in memory, on which a test can start containers.

    .. versionadded:: 0.1.0
    """
    from devroot.testing import FakeHost  # noqa: PLC0415 - no test pays that does not ask for it

    return FakeHost()


@pytest.fixture
def devroot_scenario() -> Callable[[str], Scenario]:
    """Return what gives a new scene by its name: ``devroot_scenario("gke")``.

    .. versionadded:: 0.1.0
    """
    from devroot.testing import scenario  # noqa: PLC0415 - no test pays that does not ask for it

    return scenario
