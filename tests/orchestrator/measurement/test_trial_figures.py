"""Figures and tags from a recording."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

import pytest

from orchestrator.measurement import trial_figures as module
from orchestrator.measurement.blocks import Block, Epoch, Phase
from orchestrator.measurement.bound import Bound, bound_by_phases, bound_of
from orchestrator.measurement.trial_figures import (
    ALWAYS_UP_TO,
    PacedFigures,
    Recording,
    figures,
    verdicts,
)
from orchestrator.measurement.usage import NO_USAGE, Usage
from tests.orchestrator.measurement.fakes import context
from tests.orchestrator.measurement.made_blocks import blocks_from


def recording(blocks: Sequence[Block], **changes: Any) -> Recording:  # noqa: ANN401
    epoch = Epoch(index=0, begin_s=1.0, start_s=0.25, end_s=3.0)
    fields = {
        "context": context(), "blocks": blocks, "num_timed": 40, "epochs": [epoch], "memory": [],
        "num_epochs": 1, "num_steps": 40, "train_s": 2.0, "eval_s": None, "usage": NO_USAGE,
        "peak_gpu_bytes": None, "set_up_s": 1.0, "copied_s": None,
    }  # fmt: skip
    return Recording(**{**fields, **changes})


def steady(**phases: float) -> list[Block]:
    """Return one steady block of 40 steps in 2 s, its phases in seconds."""
    return [
        Block(
            epoch=0, first_step=1, num_steps=40, samples=400, duration_s=2.0, end=None,
            phases={Phase(name): seconds for name, seconds in phases.items()},
        )
    ]  # fmt: skip


def test_a_figure_that_was_not_measured_is_absent() -> None:
    found = figures(recording(steady(wait=0.5)))
    for name in ("eval_s", "peak_gpu_gib", "copy_ms", "forward_ms", "host_ms", "peak_pss_gib"):
        assert name not in found
    assert figures(recording([], epochs=[], num_epochs=0, num_steps=0)) == {"epochs": 0, "steps": 0}


def test_figures_are_those_of_the_recording() -> None:
    found = figures(recording(steady(wait=0.4), eval_s=3.0, peak_gpu_bytes=2**30, copied_s=0.08))
    assert found["samples_per_s"] == 200
    assert (found["step_ms"], found["wait_ms"]) == (50, 10)
    assert (found["epoch_s"], found["epoch_start_s"], found["first_epoch_s"]) == (2, 0.25, 2)
    assert (found["eval_s"], found["peak_gpu_gib"], found["copy_ms"]) == (3, 1, 2)


def test_usage_is_a_share_of_the_cores_and_of_the_cpu_time() -> None:
    usage = Usage(user_s=2.4, system_s=0.8, minor_faults=80)
    found = figures(recording(steady(wait=0.0), usage=usage, context=context(num_cores=2)))
    assert found["cpu_util"] == pytest.approx(3.2 / 2.0 / 2)
    assert found["system_time_share"] == pytest.approx(0.25)
    assert found["faults_per_step"] == 2


def test_more_processes_than_cores_are_oversubscribed() -> None:
    few = recording([], context=context(num_cores=2, num_workers=1))
    many = recording([], context=context(num_cores=2, num_workers=2))
    assert verdicts(few)["oversubscribed"] == "false"
    assert verdicts(many)["oversubscribed"] == "true"


def test_a_narrow_interval_is_called_narrow() -> None:
    assert verdicts(recording(blocks_from([[0.01] * 200])))["interval"] == "narrow"
    uneven = blocks_from([[0.01, 0.03] * 3 + [0.02, 0.05] * 3])
    assert verdicts(recording(uneven))["interval"] == "wide"


def seconds() -> Iterator[float]:
    """Each look at the clock is a second after the one before."""
    yield from map(float, count())


def test_figures_of_few_blocks_are_never_old() -> None:
    clock = seconds()
    reported = PacedFigures(lambda: next(clock))
    for number in (1, 2, 3):
        now = recording(steady(wait=0.1) * number)
        assert reported.of(now) == (figures(now), verdicts(now))


def test_figures_of_very_many_take_a_fiftieth_of_the_time() -> None:
    clock, many = seconds(), ALWAYS_UP_TO + 1
    reported = PacedFigures(lambda: next(clock))
    made = []
    for number in range(150):
        now = recording(
            steady(wait=0.1 + number / 1000) * many, num_steps=number, train_s=1.0 + number
        )
        found, _ = reported.of(now)
        assert (found["steps"], found["train_s"]) == (number, 1.0 + number), "never old"
        made.append(found["wait_ms"])
    assert len(set(made)) == 3, "each took a second, and the next came fifty seconds later"
    assert module.MAX_SHARE == 1 / 50


SERIAL = {"is_serial": True}


@pytest.mark.parametrize(
    ("parts", "bound"),
    [
        ({"loader_s": 1.1}, Bound.LOADER),
        ({}, Bound.TRANSFER),
        pytest.param({"compute_share": 1.0}, Bound.TRANSFER, id="a transfer does not compute"),
        ({"transfer_ms": 1.0, "compute_share": 0.6}, Bound.COMPUTE),
        ({"transfer_ms": 1.0, "compute_share": 0.3}, Bound.HOST),
        pytest.param({"transfer_ms": 1.0, "compute_share": None}, Bound.COMPUTE, id="unknown"),
        ({"copy_s": 1.1}, Bound.TRANSFER),
        ({"loader_s": 1.2, "copy_s": 1.1}, Bound.LOADER),
        ({"loader_s": 0.6, "copy_s": 0.7, **SERIAL}, Bound.TRANSFER),
        ({"loader_s": 0.7, "copy_s": 0.6, **SERIAL}, Bound.LOADER),
        ({"loader_s": 0.4, "copy_s": 0.5, "transfer_ms": 0.0, **SERIAL}, Bound.HOST),
    ],
)
def test_the_larger_of_two_ceilings_binds_and_then_the_largest_part(
    parts: dict[str, float], bound: Bound
) -> None:
    usual = {
        "loader_s": 0.9, "copy_s": 0.0, "is_serial": False, "model_s": 1.0,
        "step_ms": 10.0, "transfer_ms": 6.0, "compute_share": 0.4,
    }  # fmt: skip
    assert bound_of(**{**usual, **parts}) is bound


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ({"wait_ms": 6.0, "forward_ms": 1.0, "backward_ms": 2.0}, Bound.LOADER),
        ({"wait_ms": 1.0, "transfer_ms": 5.0, "forward_ms": 3.0}, Bound.TRANSFER),
        ({"wait_ms": 1.0, "forward_ms": 4.0, "backward_ms": 4.0}, Bound.COMPUTE),
        ({"wait_ms": 1.0, "forward_ms": 2.0, "optimizer_ms": 1.0}, Bound.HOST),
        ({"wait_ms": 6.0}, None),
    ],
)
def test_the_largest_phase_of_a_step_is_its_bound(
    parts: dict[str, float], expected: Bound | None
) -> None:
    assert bound_by_phases({"step_ms": 10.0, **parts}) is expected
