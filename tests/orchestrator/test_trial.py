"""Trials, reports and results, to another process and back."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from orchestrator.trial import Budget, Report, Stage, Trial, TrialResult, TrialState, trial_id

TRIAL = Trial(
    id="a1", stage=Stage.CONFIRM, config={"lr": 0.1, "fanouts": (5, 10)},
    budget=Budget(epochs=3, steps=40, half_width=0.03), seed=7, repeat=2, isolated=True,
)  # fmt: skip
REPORT = Report(
    step=4, epoch=1, samples=8, elapsed_s=0.5, metrics={"val_acc": 0.5}, tags={"bound": "host"},
    blocks=[[0, 0, 4, 8, 0.5, 0]], restored_epochs=1,
)  # fmt: skip
RESULT = TrialResult(
    state=TrialState.STOPPED,
    reason="enough",
    metrics={"val_acc": 0.5},
    wall_s=1.5,
    cores=2,
    blocks=[[0, 0, 4, 8, 0.5, 0]],
)


@pytest.mark.parametrize("sent", [TRIAL, REPORT, RESULT], ids=["trial", "report", "result"])
def test_comes_back_from_json(sent: Trial | Report | TrialResult) -> None:
    assert type(sent).from_json(json.loads(json.dumps(sent.to_json()))) == sent


def test_an_id_depends_on_the_content_and_not_on_its_order() -> None:
    assert trial_id({"a": 1, "b": 2}) == trial_id({"b": 2, "a": 1})
    assert trial_id({"a": 1, "b": 2}) != trial_id({"a": 1, "b": 3})


@pytest.mark.parametrize("samples", [10**30, 8.5, float("nan"), float("inf"), "x", None, [8]])
def test_a_report_counts_what_the_journal_can_hold(samples: Any) -> None:  # noqa: ANN401 - of many types
    with pytest.raises(ValueError, match=r"samples = .* is not allowed: a whole number of 64 bits"):
        Report(step=1, epoch=1, samples=samples, elapsed_s=1.0, metrics={})


def test_a_report_counts_in_plain_numbers() -> None:
    report = Report(step=np.int64(1), epoch=1, samples=8.0, elapsed_s=1.0, metrics={})  # type: ignore[arg-type]
    assert [type(count) for count in (report.step, report.samples)] == [int, int]
