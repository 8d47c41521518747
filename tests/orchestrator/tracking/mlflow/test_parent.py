"""The parent run: its tags and note, and what the analysis leaves, as MLflow gets it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from orchestrator.storage.files import RunFile
from orchestrator.storage.history import read_history
from orchestrator.tracking.mlflow.content import MAX_TEXT, MirroredRun, Status
from orchestrator.tracking.mlflow.parent import (
    note,
    parent_status,
    parent_tags,
    read_answer,
)
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


KNOWN = {"speedup": 1.3, "speedup_low": 1.2, "speedup_high": 1.4, "val_acc_difference": -0.01}


@pytest.mark.parametrize(
    ("changes", "figures"),
    [
        ({}, {**KNOWN, "samples_per_s": 1300.0}),
        (
            {"speedup": {"ratio": None, "low": None, "high": None}, "accuracy_difference": None},
            {"samples_per_s": 1300.0},
        ),
        (
            {"config": None, "speedup": None, "accuracy_difference": None, "figures": {"a": None}},
            {},
        ),
    ],
)
def test_the_figures_that_are_known_are_read(
    tmp_path: Path, changes: dict[str, Any], figures: dict[str, float]
) -> None:
    write_answer(tmp_path, **changes)
    answer = read_answer(tmp_path)
    assert answer.note == "**3 workers are 1.3 times as fast.**"
    assert answer.figures == figures
    assert bool(answer.config) == (changes.get("config", True) is not None)


@pytest.fixture
def run(tmp_path: Path) -> MirroredRun:
    """A run of a trial that completed, one that could not run and one that runs."""
    scribe = Scribe(tmp_path / "run")
    scribe.sweep()
    scribe.whole(make_trial(0))
    scribe.whole(make_trial(1), TrialState.INFEASIBLE)
    scribe.started(scribe.asked(make_trial(2)))
    return MirroredRun(run_dir=Path("/runs/a"), history=read_history(events_of(scribe.run_dir)))


def test_the_parent_describes_the_sweep(run: MirroredRun) -> None:
    described = parent_tags(run)
    assert described["mlflow.source.git.commit"] == "c0ffee"
    assert "How many workers?" in described["mlflow.note.content"]
    assert described["data"] == "products-synthetic"


@pytest.mark.parametrize(
    ("code", "status"),
    [(0, Status.FINISHED), (1, Status.FAILED), (130, Status.KILLED), (143, Status.KILLED)],
)
def test_the_parents_status_follows_the_exit_code(code: int, status: Status) -> None:
    assert parent_status(code) == status


def test_the_answer_comes_before_question_and_command(run: MirroredRun) -> None:
    text = note(run, "**3 workers are 1.3 times as fast.**")
    places = [text.index(part) for part in ("**3 workers", "How many workers?", "```\npython -m")]
    assert places == sorted(places)
    long = note(run, "word " * MAX_TEXT)
    assert len(long) <= MAX_TEXT
    assert long.endswith("Run directory: `/runs/a`")
