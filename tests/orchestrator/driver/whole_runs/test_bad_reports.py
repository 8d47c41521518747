"""A trial that reports what no table can hold costs itself alone."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from tests.conftest import RunCli

SWEEP = r"""
from orchestrator import Rigor, Sweep, Trainable, both, choice, knobs, maximize

BAD = ["fine", "inf", "percent", "vector", "surrogates", "long", "name", "nan"]


@knobs
class Config:
    which: int = both(default=0, doc="what goes wrong")


def train(config, run):
    for _ in run.epochs():
        for _ in run.batches([1] * 30, samples=lambda batch: 10):
            pass
        match BAD[config.which]:
            case "inf": run.report(val_acc=float("inf"))
            case "percent": run.report(val_acc=93.4)
            case "vector": run.report(val_acc=[0.5, 0.6])
            case "surrogates": raise ValueError("bad \udcff\ud800 \x1b[31m text\x00")
            case "long": raise ValueError("begin " + "x" * 10_000_000 + " end")
            case "name": run.report(**{"val_acc": 0.5, "m\udcff\n\x00": 1.0, "x" * 100_000: 2.0})
            case "nan": run.report(val_acc=float("nan"), own=1.0)
            case _: run.report(val_acc=0.5)


SWEEP = Sweep(
    Trainable(train, Config, reports=[maximize("val_acc")], preload=()),
    question="Does one bad trial cost the others?",
    space=Config(which=choice(*range(len(BAD)))),
    rigor=Rigor(confirm=0, max_repeats=1, retries=0),
)
"""


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bad") / "run"


def test_tables_and_report_are_whole(run_cli: RunCli, run_dir: Path) -> None:
    (run_dir.parent / "bad.py").write_text(SWEEP)
    words = ["--executor", "inline", "--no-mlflow", "--isolation", "shared"]
    done = run_cli(run_dir.parent / "bad.py", "--out", run_dir, *words, page=True)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stdout + done.stderr

    trials = pd.read_parquet(run_dir / "trials.parquet").set_index("params.which")
    ended = {0: "completed", 1: "infeasible", 6: "completed", 7: "completed"}
    assert dict(trials["state"]) == {which: ended.get(which, "failed") for which in range(8)}
    reasons = trials["reason"].fillna("").map(lambda reason: reason.partition("\n")[0])
    assert "val_acc is inf after step 30" in reasons[1]
    assert "val_acc is 93.4, and accuracies are fractions of 1: divide it by 100" in reasons[2]
    assert "val_acc is reported as a list: report one number" in reasons[3]
    assert r"bad \udcff\ud800 \x1b[31m text\x00" in reasons[4]
    assert "characters left out" in trials["reason"][5]
    assert trials["reason"].fillna("").map(len).max() < 30_000
    assert r"metrics.m\udcff\n\x00" in trials.columns
    assert pd.isna(trials["metrics.val_acc"][7])

    content = json.loads((run_dir / "recommended.json").read_text())
    assert content["config"] is not None
    assert (run_dir / "report.html").stat().st_size < 3_000_000
    assert (run_dir / "journal.jsonl").stat().st_size < 300_000


def test_a_journal_of_before_is_read(run_cli: RunCli, run_dir: Path) -> None:
    """Journals written when nothing was bounded hold such reasons, names and figures."""
    journal = run_dir / "journal.jsonl"
    lines = journal.read_text().splitlines()
    number, line = next(
        (number, line)
        for number, line in enumerate(lines)
        if '"finished"' in line and '"completed"' in line
    )
    event = json.loads(line)
    event["result"]["metrics"] |= {"a\ud800": 1.0, "val_acc": float("inf"), "b" * 9999: 1.0}
    event["result"]["tags"]["own"] = "\udcff"
    lines[number] = json.dumps(event)
    journal.write_text("\n".join(lines) + "\n")
    again = run_cli("--resume", run_dir, "--executor", "inline")
    assert again.returncode == 0, again.stderr
    assert "Traceback" not in again.stderr
