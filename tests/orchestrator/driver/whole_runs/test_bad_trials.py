"""Trials that fail, or report what no table has: each has a row, and harms no other trial."""

import json
from pathlib import Path

import pandas as pd

from tests.conftest import RunCli

SWEEP = r"""
from orchestrator import Isolation, Rigor, Sweep, Trainable, both, choice, knobs, maximize

WRONG = [
    "nothing", "inf", "percent", "vector", "surrogates", "long", "name", "nan",
    "type", "shape", "disk", "late", "lazy",
]


@knobs
class Config:
    which: int = both(default=0, doc="what goes wrong")


def train(config, run):
    wrong = WRONG[config.which]
    for _ in run.epochs():
        for number in run.batches([1] * 30, samples=lambda batch: 10):
            match wrong:
                case "type": number.nothing
                case "shape": raise RuntimeError("mat1 and mat2 shapes cannot be multiplied (2x3)")
                case "disk": raise OSError(5, "Input/output error")
        match wrong:
            case "inf": run.report(val_acc=float("inf"))
            case "percent": run.report(val_acc=93.4)
            case "vector": run.report(val_acc=[0.5, 0.6])
            case "surrogates": raise ValueError("bad \udcff\ud800 \x1b[31m text\x00")
            case "long": raise ValueError("begin " + "x" * 10_000_000 + " end")
            case "name": run.report(**{"val_acc": 0.5, "m\udcff\n\x00": 1.0, "x" * 100_000: 2.0})
            case "nan": run.report(val_acc=float("nan"), own=1.0)
            case _: run.report(val_acc=0.5)
        if wrong == "late":
            raise KeyError("after a report")


def trained(config, run):
    return (i for i in [1]) if WRONG[config.which] == "lazy" else train(config, run)


SWEEP = Sweep(
    Trainable(trained, Config, reports=[maximize("val_acc")], preload=()),
    question="Does one bad trial cost the others?",
    space=Config(which=choice(*range(len(WRONG)))),
    rigor=Rigor(confirm=0, max_repeats=1, retries=1), isolation=Isolation.SHARED,
)
"""


def test_bad_trials_have_rows_and_what_would_fail_again_is_not_tried_again(
    run_cli: RunCli, tmp_path: Path
) -> None:
    run_dir = tmp_path / "run"
    (tmp_path / "bad.py").write_text(SWEEP)
    words = ("--executor", "inline", "--no-mlflow")
    done = run_cli("bad.py", "--out", run_dir, *words, page=True)
    assert "Traceback" not in done.stdout + done.stderr

    trials = pd.read_parquet(run_dir / "trials.parquet").set_index("params.which").sort_index()
    ended = {0: "completed", 1: "infeasible", 6: "completed", 7: "completed"}
    assert dict(trials["state"]) == {which: ended.get(which, "failed") for which in range(13)}
    attempts = trials["tags.attempts"].loc[8:]
    assert attempts.tolist() == ["1", "1", "2", "2", "1"], "disk and late may end otherwise"
    reasons = trials["reason"].fillna("").map(lambda reason: reason.partition("\n")[0])
    assert "val_acc is inf after step 30" in reasons[1]
    assert "val_acc is 93.4, and accuracies are fractions of 1: divide it by 100" in reasons[2]
    assert "val_acc is reported as a list: report one number" in reasons[3]
    assert r"bad \udcff\ud800 \x1b[31m text\x00" in reasons[4]
    assert "characters left out" in trials["reason"][5]
    assert "reported none of what the sweep asks for" in trials["reason"][12]
    assert trials["reason"].fillna("").map(len).max() < 30_000
    assert r"metrics.m\udcff\n\x00" in trials.columns
    assert pd.isna(trials["metrics.val_acc"][7])

    content = json.loads((run_dir / "recommended.json").read_text())
    assert content["config"] is not None
    assert (run_dir / "report.html").stat().st_size < 3_000_000
    assert (run_dir / "journal.jsonl").stat().st_size < 300_000
