"""The record of a sweep says what was asked, what answers it, and how to go on."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.cli import parse
from orchestrator.driver.assembly import make_factory
from orchestrator.driver.record import question_record, sweep_record
from orchestrator.driver.request import Request, read_request
from orchestrator.machine import Machine, Node
from orchestrator.storage.sweep_record import SweepRecord
from tests.orchestrator.driver.never import write_never
from tests.orchestrator.helpers.in_process import importing_nothing_for_good

MACHINE = Machine(nodes=(Node(name="a", cpus=2),))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_never(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def record_of(*arguments: str) -> tuple[Request, SweepRecord]:
    with importing_nothing_for_good():
        request = read_request(parse(["never.py", *arguments]))
        factory = make_factory(request, None, MACHINE, Path("private"))
        return request, sweep_record(factory, request, ["never.py", *arguments], 2)


def test_the_record_has_the_question_the_knobs_and_the_capacity(folder: Path) -> None:
    _, record = record_of("--no-mlflow", "--cores-per-trial", "1", "--seed", "5")
    assert (record.name, record.trainable, record.seed) == ("never", "never", 5)
    assert record.file == str(folder / "never.py")
    assert record.space == {"lr": "choice(0.1, 0.2)"}
    assert record.knobs["lr"].doc == "step size"
    assert record.capacity.per_node == 2
    assert record.git is None


def test_options_are_stored_as_they_can_be_gone_on_with_from_elsewhere(folder: Path) -> None:
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


def test_a_knob_without_effect_in_some_configs_is_marked(folder: Path) -> None:
    ahead = (
        '    ahead: int = systems(default=2, doc="batches", applies=lambda c: c.num_workers > 0)\n'
    )
    never = folder / "never.py"
    never.write_text(never.read_text().replace("\n\ndef train", f"{ahead}\n\ndef train", 1))
    knobs = question_of().knobs
    assert [name for name, knob in knobs.items() if knob.conditional] == ["ahead"]
