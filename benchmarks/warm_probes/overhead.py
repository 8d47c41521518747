"""Seconds that a probe takes beside its steps, from a sweep of probes with MLflow on."""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pandas as pd

from benchmarks.side_by_side import ROOT, output_of


def beside_steps(name: str, executor: str, folder: Path, data: Sequence[str]) -> tuple[float, ...]:
    """Run a sweep; return the seconds beside the steps of each probe but the last.

    That is the time from the start of a probe to the start of the next one, less the time in its
    training loop: to fork the process, to load the trainable and its data, to make the model, to
    report, to end the process, to journal the result and to ask for the next. Of a probe that was
    run again, since other load had contaminated it, the second run counts.

    Args:
        name: Of the sweep: a module beside this one.
        executor: ``inline`` or ``ray``.
        folder: An empty one.
        data: Options that say where the data lies.
    """
    sweep = ROOT / "benchmarks" / "warm_probes" / f"{name}.py"
    out = folder / f"{name}-{executor}"
    uri = f"sqlite:///{folder}/{name}-{executor}.db"
    command: list[str | Path] = [sys.executable, "-m", "orchestrator", sweep, *data]
    output_of([*command, "--executor", executor, "--out", out, "--tracking-uri", uri], folder)
    train_s = pd.read_parquet(out / "trials.parquet").set_index("trial_id")["metrics.train_s"]
    events = map(json.loads, (out / "journal.jsonl").read_text().splitlines())
    starts: dict[str, list[float]] = {}
    for event in events:
        if event["event"] == "started":
            starts.setdefault(event["trial_id"], []).append(event["at"])
    return tuple(
        starts[after][0] - starts[probe][-1] - train_s[probe] for probe, after in pairwise(starts)
    )


def row(what: str, executor: str, seconds: Sequence[float], limit_s: float) -> str:
    """Return a row of the table: median, quartiles, number of probes."""
    low, median, high = statistics.quantiles(seconds, n=4)
    verdict = "within" if median <= limit_s else "above"
    return (
        f"| {what} | {executor} | {median:.2f} s ({verdict} {limit_s:g} s) | "
        f"{low:.2f} to {high:.2f} s | {len(seconds)} |"
    )
