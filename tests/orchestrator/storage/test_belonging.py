"""Files of two runs in one run directory: said, not mixed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from orchestrator.analysis.tables.load import load_run
from orchestrator.errors import RunDirectoryError
from orchestrator.storage.belonging import key_of_run
from orchestrator.storage.files import RunFile
from orchestrator.storage.sweep_record import read_sweep
from orchestrator.storage.tables import write_tables
from tests.orchestrator.tracking.journals import Scribe, make_record, make_trial


def finished(folder: Path, *, started_at: float = 1.0) -> Path:
    """Return a run of the same sweep and the same trial, started at some time."""
    scribe = Scribe(folder)
    scribe.sweep(started_at=started_at)
    scribe.whole(make_trial(0))
    scribe.ended(0)
    (folder / RunFile.SWEEP).write_text(json.dumps(make_record(started_at=started_at).to_json()))
    write_tables(folder)
    return folder


@pytest.mark.parametrize("name", [RunFile.TRIALS, RunFile.CURVES, RunFile.STEP_TIMES])
def test_a_table_of_another_run_of_the_same_sweep_is_refused(tmp_path: Path, name: RunFile) -> None:
    ours, other = finished(tmp_path / "a"), finished(tmp_path / "b", started_at=2.0)
    assert len(load_run(ours).trials) == 1
    shutil.copy(other / name, ours / name)
    with pytest.raises(RunDirectoryError, match=f"{name}: is the table of another run"):
        load_run(ours)
    write_tables(ours)
    assert load_run(ours).trials.attrs == {}


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
