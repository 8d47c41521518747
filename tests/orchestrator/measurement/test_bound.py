"""Bound of a trial, from its ceilings and the composition of a step."""

from __future__ import annotations

import pytest

from orchestrator.measurement.bound import Bound, ModelStep, Supply, bound_of


@pytest.mark.parametrize(
    ("loader_s", "transfer_ms", "compute_share", "bound"),
    [
        (1.1, 6.0, 0.4, Bound.LOADER),
        (0.9, 6.0, 0.4, Bound.TRANSFER),
        pytest.param(0.9, 6.0, 1.0, Bound.TRANSFER, id="a transfer does not compute"),
        (0.9, 1.0, 0.6, Bound.COMPUTE),
        (0.9, 1.0, 0.3, Bound.HOST),
        pytest.param(0.9, 1.0, None, Bound.COMPUTE, id="unknown is not the host"),
    ],
)
def test_the_larger_of_two_ceilings_binds_and_then_the_largest_part(
    loader_s: float, transfer_ms: float, compute_share: float | None, bound: Bound
) -> None:
    step = ModelStep(step_ms=10.0, transfer_ms=transfer_ms, compute_share=compute_share)
    assert bound_of(supply=Supply(loader_s=loader_s), model_s=1.0, step=step) is bound


@pytest.mark.parametrize(
    ("loader_s", "copy_s", "is_serial", "bound"),
    [
        (0.5, 1.1, False, Bound.TRANSFER),
        (1.2, 1.1, False, Bound.LOADER),
        (0.9, 0.9, False, Bound.COMPUTE),
        (0.6, 0.7, True, Bound.TRANSFER),
        (0.7, 0.6, True, Bound.LOADER),
        (0.4, 0.5, True, Bound.COMPUTE),
    ],
)
def test_copies_that_overlap_steps_bind_where_they_take_longer(
    loader_s: float, copy_s: float, is_serial: bool, bound: Bound
) -> None:
    supply = Supply(loader_s=loader_s, copy_s=copy_s, is_serial=is_serial)
    step = ModelStep(step_ms=10.0, transfer_ms=0.0, compute_share=1.0)
    assert bound_of(supply=supply, model_s=1.0, step=step) is bound
