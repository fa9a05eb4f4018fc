"""The fake host and the real kernel give the same answers to the same programme."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import (
    run_state_machine_as_test,  # pyright: ignore[reportUnknownVariableType] - not annotated there
)

from devroot.testing._rights import ROOT
from tests._children import in_child
from tests.differential._programme import Programme, Real, self_check

pytestmark = [pytest.mark.kernel, pytest.mark.property]

PROGRAMMES = int(os.environ.get("DEVROOT_DIFFERENTIAL_PROGRAMMES", "30"))
STEPS = 30


def test_the_fake_agrees_with_the_kernel() -> None:
    """No random programme of thirty steps tells the fake host from the real kernel.

    Give a number of programmes in ``DEVROOT_DIFFERENTIAL_PROGRAMMES`` for a longer run.
    """

    def run() -> None:
        self_check()
        Programme.real = Real()
        run_state_machine_as_test(
            Programme,
            settings=settings(
                max_examples=PROGRAMMES,
                stateful_step_count=STEPS,
                suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
            ),
        )

    in_child(run)


def test_a_master_that_is_out_of_sight() -> None:
    """Of a slave whose master it does not see, a table names the group beyond it, as here."""

    def run() -> None:
        Programme.real = Real()
        programme = Programme()
        programme.start("", (0o755, 0o755), ROOT)
        programme.propagation("host", 0, "shared", recursive=False)
        programme.bind("host", "", "a", recursive=False)
        programme.propagation("host", 1, "slave", recursive=False)
        programme.propagation("host", 1, "shared", recursive=False)
        programme.bind_across("", "a", recursive=False)
        programme.bind_across("a", "b", recursive=False)
        programme.propagation("container", 2, "slave", recursive=False)
        programme.tables_agree()
        table = programme.fake.machines["container"].mountinfo()
        programme.teardown()
        assert " propagate_from:" in table

    in_child(run)
