"""What MLflow is told of the files that the analysis leaves."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.storage.files import RunFile
from orchestrator.storage.history import SweepHistory, TrialHistory, read_history
from orchestrator.tracking.mlflow.answer import RunAnswer, parent_points, read_answer, totals
from orchestrator.trial import TrialState
from tests.orchestrator.tracking.journals import Scribe, config, events_of, make_trial

RECOMMENDED: dict[str, Any] = {
    "config": {**config(1), "fanouts": [10, 25]},
    "speedup": {"ratio": 1.3, "low": 1.2, "high": 1.4},
    "accuracy_difference": {"metric": "val_acc", "centre": -0.01, "low": -0.02, "high": 0.0},
    "figures": {"samples_per_s": 1300.0, "samples_per_s_low": 1200.0, "test_acc": None},
}


def write_answer(run_dir: Path, **changes: object) -> None:
    run_dir.mkdir(parents=True, exist_ok=True)
    (run_dir / RunFile.RECOMMENDED).write_text(json.dumps({**RECOMMENDED, **changes}))
    front = f"params.lr,metrics.val_acc,trial_ids\n0.003,0.9,{make_trial(1).id} abc\n0.01,,def\n"
    (run_dir / RunFile.FRONT).write_text(front)
    (run_dir / RunFile.ANSWER).write_text("**3 workers are 1.3 times as fast.**\n")


def test_the_figures_that_are_known_are_read(tmp_path: Path) -> None:
    write_answer(tmp_path)
    answer = read_answer(tmp_path)
    assert answer.note == "**3 workers are 1.3 times as fast.**"
    assert answer.figures == {
        "speedup": 1.3,
        "speedup_low": 1.2,
        "speedup_high": 1.4,
        "samples_per_s": 1300.0,
        "val_acc_difference": -0.01,
    }


def test_a_speed_up_that_is_not_known_is_no_figure(tmp_path: Path) -> None:
    unknown = {"ratio": None, "low": None, "high": None, "why_not_known": "one pair"}
    write_answer(tmp_path, speedup=unknown, accuracy_difference=None)
    assert read_answer(tmp_path).figures == {"samples_per_s": 1300.0}


def test_where_nothing_is_recommended_there_is_no_config(tmp_path: Path) -> None:
    nothing = {"samples_per_s": None}
    write_answer(tmp_path, config=None, speedup=None, accuracy_difference=None, figures=nothing)
    answer = read_answer(tmp_path)
    assert (answer.config, answer.figures) == ({}, {})
    trial = TrialHistory(trial=make_trial(0), index=0)
    assert answer.role(trial, {"lr": 1.0}) == ""


@pytest.mark.parametrize(
    "damage", [None, "{", "[]", '{"config": 3}', '{"figures": [1]}', '{"figures": {"a": "x"}}']
)
def test_without_an_answer_nothing_is_told(tmp_path: Path, damage: str | None) -> None:
    write_answer(tmp_path)
    if damage is None:
        (tmp_path / RunFile.ANSWER).unlink()
    else:
        (tmp_path / RunFile.RECOMMENDED).write_text(damage)
    assert read_answer(tmp_path) == RunAnswer()


def test_the_answer_of_another_run_is_none(tmp_path: Path) -> None:
    write_answer(tmp_path, run="another")
    assert read_answer(tmp_path) != RunAnswer()
    Scribe(tmp_path).sweep()
    assert read_answer(tmp_path) == RunAnswer()


def test_the_front_is_a_table_as_mlflow_shows_it(tmp_path: Path) -> None:
    write_answer(tmp_path)
    table = json.loads(read_answer(tmp_path).front_table())
    assert table["columns"] == ["params.lr", "metrics.val_acc", "trial_ids"]
    assert table["data"][0][:2] == [0.003, 0.9]
    assert table["data"][1] == [0.01, None, "def"]


def test_roles_go_by_the_config_and_by_the_trials_of_the_front(tmp_path: Path) -> None:
    write_answer(tmp_path)
    answer = read_answer(tmp_path)
    baseline = {**config(0), "fanouts": [10, 25]}  # as sweep.json has it
    roles = [
        answer.role(TrialHistory(trial=make_trial(number), index=number), baseline)
        for number in (0, 1, 2)
    ]
    assert roles == ["baseline", "recommended, front", ""]


@pytest.fixture
def history(tmp_path: Path) -> SweepHistory:
    scribe = Scribe(tmp_path / "run")
    scribe.sweep()
    scribe.whole(make_trial(0))
    scribe.whole(make_trial(1), TrialState.INFEASIBLE)
    scribe.started(scribe.asked(make_trial(2)))
    return read_history(events_of(scribe.run_dir))


def test_the_totals_are_of_the_trials_that_have_ended(history: SweepHistory) -> None:
    # One ran for 1.5 s on two cores, one never did, one runs yet.
    expected = {"num_trials": 2.0, "trial_hours": 1.5 / 3600, "core_hours": 3.0 / 3600}
    assert totals(history.trials.values()) == pytest.approx(expected)


def test_a_figure_that_is_not_known_any_more_becomes_nan(history: SweepHistory) -> None:
    answer = RunAnswer(figures={"samples_per_s": 1300.0})
    written = parent_points(answer, history, {"speedup": 1.3, "samples_per_s": 900.0}, 5)
    points = {point.name: point for point in written}
    assert math.isnan(points["speedup"].value)
    assert points["samples_per_s"].value == 1300.0
    assert points["num_trials"].value == 2.0
    assert {(point.at_ms, point.step) for point in written} == {(5, 0)}
    assert {type(point.value) for point in written} == {float}, "MLflow wants numpy for an int"
    assert "speedup" not in {p.name for p in parent_points(replace(answer), history, {}, 5)}
