from __future__ import annotations

import math
from pathlib import Path

import pytest

from orchestrator.analysis.recommendation.one_class import one_class
from orchestrator.analysis.recommendation.recommend import recommend
from orchestrator.analysis.report.summary import summary
from tests.orchestrator.analysis.made_runs import Config, MadeRun, config

CLASSES = "metrics.val_classes_predicted"
ACCURACY = "metrics.val_acc"
BASELINE = config()
FAST = config(num_workers=3)


def add(run: MadeRun, c: Config, speed: float, classes: float, **cells: object) -> None:
    run.add_runs(c, [speed], **{ACCURACY: 0.612, CLASSES: classes, **cells})  # type: ignore[arg-type]


def run_of(*, baseline: float, fast: float) -> MadeRun:
    run = MadeRun()
    add(run, BASELINE, 800.0, baseline)
    add(run, FAST, 1300.0, fast)
    return run


SHARE = "val_acc 61.20 % is no more than that class's share of it"


def test_a_recommended_model_that_predicts_one_class_is_named_first() -> None:
    run = run_of(baseline=5, fast=1)
    recommendation = recommend(run.tables)
    assert recommendation.notes[0] == (
        f"its model predicts one class for the whole validation split: {SHARE}"
    )
    assert not any("baseline's model" in note for note in recommendation.notes)


def test_the_terminal_says_it(tmp_path: Path) -> None:
    run = run_of(baseline=5, fast=1)
    lines = summary(run.tables, recommend(run.tables), run_dir=tmp_path)
    assert any("predicts one class" in line for line in lines if line.startswith("warning:"))


def test_a_baseline_that_predicts_one_class_is_named() -> None:
    [note] = one_class(run_of(baseline=1, fast=5).tables, FAST)
    assert (
        note == f"the baseline's model predicts one class for the whole validation split: {SHARE}"
    )


def test_a_baseline_that_is_recommended_is_named_once() -> None:
    assert len(one_class(run_of(baseline=1, fast=5).tables, BASELINE)) == 1


def test_runs_that_predict_one_class_are_counted_where_others_do_not() -> None:
    run = run_of(baseline=5, fast=1)
    add(run, FAST, 1300.0, 7, stage="confirm", **{ACCURACY: 0.9})
    [note] = one_class(run.tables, FAST)
    assert note.startswith("in 1 of its 2 runs the model predicts one class")
    assert note.endswith(SHARE)


@pytest.mark.parametrize(
    "cells", [{CLASSES: math.nan}, {CLASSES: 2.0}, {"stage": "probe"}, {"state": "failed"}]
)
def test_nothing_is_said_of_other_runs(cells: dict[str, object]) -> None:
    run = MadeRun()
    add(run, BASELINE, 800.0, 1.0)
    run.rows[-1] |= cells
    assert one_class(run.tables, BASELINE) == []


def test_nothing_is_said_where_no_model_reports_its_classes() -> None:
    run = MadeRun()
    run.add_runs(BASELINE, [800.0])
    assert one_class(run.tables, BASELINE) == []
