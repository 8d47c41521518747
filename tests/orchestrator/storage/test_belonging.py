"""Files of two runs in one run directory: said, not mixed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest

from orchestrator.analysis.tables.load import load_run
from orchestrator.errors import RunDirectoryError
from orchestrator.space.knob import Role
from orchestrator.storage.belonging import journalled_key, key_of_run
from orchestrator.storage.candidates import with_roles, write_candidates
from orchestrator.storage.files import RunFile
from orchestrator.storage.sweep_record import read_sweep
from orchestrator.storage.tables import write_tables
from tests.orchestrator.tracking.journals import Scribe, make_record, make_trial

CANDIDATES = with_roles(pd.DataFrame({"params.num_workers": [0, 1]}), {"num_workers": Role.BOTH})


def finished(folder: Path, *, started_at: float = 1.0) -> Path:
    """Return a run of the same sweep and the same trial, started at some time."""
    scribe = Scribe(folder)
    scribe.sweep(started_at=started_at)
    scribe.whole(make_trial(0))
    scribe.ended(0)
    (folder / RunFile.SWEEP).write_text(json.dumps(make_record(started_at=started_at).to_json()))
    write_tables(folder)
    write_candidates(folder, CANDIDATES)
    return folder


TABLES = [RunFile.TRIALS, RunFile.CURVES, RunFile.STEP_TIMES, RunFile.CANDIDATES]


@pytest.mark.parametrize("name", TABLES)
def test_a_table_of_another_run_of_the_same_sweep_is_refused(tmp_path: Path, name: RunFile) -> None:
    ours, other = finished(tmp_path / "a"), finished(tmp_path / "b", started_at=2.0)
    assert len(load_run(ours).trials) == 1
    shutil.copy(other / name, ours / name)
    with pytest.raises(RunDirectoryError, match=f"{name}: is the table of another run"):
        load_run(ours)
    write_tables(ours)
    write_candidates(ours, CANDIDATES)
    assert load_run(ours).trials.attrs == {}
    assert load_run(ours).roles["num_workers"] is Role.BOTH, "as it was found"


def test_the_choice_of_another_run_is_none(tmp_path: Path) -> None:
    ours, other = finished(tmp_path / "a"), finished(tmp_path / "b", started_at=2.0)
    for run_dir in (ours, other):
        content = {"config": {"workers": 1}, "run": journalled_key(run_dir)}
        (run_dir / RunFile.RECOMMENDED).write_text(json.dumps(content))
    assert load_run(ours).chosen == {"workers": 1}
    shutil.copy(other / RunFile.RECOMMENDED, ours / RunFile.RECOMMENDED)
    assert load_run(ours).chosen is None


def test_a_run_without_its_journal_or_with_a_damaged_one_can_be_read(tmp_path: Path) -> None:
    run_dir = finished(tmp_path / "a")
    journal = run_dir / RunFile.JOURNAL
    assert key_of_run(run_dir, read_sweep(run_dir))
    journal.write_text("{}\n")
    assert len(load_run(run_dir).trials) == 1
    journal.write_bytes(b"")
    assert len(load_run(run_dir).trials) == 1
    journal.unlink()
    assert key_of_run(run_dir, read_sweep(run_dir)) == ""
    assert len(load_run(run_dir).trials) == 1


def test_a_journal_of_another_sweep_is_refused(tmp_path: Path) -> None:
    run_dir = finished(tmp_path / "a")
    scribe = Scribe(tmp_path / "b")
    scribe.sweep(trainable="lenet")
    shutil.copy(scribe.run_dir / RunFile.JOURNAL, run_dir / RunFile.JOURNAL)
    with pytest.raises(RunDirectoryError, match="are of two runs: trainable is 'graphsage' in"):
        load_run(run_dir)
