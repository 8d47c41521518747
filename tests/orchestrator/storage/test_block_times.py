from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from orchestrator.analysis.tables.run_tables import with_run_intervals
from orchestrator.kernel.journal import Journal, read_journal
from orchestrator.storage.block_times import steps_table
from orchestrator.storage.files import RunFile
from orchestrator.storage.tables import write_tables
from tests.conftest import RunCli
from tests.orchestrator.journalled import append
from tests.orchestrator.measurement.made_blocks import blocks_from
from tests.orchestrator.tracking.journals import make_record

SWEEP = """
import time
from orchestrator import Rigor, Sweep, Trainable, choice, knobs, maximize, systems

@knobs
class Config:
    slow: bool = systems(default=False, doc="sleep longer in the first steps")

def train(config, run):
    for epoch in run.epochs():
        for batch in run.batches(range(101), samples=lambda _: 8):
            time.sleep(0.05 if config.slow and epoch == 0 and batch < 30 else 0.004)
        run.report(val_acc=0.5)
    for _ in run.batches(range(7), samples=lambda _: 8):
        pass

SWEEP = Sweep(
    Trainable(train, Config, reports=[maximize("val_acc")], preload=["torch"], name="sleeper"),
    question="?", space=Config(slow=choice(False, True)), epochs=2,
    rigor=Rigor(confirm=0, max_repeats=1, check_isolated=0),
)
"""


@pytest.mark.slow
def test_a_run_leaves_the_times_of_its_steps(run_cli: RunCli, tmp_path: Path) -> None:
    (tmp_path / "sleeper.py").write_text(SWEEP)
    done = run_cli("sleeper.py", "--executor", "inline", "--out", "run", "--no-mlflow")
    assert done.returncode == 0, done.stderr
    run_dir = tmp_path / "run"
    steps = pd.read_parquet(run_dir / "steps.parquet")
    trials = pd.read_parquet(run_dir / "trials.parquet").set_index("trial_id")
    assert set(steps["trial_id"]) == set(trials.index)
    for trial_id, blocks in steps.groupby("trial_id"):
        row = trials.loc[trial_id]
        # What was timed after the last report came with the end of the trial.
        assert blocks["num_steps"].sum() == 2 * 101 + 7
        assert blocks["first_step"].min() == 0
        starts = blocks[blocks["dropped"] == "epoch_start"]
        assert starts["num_steps"].tolist() == [1, 1, 1]
        cold = blocks.loc[blocks["dropped"] == "warm_up", "num_steps"].sum()
        assert not row["params.slow"] or 26 <= cold <= 40, "the machine may add its own"
        steady = blocks[blocks["dropped"].isna()]
        rate = steady["samples"].sum() / steady["duration_s"].sum()
        assert abs(rate / row["metrics.samples_per_s"] - 1) < 0.01
    assert "blocks" not in (run_dir / RunFile.JOURNAL).read_text()


def test_what_came_before_a_trial_was_started_again_is_void(tmp_path: Path) -> None:
    log = Journal(tmp_path / RunFile.STEPS)
    rows = [block.to_row() for block in blocks_from([[0.5, *[0.01] * 20]])]
    for trial_id in ("a", "b", "a"):
        append(log, "started", trial_id=trial_id)
        append(log, "blocks", trial_id=trial_id, blocks=rows[:4])
        append(log, "blocks", trial_id=trial_id, blocks=rows[4:])
    log.close()
    found = steps_table(tmp_path, {"a"})
    assert set(found["trial_id"]) == {"a"}
    assert len(found) == len(rows)
    assert found["duration_s"].sum() == pytest.approx(0.7)


def test_types_do_not_depend_on_the_content(tmp_path: Path) -> None:
    log = Journal(tmp_path / RunFile.STEPS)
    append(log, "started", trial_id="a")
    empty = steps_table(tmp_path, {"a"})
    append(log, "blocks", trial_id="a", blocks=[[0, 0, 1, 8, 0.25, 1], [0, 1, 2, 16, 0.5, 0]])
    log.close()
    full = steps_table(tmp_path, {"a"})
    assert full.dtypes.equals(empty.dtypes)
    assert full["dropped"].tolist()[0] == "epoch_start"
    assert full["dropped"].isna().tolist() == [False, True]
    none = steps_table(tmp_path / "elsewhere", {"a"})
    assert none.dtypes.equals(empty.dtypes)


def test_tables_of_a_run_without_times_of_steps(tmp_path: Path) -> None:
    journal = Journal(tmp_path / RunFile.JOURNAL)
    append(journal, "sweep", sweep=make_record().to_json())
    journal.close()
    write_tables(tmp_path, complete=with_run_intervals)
    assert len(list(read_journal(tmp_path / RunFile.JOURNAL))) == 1
    assert len(pd.read_parquet(tmp_path / "steps.parquet")) == 0
