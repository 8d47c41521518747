"""Where a recorded run of speed alone would have ended."""

from __future__ import annotations

import pytest

from orchestrator.measurement.blocks import Block
from orchestrator.measurement.throughput import StopRule
from orchestrator.replay.early_end import early_end, set_up_s
from orchestrator.replay.segment import segment_of
from orchestrator.trial import Budget, TrialState
from tests.orchestrator.replay.made_runs import (
    EVAL_S,
    SET_UP_S,
    STEPS,
    TRAIN_S,
    made_blocks,
    made_run,
)

PROBE = Budget(epochs=3, half_width=0.03, evaluated=False)


def end_by_brute_force(noise: float, half_width: float, epochs: int) -> int | None:
    """Return the steps after which the rule ends a run, asked at the end of each block."""
    rule, blocks, num_steps = StopRule(half_width), list[Block](), 0
    for epoch in range(epochs):
        for row in made_blocks(epoch, noise):
            blocks.append(Block.from_row(row))
            num_steps += 10
            if rule.is_due(num_steps) and rule.is_enough(num_steps, blocks):
                return num_steps
    return None


@pytest.mark.parametrize("noise", [0.0, 0.1, 0.6])
@pytest.mark.parametrize("half_width", [0.002, 0.01, 0.03])
def test_it_ends_where_the_rule_does_on_the_recorded_blocks(
    noise: float, half_width: float
) -> None:
    run = made_run(blocks=True, noise=noise)
    end = early_end(run, Budget(epochs=3, half_width=half_width), burst=1)
    assert (None if end is None else end.report.step) == end_by_brute_force(noise, half_width, 3)


def test_the_speed_is_that_of_the_blocks_until_then() -> None:
    end = early_end(made_run(blocks=True), PROBE, burst=1)
    assert end is not None
    assert end.num_reports == 0
    assert end.report.step == 790, "asked after 520 steps, and again after half as many more"
    assert end.report.metrics["samples_per_s"] == pytest.approx(8 * STEPS / TRAIN_S)
    assert end.report.elapsed_s == pytest.approx(SET_UP_S + TRAIN_S * 0.79)
    assert "val_acc" not in end.report.metrics


def test_an_end_in_a_later_epoch_has_the_reports_before_it() -> None:
    segment = segment_of(made_run(blocks=True), Budget(epochs=3, steps=STEPS + 250))
    assert [(report.epoch, report.step) for report in segment.reports] == [(1, 1000), (2, 1250)]
    expected_s = SET_UP_S + TRAIN_S + EVAL_S + TRAIN_S / 4
    assert segment.reports[-1].elapsed_s == pytest.approx(expected_s)
    assert segment.state is TrialState.COMPLETED


def test_without_evaluation_an_end_in_a_later_epoch_is_earlier() -> None:
    budget = Budget(epochs=3, steps=STEPS + 250, evaluated=False)
    segment = segment_of(made_run(blocks=True), budget)
    assert segment.reports[-1].elapsed_s == pytest.approx(SET_UP_S + TRAIN_S * 1.25)


@pytest.mark.parametrize(("burst", "steps"), [(1, 769), (6, 1153)])
def test_without_blocks_it_ends_at_the_earliest_end_of_the_rule(burst: int, steps: int) -> None:
    end = early_end(made_run(), Budget(epochs=3, half_width=0.03), burst=burst)
    assert end is not None
    assert end.report.step == steps
    evaluated_s = EVAL_S * (steps > STEPS)
    assert end.report.elapsed_s == pytest.approx(SET_UP_S + TRAIN_S * steps / STEPS + evaluated_s)
    assert "val_acc" not in end.report.metrics


def test_a_run_that_is_shorter_ends_by_itself() -> None:
    assert early_end(made_run(1, blocks=True), Budget(epochs=1, steps=5000), burst=1) is None
    whole = segment_of(made_run(1, blocks=True), Budget(epochs=1, steps=5000))
    assert whole.reports[-1].step == STEPS


def test_several_ranks_never_end_at_a_half_width() -> None:
    segment = segment_of(made_run(blocks=True), PROBE, ranks=2)
    assert [report.step for report in segment.reports] == [1000, 2000, 3000]


def test_the_first_report_tells_how_long_the_set_up_took() -> None:
    assert set_up_s(made_run()) == SET_UP_S
