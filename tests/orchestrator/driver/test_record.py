"""The record of a sweep, and the resumption of a run by its record."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.cli import parse
from orchestrator.driver.assembly import make_factory
from orchestrator.driver.record import question_record, sweep_record
from orchestrator.driver.request import Request, read_request
from orchestrator.driver.resumption import Past, past_events
from orchestrator.errors import RunDirectoryError
from orchestrator.kernel.events import Continued, Event
from orchestrator.kernel.search import SearchSpec
from orchestrator.machine import Machine, Node, requires
from orchestrator.search import Grid, Random
from orchestrator.storage.sweep_record import SweepRecord
from orchestrator.sweep.definition import Sweep
from orchestrator.sweep.rigor import Rigor
from orchestrator.trial import Isolation
from tests.orchestrator.helpers.in_process import importing_nothing_for_good
from tests.orchestrator.search.playing import SPACE, TRAINABLE, Config
from tests.orchestrator.tracking.journals import make_record

MACHINE = Machine(nodes=(Node(name="a", cpus=2),))


def record_of(*arguments: str) -> tuple[Request, SweepRecord]:
    with importing_nothing_for_good():
        request = read_request(parse(["never.py", *arguments]))
        factory = make_factory(request, None, MACHINE, Path("private"))
        return request, sweep_record(factory, request, ["never.py", *arguments])


def test_the_record_has_the_question_the_knobs_and_the_capacity(folder: Path) -> None:
    _, record = record_of("--no-mlflow", "--cores-per-trial", "1", "--seed", "5")
    assert (record.name, record.trainable, record.seed) == ("never", "never", 5)
    assert record.file == str(folder / "never.py")
    assert record.space == {"lr": "choice(0.1, 0.2)"}
    assert record.knobs["lr"].doc == "step size"
    assert record.capacity.per_node == 2
    assert record.git is None
    assert record.options["tracking_uri"] is None


def test_options_are_stored_for_a_resumption_from_elsewhere(folder: Path) -> None:
    request, record = record_of("--set", "lr=0.1")
    assert record.options["tracking_uri"] == f"sqlite:///{folder}/runs/mlflow.db"
    assert record.options["set"] == ["lr=0.1"]
    assert Path(record.options["data_root"]) == request.folders.root


def test_no_password_is_recorded(folder: Path) -> None:
    _, record = record_of("--tracking-uri=http://me:secret@127.0.0.1:9")
    assert "secret" not in str(record.to_json())
    assert record.options["tracking_uri"] == "http://***@127.0.0.1:9"


def question_of(*arguments: str) -> SweepRecord:
    with importing_nothing_for_good():
        request = read_request(parse(["never.py", "--no-mlflow", *arguments]))
        return question_record(request.sweep, request.file)


def test_the_question_changes_with_what_is_asked_and_not_with_where(folder: Path) -> None:
    record = question_of()
    assert question_of("--cores-per-trial", "1", "--out", "elsewhere") == record
    changed = question_of("--seed", "5", "--set", "lr=0.3").changes(record, "question")
    assert {"seed", "space", "fixed"} <= set(changed)


# -- a run that is resumed

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
    ("changes", "text"),
    [
        ({"isolation": Isolation.SHARED}, "isolation: 'leased' then, 'shared' now"),
        ({"rigor": Rigor(accuracy_tolerance=0.01)}, "accuracy_tolerance: 0.005 then, 0.01 now"),
        ({"constraints": [narrow]}, r"constraints: \[\] then, .*config.batch > WIDEST"),
        ({"constraints": [requires(lambda c: c.batch < 9, "no")]}, "constraints: .*c.batch < 9"),
        ({"epochs": 2}, "budget: .*'epochs': 1.* then, .*'epochs': 2.* now"),
    ],
)
def test_another_question_is_another_run(changes: dict[str, object], text: str) -> None:
    with pytest.raises(RunDirectoryError, match=text):
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


# -- more of it than before


def extend(*trials: int | None) -> list[Event]:
    return [Continued(trials=number) for number in trials]


@pytest.mark.parametrize("journal", [None, b"", b'{"at":1,"event":"note","text":"of another"}\n'])
def test_table_without_its_journal_is_not_begun_anew(tmp_path: Path, journal: bytes | None) -> None:
    (tmp_path / "trials.csv").write_text("trial_id,state\nab,completed\ncd,failed\n")
    if journal is not None:
        (tmp_path / "journal.jsonl").write_bytes(journal)
    with pytest.raises(RunDirectoryError, match=r"lacks the end of 2 trials of trials.csv, .* ab"):
        past_events(tmp_path)


@pytest.mark.parametrize(
    ("trials", "past", "expected"),
    [(None, [], None), (5, [], None), (7, [], 7), (7, extend(7, None), None), (9, extend(7), 9)],
)
def test_a_search_continues_to_more_configs_than_requested(
    trials: int | None, past: list[Event], expected: int | None
) -> None:
    sweep = Sweep(TRAINABLE, **ASKED, search=Random(5))
    assert Past(run_dir=RUN, events=past).extension(trials, sweep) == expected


@pytest.mark.parametrize(
    ("search", "past", "message"),
    [
        (Random(5), [], "the run was asked for 5 configs"),
        (Random(2), extend(7), "the run was asked for 7 configs"),
        (Grid(), [], "there is nothing to extend it to"),
    ],
)
def test_a_search_is_not_made_smaller_nor_a_whole_grid_larger(
    search: SearchSpec, past: list[Event], message: str
) -> None:
    with pytest.raises(RunDirectoryError, match=message):
        Past(run_dir=RUN, events=past).extension(4, Sweep(TRAINABLE, **ASKED, search=search))
