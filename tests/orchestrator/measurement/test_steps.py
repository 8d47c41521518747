"""Steps and epochs: their durations, and the phases in the order of a step."""

from __future__ import annotations

from orchestrator.measurement.steps import Epoch, Phase, Step
from orchestrator.metrics import METRICS


def test_a_step_lasts_from_asking_for_its_batch_to_asking_for_the_next() -> None:
    step = Step(epoch=0, begin_s=1.5, end_s=4.0, samples=8, phases={Phase.WAIT: 1.0})
    assert step.duration_s == 2.5


def test_an_epoch_lasts_with_its_start() -> None:
    epoch = Epoch(index=0, begin_s=1.0, start_s=0.5, end_s=4.0)
    assert epoch.duration_s == 3.0
    assert epoch.is_whole


def test_each_phase_is_a_column_in_milliseconds() -> None:
    assert [METRICS[f"{phase}_ms"].unit for phase in Phase] == ["ms"] * 5
