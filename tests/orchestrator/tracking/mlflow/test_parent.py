"""The parent run's tags and note, and params that MLflow never changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.storage.history import SweepHistory, read_history
from orchestrator.tracking.mlflow.answer import RunAnswer
from orchestrator.tracking.mlflow.content import MAX_TEXT, Status
from orchestrator.tracking.mlflow.parent import (
    answer_params,
    note,
    outdated,
    parent_status,
    parent_tags,
)
from tests.orchestrator.tracking.journals import Scribe, events_of


@pytest.fixture
def history(tmp_path: Path) -> SweepHistory:
    scribe = Scribe(tmp_path / "run")
    scribe.sweep()
    return read_history(events_of(scribe.run_dir))


def test_the_parent_describes_the_sweep(history: SweepHistory) -> None:
    described = parent_tags(history, "/runs/a")
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


def test_the_answer_comes_before_question_and_command(history: SweepHistory) -> None:
    text = note(history, "/runs/a", answer="**3 workers are 1.3 times as fast.**")
    places = [text.index(part) for part in ("**3 workers", "How many workers?", "```\npython -m")]
    assert places == sorted(places)
    assert "**Data:**" not in text, "the answer has said it"
    assert "**Data:** ogbn-products is not here" in note(history, "/runs/a")


def test_a_long_answer_leaves_room_for_the_question(history: SweepHistory) -> None:
    text = note(history, "/runs/a", answer="word " * MAX_TEXT)
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
    assert outdated(changed) == ""
    assert answer_params(answer, first) == ({}, {})

    other = RunAnswer(config={"lr": 0.03, "fanouts": [10, 25], "pin_memory": True})
    new, changed = answer_params(other, first)
    assert (new, changed) == ({}, {"recommended.lr": "0.03"})
    assert "`recommended.lr` (now 0.03)" in outdated(changed)


def test_where_nothing_is_recommended_any_more_each_param_is_outdated() -> None:
    _, changed = answer_params(RunAnswer(), {"recommended.lr": "0.01", "own": "1"})
    assert changed == {"recommended.lr": "nothing is recommended"}
