"""A sweep refuses what is not to be trained, wherever it is made."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator import knobs, learning
from orchestrator.errors import SweepFileError
from orchestrator.metrics import Objective, maximize, minimize
from orchestrator.sweep.definition import Sweep
from orchestrator.trainable import Trainable
from tests.orchestrator.helpers.sweep_files import line_of, written
from tests.orchestrator.sweep.refusals import refusal


def test_what_is_trained_must_be_a_trainable(tmp_path: Path) -> None:
    path = written(tmp_path, "SWEEP = Sweep(train, question='?', space={'lr': 3})\n")
    error = refusal(path)

    assert error.message == f"{path}:{line_of(path, 'SWEEP')}: trainable = train is not allowed"
    assert "a Trainable" in error.hint


def test_what_is_trained_must_be_a_trainable_outside_a_sweep_file_too() -> None:
    with pytest.raises(SweepFileError, match="trainable = 'graphsage' is not allowed"):
        Sweep("graphsage", question="?", space={})  # type: ignore[arg-type]


@knobs
class _Config:
    lr: float = learning(default=0.1, gt=0, doc="step size")


@pytest.mark.parametrize(
    ("reports", "own"),
    [
        ([maximize("val_auc")], maximize("val_auc")),
        ([minimize("val_loss"), maximize("test_acc")], minimize("val_loss")),
        ([minimize("val_loss"), maximize("val_f1_acc")], maximize("val_f1_acc")),
        ([minimize("val_loss"), maximize("val_acc")], maximize("val_acc")),
        ([maximize("test_acc")], maximize("val_acc")),
        ([], maximize("val_acc")),
    ],
)
def test_where_nothing_is_asked_for_it_is_what_the_trainable_reports(
    reports: list[Objective], own: Objective
) -> None:
    trainable = Trainable(lambda config, run: None, _Config, reports=reports, name="t")
    sweep = Sweep(trainable, question="?", space=_Config())
    assert list(sweep.objectives) == [maximize("samples_per_s"), own]
    asked = [maximize("samples_per_s"), maximize("val_acc")]
    assert Sweep(trainable, question="?", space=_Config(), objectives=asked).objectives == asked
