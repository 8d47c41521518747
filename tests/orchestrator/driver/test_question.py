"""The record of what a sweep asks: the same for the same question, whatever answers it."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.cli import parse
from orchestrator.driver.question import question_record
from orchestrator.driver.request import read_request
from orchestrator.storage.sweep_record import SweepRecord
from tests.orchestrator.driver.never import write_never
from tests.orchestrator.in_process import importing_nothing_for_good


@pytest.fixture
def never(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return write_never(tmp_path)


def record_of(*arguments: str) -> SweepRecord:
    with importing_nothing_for_good():
        request = read_request(parse(["never.py", "--no-mlflow", *arguments]))
        return question_record(request.sweep, request.file)


def test_the_question_changes_with_what_is_asked_and_not_with_where(never: Path) -> None:
    record = record_of()
    assert record_of("--cores-per-trial", "1", "--out", "elsewhere") == record
    changed = record_of("--seed", "5", "--set", "lr=0.3").changes(record, "question")
    assert {"seed", "space", "fixed"} <= set(changed)


def test_a_knob_without_effect_in_some_configs_is_marked(never: Path) -> None:
    ahead = (
        '    ahead: int = systems(default=2, doc="batches", applies=lambda c: c.num_workers > 0)\n'
    )
    never.write_text(never.read_text().replace("\n\ndef train", f"{ahead}\n\ndef train", 1))
    knobs = record_of().knobs
    assert [name for name, knob in knobs.items() if knob.conditional] == ["ahead"]
