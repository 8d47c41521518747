"""The confirm stage of a real sweep, whose runs are interleaved."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.conftest import RunCli, StartCli
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
    """Through Ray. Both executors: ``execution/test_interleaving.py``."""
    out = tmp_path / "run"

    done = run_cli(sweep_file(tmp_path), "--out", out, "--no-mlflow")

    assert done.returncode == 0, done.stderr
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
    said = json.loads((out / "recommended.json").read_text())
    ours, theirs = (which["figures"]["samples_per_s"] for which in (said, said["baseline"]))
    assert 1.4 < ours / theirs < 2.6, "13 ms a step beside 7 ms"
    assert (said["speedup"]["basis"], said["speedup"]["num_pairs"]) == ("confirm", 2)


def _order(events: Sequence[dict[str, Any]], ids: pd.Series[Any]) -> list[str]:
    kinds = ("started", "finished")
    return [e["event"] for e in events if e["trial_id"] in set(ids) and e["event"] in kinds]


@pytest.mark.slow
def test_a_driver_killed_amid_a_round_leaves_no_stopped_process_and_is_resumed(
    start_cli: StartCli, run_cli: RunCli, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    common = ("--executor", "inline", "--no-mlflow")
    driver = start_cli(sweep_file(tmp_path), "--out", out, *common)
    _wait_for_slices(out, driver)
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    # The guard in conftest fails this test if any process of theirs is left.

    done = run_cli("--resume", out, *common)

    assert done.returncode == 0, done.stderr
    rows = confirm_rows(out)
    assert list(rows["state"]) == ["completed"] * 4
    assert set(rows["tags.interleaved"]) == {"true"}
    finished = [e for e in lines_of(out / "journal.jsonl") if e["event"] == "finished"]
    assert set(Counter(e["trial_id"] for e in finished).values()) == {1}


def _wait_for_slices(out: Path, driver: subprocess.Popen[str]) -> None:
    """Wait until both trials of a round have been started."""
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline and driver.poll() is None:
        time.sleep(0.1)
        if not (out / "journal.jsonl").exists():
            continue
        events = lines_of(out / "journal.jsonl")
        asked = {e["trial"]["id"] for e in events if e["event"] == "asked" and _interleaved(e)}
        if len([e for e in events if e["event"] == "started" and e["trial_id"] in asked]) == 2:
            time.sleep(0.6)
            return
    pytest.fail(f"no round was started ({driver.poll()})")


def _interleaved(event: dict[str, Any]) -> bool:
    return bool(event["trial"]["interleaved"])
