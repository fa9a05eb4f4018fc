"""The cases of real containers, run by the same tests on fake ones: the verdicts are the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest

from tests._fake_places import FakeRoom
from tests.kernel import test_cases
from tests.kernel.test_cases import (
    Setting,
    test_a_own_dev_is_private,
    test_b_host_dev_over_dev,
    test_c_elsewhere_stays_elsewhere,
    test_c_subset_aside,
    test_e2_host_root_without_its_mounts,
    test_e_host_root_with_its_mounts,
    test_f_says_what_is_missing,
    test_f_takes_the_subset,
    test_n_a_in_a_node,
    test_n_b_in_a_node,
    test_n_c_in_a_node,
    test_o_driver_container,
    test_p_privileged_snapshot,
    test_read_only_is_per_mount,
    test_read_only_subset_is_told,
    test_s_stale_subset,
    test_single_device_file,
)

if TYPE_CHECKING:
    from tests._fake_places import FakePlace
    from tests.kernel._harness import Host

__all__ = [
    "test_a_own_dev_is_private",
    "test_b_host_dev_over_dev",
    "test_c_elsewhere_stays_elsewhere",
    "test_c_subset_aside",
    "test_e2_host_root_without_its_mounts",
    "test_e_host_root_with_its_mounts",
    "test_f_says_what_is_missing",
    "test_f_takes_the_subset",
    "test_n_a_in_a_node",
    "test_n_b_in_a_node",
    "test_n_c_in_a_node",
    "test_o_driver_container",
    "test_p_privileged_snapshot",
    "test_read_only_is_per_mount",
    "test_read_only_subset_is_told",
    "test_s_stale_subset",
    "test_single_device_file",
]


@pytest.fixture(autouse=True)
def fake_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the tests that start a host themselves start a fake one."""
    monkeypatch.setattr(test_cases, "Host", FakeRoom)


@pytest.fixture(params=["tmpfs", "devtmpfs"])
def setting(request: pytest.FixtureRequest) -> Setting:
    """Give a fake host whose ``/dev`` is a tmpfs, and one with devtmpfs."""
    real = request.param == "devtmpfs"
    host = FakeRoom(dev="real" if real else "private")
    host.make_directory(path="/dev/nvidia-caps")
    return Setting(cast("Host", host), "nvidia-caps", real)


@pytest.fixture
def node() -> tuple[FakePlace, FakePlace]:
    """Give a fake container that is a host itself, as in kind, and the fake host it runs on."""
    host = FakeRoom()
    container = host.container(nests=True)
    container.make_directory(path="/dev/nvidia-caps")
    return host, container


def test_every_case_is_run() -> None:
    """No case of the real containers is left out here."""
    assert {name for name in vars(test_cases) if name.startswith("test_")} <= set(globals())
