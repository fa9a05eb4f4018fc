"""The fake host and the real kernel give the same answers to the same programme."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import (
    run_state_machine_as_test,  # pyright: ignore[reportUnknownVariableType] - not annotated there
)

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
