"""Trials, reports and results, to another process and back."""

from __future__ import annotations

import json

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
