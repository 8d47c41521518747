"""The confirm stage of a real sweep with interleaved runs."""

import json
import signal
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.conftest import RunCli, StartCli
from tests.orchestrator.driver.speed_sweeps import wait_for
from tests.orchestrator.helpers.journalled import lines_of

SWEEP = """
from orchestrator import Rigor, Sweep, choice
from tests.orchestrator.execution.greedy import Config, greedy

SWEEP = Sweep(
    greedy,
    question="Which step is fastest?",
    space=Config(num_items=50, step_ms=choice(8.0, 2.0)),
    baseline=Config(num_items=50, step_ms=8.0),
    epochs={epochs},
    rigor=Rigor(confirm=2, max_confirm=2, max_repeats=1, check_isolated=0{more}),
    cores_per_trial=1,
)
"""

INLINE = ("--executor", "inline", "--no-mlflow")


def sweep_file(folder: Path, epochs: int = 2, more: str = "") -> Path:
    path = folder / "interleaved.py"
    path.write_text(SWEEP.format(epochs=epochs, more=more))
    return path


def confirm_rows(out: Path) -> pd.DataFrame:
    """Return the compared rows, without the last one, which evaluates the test split."""
    trials = pd.read_parquet(out / "trials.parquet")
    rows = trials[trials["stage"] == "confirm"]
    return rows[rows["repeat"] < rows["repeat"].max()]


@pytest.mark.slow
@pytest.mark.alone
def test_the_runs_of_a_round_are_interleaved(run_cli: RunCli, tmp_path: Path) -> None:
    """On Ray too: ``execution/test_interleaving.py``."""
    out = tmp_path / "run"

    run_cli(sweep_file(tmp_path), "--out", out, *INLINE)

    rows = confirm_rows(out)
    assert list(rows["state"]) == ["completed"] * 4
    assert set(rows["tags.interleaved"]) == {"true"}
    assert set(rows["isolation"]) == {"exclusive"}
    assert rows.groupby("repeat")["params.step_ms"].nunique().tolist() == [2, 2]
    assert rows.groupby("repeat")["tags.core_ids"].nunique().tolist() == [1, 1]
    events = [e for e in lines_of(out / "journal.jsonl") if "trial_id" in e]
    for _, pair in rows.groupby("repeat"):
        order = _order(events, pair["trial_id"])  # one that other load contaminated starts again
        assert order[:2] == ["started", "started"]
        assert order[-2:] == ["finished", "finished"]
        assert len(order[order.index("finished") :]) == 2
    found = json.loads((out / "recommended.json").read_text())
    ours, theirs = (which["figures"]["samples_per_s"] for which in (found, found["baseline"]))
    assert 1.4 < ours / theirs < 2.6, "13 ms a step beside 7 ms"
    assert (found["speedup"]["basis"], found["speedup"]["num_pairs"]) == ("confirm", 2)


def _order(events: Sequence[dict[str, Any]], ids: pd.Series) -> list[str]:
    kinds = ("started", "finished")
    return [e["event"] for e in events if e["trial_id"] in set(ids) and e["event"] in kinds]


@pytest.mark.slow
def test_a_driver_killed_amid_a_round_leaves_no_stopped_process_and_is_resumed(
    start_cli: StartCli, run_cli: RunCli, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    driver = start_cli(sweep_file(tmp_path), "--out", out, *INLINE)
    wait_for(lambda: _num_interleaved(out) == 2, driver, within_s=90.0)
    time.sleep(0.6)  # some slices of both
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    # The guard in conftest fails this test if any process of theirs is left.

    run_cli("--resume", out, *INLINE)

    rows = confirm_rows(out)
    assert list(rows["state"]) == ["completed"] * 4
    assert set(rows["tags.interleaved"]) == {"true"}
    finished = [e for e in lines_of(out / "journal.jsonl") if e["event"] == "finished"]
    assert set(Counter(e["trial_id"] for e in finished).values()) == {1}


def _num_interleaved(out: Path) -> int:
    """Return how many trials of a round have been started."""
    events = list(lines_of(out / "journal.jsonl")) if (out / "journal.jsonl").exists() else []
    trials = [e["trial"] for e in events if e["event"] == "asked"]
    ids = {trial["id"] for trial in trials if trial["interleaved"]}
    return len([e for e in events if e["event"] == "started" and e["trial_id"] in ids])
