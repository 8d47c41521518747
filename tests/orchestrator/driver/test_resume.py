"""A resumed run answers the same question, and says what else has changed since."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.driver.record import question_record
from orchestrator.driver.resume import Past, read_past
from orchestrator.errors import RunDirectoryError
from orchestrator.kernel.events import Continued, Event, Noted
from orchestrator.kernel.journal import Journal
from orchestrator.kernel.search import SearchSpec
from orchestrator.machine import Machine, requires
from orchestrator.search import Grid, Random
from orchestrator.storage.sweep_record import SweepRecord
from orchestrator.sweep.definition import Sweep
from orchestrator.sweep.rigor import Rigor
from orchestrator.trial import Isolation
from tests.orchestrator.search.playing import SPACE, TRAINABLE, Config
from tests.orchestrator.tracking.journals import make_record

RUN = Path("run")
ASKED: dict[str, Any] = {"question": "?", "space": SPACE}
WIDEST = 100


def narrow(config: Config, _machine: Machine) -> str | None:
    """Refuse a config by a constant of the module."""
    return "too wide" if config.batch > WIDEST else None


def asked(**changes: object) -> SweepRecord:
    return question_record(Sweep(TRAINABLE, **ASKED | changes), Path("s.py"))


def started_with(record: SweepRecord) -> Past:
    return Past(run_dir=RUN, record=record)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"isolation": Isolation.SHARED}, "isolation: 'leased' then, 'shared' now"),
        ({"rigor": Rigor(accuracy_tolerance=0.01)}, "accuracy_tolerance: 0.005 then, 0.01 now"),
        ({"constraints": [narrow]}, r"constraints: \[\] then, .*config.batch > WIDEST"),
        ({"constraints": [requires(lambda c: c.batch < 9, "no")]}, "constraints: .*c.batch < 9"),
        ({"epochs": 2}, "budget: .*'epochs': 1.* then, .*'epochs': 2.* now"),
    ],
)
def test_another_question_is_another_run(changes: dict[str, object], said: str) -> None:
    with pytest.raises(RunDirectoryError, match=said):
        started_with(asked()).require_same(asked(**changes), "question")


@pytest.mark.parametrize(
    ("name", "then", "now"), [("cores_per_trial", 4, 2), ("data", "mnist", "digits")]
)
def test_trials_on_other_cores_or_data_are_another_run(name: str, then: Any, now: Any) -> None:  # noqa: ANN401 - of two fields
    before = started_with(make_record(**{name: then}))
    with pytest.raises(RunDirectoryError, match=f"{name}: {then!r} then, {now!r} now"):
        before.require_same(make_record(**{name: now}), "ground")


def test_a_changed_source_or_changed_data_is_noted() -> None:
    before = make_record(source_hash="a", data_fingerprint="b")
    past = started_with(before)
    assert past.notes(before) == []
    (source,) = past.notes(replace(before, source_hash="c"))
    (data,) = past.notes(replace(before, data_fingerprint="c"))
    assert source.startswith("the trainable's source has changed since this run was started")
    assert data.startswith("the data has changed since this run was started")


def test_a_journal_begins_with_the_sweep(tmp_path: Path) -> None:
    record = make_record()
    assert read_past(tmp_path, record) == Past(run_dir=tmp_path)
    journal = Journal(tmp_path / "journal.jsonl")
    journal.append(Noted(text="?"))
    journal.close()
    with pytest.raises(RunDirectoryError, match="its journal does not begin with the sweep"):
        read_past(tmp_path, record)


# -- more of it than before


def went_on(*trials: int | None) -> list[Event]:
    return [Continued(trials=number) for number in trials]


@pytest.mark.parametrize(
    ("trials", "past", "goes_on_to"),
    [(None, [], None), (5, [], None), (7, [], 7), (7, went_on(7, None), None), (9, went_on(7), 9)],
)
def test_a_search_goes_on_to_more_configs_than_it_was_asked_for(
    trials: int | None, past: list[Event], goes_on_to: int | None
) -> None:
    sweep = Sweep(TRAINABLE, **ASKED, search=Random(5))
    assert Past(run_dir=RUN, events=past).extension(trials, sweep) == goes_on_to


@pytest.mark.parametrize(
    ("search", "past", "message"),
    [
        (Random(5), [], "the run was asked for 5 configs"),
        (Random(2), went_on(7), "the run was asked for 7 configs"),
        (Grid(), [], "there is nothing to extend it to"),
    ],
)
def test_a_search_is_not_made_smaller_nor_a_whole_grid_larger(
    search: SearchSpec, past: list[Event], message: str
) -> None:
    with pytest.raises(RunDirectoryError, match=message):
        Past(run_dir=RUN, events=past).extension(4, Sweep(TRAINABLE, **ASKED, search=search))
