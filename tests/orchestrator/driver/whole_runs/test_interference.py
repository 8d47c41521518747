"""A real sweep with slower co-located trials: through Ray, from the check to the report."""

import json
import os
from pathlib import Path

import pandas as pd
import pytest

from orchestrator.search.stages.interference import ROUNDS
from tests.conftest import RunCli
from tests.orchestrator.helpers.journalled import lines_of

SWEEP = """
import os
import time
from pathlib import Path

from orchestrator import Rigor, Sweep, Trainable, choice, knobs, maximize, both
from orchestrator.search import Grid

MARKS = Path({marks!r})


@knobs
class Config:
    step_ms: float = both(default=6.0, ge=0, doc="how long a step sleeps")


def is_co_located():
    # A trial that was stopped leaves its mark, but no process.
    return sum(Path("/proc", mark.name).exists() for mark in MARKS.iterdir()) > 1


def train(config, run):
    (MARKS / str(os.getpid())).touch()
    for epoch in run.epochs():
        for _ in run.batches(range(50), samples=lambda _: 8):
            # As if caches and memory were shared: half as fast beside another trial.
            time.sleep(config.step_ms / 1000 * (2 if is_co_located() else 1))
        run.report(val_acc=0.9)


SWEEP = Sweep(
    Trainable(train, Config, reports=[maximize("val_acc")], preload=["torch"],
              name="interfering"),
    question="Are co-located trials as fast as isolated ones?",
    space=Config(step_ms=choice(6.0, 4.0)),
    epochs=5,  # a trial is longer than it takes to start another one beside it
    search=Grid(),
    rigor=Rigor(confirm=0, max_repeats=1, check_isolated=1),
    cores_per_trial=1,
)
"""


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one core has no neighbour")
def test_where_co_located_trials_are_slower_all_run_isolated_from_then_on(
    run_cli: RunCli, tmp_path: Path
) -> None:
    marks, out, file = tmp_path / "marks", tmp_path / "run", tmp_path / "interfering.py"
    marks.mkdir()
    file.write_text(SWEEP.format(marks=str(marks)))

    run_cli(file, "--out", out, "--max-concurrent", "2", "--no-mlflow", timeout_s=280)

    trials = pd.read_parquet(out / "trials.parquet")
    probes = trials[trials["stage"] == "probe"]
    compared = probes[probes["repeat"] <= ROUNDS]
    assert set(compared["state"]) == {"completed"}
    assert compared["isolation"].value_counts().to_dict() == {"exclusive": 3, "leased": 3}
    others = compared.groupby("isolation")["metrics.others_cores"].median()
    assert others["leased"] > 0.7, "background trials ran beside most of them"

    isolated = trials[(trials["stage"] == "train") & (trials["isolation"] == "exclusive")]
    assert set(isolated["params.step_ms"]) == {4.0, 6.0}
    notes = [e["text"] for e in lines_of(out / "journal.jsonl") if e["event"] == "note"]
    assert any("every trial runs isolated from here on" in note for note in notes)
    recommended = json.loads((out / "recommended.json").read_text())
    assert recommended["config"]["step_ms"] == 4.0, "the fastest of those isolated"
    assert recommended["interference"]["ratio_to_isolated"] == pytest.approx(0.5, abs=0.1)
    assert "slower than isolated ones" in recommended["interference"]["text"]
    front = pd.read_csv(out / "front.csv")
    assert set(front["group"]) == {"trials isolated", "trials co-located"}
