"""``sweep.json`` is read back as it was written; anything else is refused in a sentence."""

import json
import os
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import RunDirectoryError
from orchestrator.kernel.events import Opened, Resumed
from orchestrator.kernel.journal import Journal
from orchestrator.metrics import Published, at_least, at_most, minimize
from orchestrator.rules import weighted
from orchestrator.storage.files import RunFile
from orchestrator.storage.sweep_record import Capacity, Part, SweepRecord, read_sweep
from orchestrator.sweep.rigor import Rigor
from orchestrator.trial import Budget, Isolation
from tests.orchestrator.tracking.journals import make_record

FULL = make_record(
    objectives=(minimize("epoch_s"), minimize("train_loss", tolerance=0.1), at_most("step_ms", 9)),
    rule=weighted(epoch_s=1, train_loss=2.5),
    target=at_least("val_acc", 0.9),
    prices={"cpu_hour": 0.04},
    budget=Budget(epochs=2, steps=7, half_width=0.1),
    rigor=Rigor(half_width=0.1, max_confirm=9, retries=0),
    isolation=Isolation.SHARED,
    constraints=("lambda c: c.lr < 1",),
    capacity=Capacity(per_node=2, total=6, interleaved_gib=3.5),
    published=(Published(source="a study", knobs={"lr": 0.1}, figures={"epoch_s": 9.0}),),
    options={"executor": "inline", "set": ["lr=0.1"]},
    memory_per_trial_gib=4.0,
    nodes={"a": {"cpu_model": "some"}},
)


def test_a_record_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    (tmp_path / RunFile.SWEEP).write_text(json.dumps(FULL.to_json()))
    again = read_sweep(tmp_path)
    assert replace(again, baseline=FULL.baseline) == FULL
    assert again.changes(FULL, "question") == again.changes(FULL, "ground") == {}


def test_every_field_is_written() -> None:
    of_record = {entry.name for entry in fields(SweepRecord)} - {"rigor"}
    of_rigor = {entry.name for entry in fields(Rigor)} - {"half_width"}
    assert set(FULL.to_json()) == of_record | of_rigor, "its names are those of the last version"


@pytest.mark.parametrize(
    ("part", "changed", "then_and_now"),
    [
        ("question", {"seed": 8}, {"seed": (7, 8)}),
        ("question", {"isolation": Isolation.LEASED}, {"isolation": ("shared", "leased")}),
        ("ground", {"data": "digits"}, {"data": ("products-synthetic", "digits")}),
        ("ground", {"cores_per_trial": 1}, {"cores_per_trial": (2, 1)}),
        ("question", {"question": "in other words?", "data": "digits"}, {}),
        ("ground", {"seed": 8, "source_hash": "another"}, {}),
    ],
)
def test_a_change_has_both_values(
    part: Part, changed: dict[str, Any], then_and_now: dict[str, Any]
) -> None:
    assert replace(FULL, **changed).changes(FULL, part) == then_and_now


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "is not a run directory .it has no sweep.json"),
        ("{", "sweep.json: cannot be read"),
        ("\xff", "sweep.json: cannot be read"),
        ("[]", "cannot be read: no JSON object"),
        ('{"format": 2}', "cannot be read: Object missing required field `name`"),
        ("{}", "is of format 1, this version reads 2"),
    ],
)
def test_a_folder_without_a_record_is_refused(
    tmp_path: Path, content: str | None, message: str
) -> None:
    if content is not None:
        (tmp_path / RunFile.SWEEP).write_bytes(content.encode("latin-1"))
    with pytest.raises(RunDirectoryError, match=message):
        read_sweep(tmp_path)
    with pytest.raises(RunDirectoryError, match="no such folder"):
        read_sweep(tmp_path / "nowhere")


@pytest.mark.parametrize("left", [None, b"", b"{"])
def test_a_lost_record_is_that_of_the_journal(tmp_path: Path, left: bytes | None) -> None:
    journal = Journal(tmp_path / "journal.jsonl")
    for kind, name in ((Opened, "then"), (Resumed, "now")):
        journal.append(kind(sweep=make_record(name=name).to_json()))
    journal.close()
    if left is not None:
        (tmp_path / "sweep.json").write_bytes(left)
    assert read_sweep(tmp_path).name == "now"


def test_the_run_that_was_meant_is_named(tmp_path: Path) -> None:
    for second, name in enumerate(("b/05-04-02", "a/05-04-01")):
        record = tmp_path / name / RunFile.SWEEP
        record.parent.mkdir(parents=True)
        record.touch()
        os.utime(record, (second, second))
    with pytest.raises(RunDirectoryError, match="did you mean '05-04-02'"):
        read_sweep(tmp_path / "b" / "05-04-20")
    for folder, latest in ((tmp_path, "a/05-04-01"), (tmp_path / "b", "b/05-04-02")):
        with pytest.raises(RunDirectoryError, match=r"no sweep\.json") as refused:
            read_sweep(folder)
        assert refused.value.hint == f"the latest run in it: {tmp_path / latest}"


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ({"options": []}, r"\$.options"),
        ({"isolation": "lonely"}, r"\$.isolation"),
        ({"budget": {"epoch": 1}}, r"\$.budget"),
        ({"objectives": [{"metric": "val_acc"}]}, r"\$.objectives\[0\]"),
    ],
)
def test_a_damaged_field_is_named(damage: dict[str, Any], message: str) -> None:
    with pytest.raises(RunDirectoryError, match=f"here: cannot be read: .*{message}"):
        SweepRecord.from_json(FULL.to_json() | damage, "here")
