"""The parent run's tags and note, and params that MLflow never changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.storage.history import read_history
from orchestrator.tracking.mlflow.answer import RunAnswer
from orchestrator.tracking.mlflow.content import MAX_TEXT, MirroredRun, Status
from orchestrator.tracking.mlflow.parent import (
    answer_params,
    note,
    parent_status,
    parent_tags,
)
from tests.orchestrator.tracking.journals import Scribe, events_of


@pytest.fixture
def run(tmp_path: Path) -> MirroredRun:
    scribe = Scribe(tmp_path / "run")
    scribe.sweep()
    return MirroredRun(run_dir=Path("/runs/a"), history=read_history(events_of(scribe.run_dir)))


def test_the_parent_describes_the_sweep(run: MirroredRun) -> None:
    described = parent_tags(run)
    assert described["mlflow.source.git.commit"] == "c0ffee"
    assert "How many workers?" in described["mlflow.note.content"]
    assert described["data"] == "products-synthetic"
    assert "reason" not in described


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
    assert "**Data:**" not in text, "the answer has said it"
    assert "**Data:** ogbn-products is not here" in note(run)


def test_a_long_answer_leaves_room_for_the_question(run: MirroredRun) -> None:
    text = note(run, "word " * MAX_TEXT)
    assert len(text) <= MAX_TEXT
    assert "the rest is in report.html" in text
    assert text.endswith("Run directory: `/runs/a`")


def test_a_param_is_written_once_and_what_holds_now_is_a_tag() -> None:
    answer = RunAnswer(config={"lr": 0.01, "fanouts": [10, 25], "pin_memory": True})
    first, changed = answer_params(answer, {})
    assert first == {
        "recommended.lr": "0.01",
        "recommended.fanouts": "10,25",
        "recommended.pin_memory": "True",
    }
    assert not changed
    assert answer_params(answer, first) == ({}, {})

    other = RunAnswer(config={"lr": 0.03, "fanouts": [10, 25], "pin_memory": True})
    new, changed = answer_params(other, first)
    assert (new, changed) == ({}, {"recommended.lr": "0.03"})


def test_where_nothing_is_recommended_any_more_each_param_is_outdated() -> None:
    _, changed = answer_params(RunAnswer(), {"recommended.lr": "0.01", "own": "1"})
    assert changed == {"recommended.lr": "nothing is recommended"}
