"""The files of a run directory, by name."""

from __future__ import annotations

from contextlib import suppress
from enum import StrEnum
from pathlib import Path

from orchestrator.errors import nearest


class RunFile(StrEnum):
    """A file of a run directory: ``run_dir / RunFile.SWEEP``."""

    SWEEP = "sweep.json"
    """The sweep as it was resolved, and where it ran."""
    JOURNAL = "journal.jsonl"
    """Every fact of the run, in order; all else is made of it and of ``sweep.json``."""
    STEPS = "steps.jsonl"
    """The times of steps, written like the journal."""
    WARM_START = "warm_start.json"
    """What the search was told of earlier runs; absent without a warm start."""
    TRIALS = "trials.parquet"
    TRIALS_TEXT = "trials.csv"
    CURVES = "curves.parquet"
    STEP_TIMES = "steps.parquet"
    CANDIDATES = "candidates.parquet"
    """The configs of a factored search, trained or not; absent for other searches."""
    COMPOSED = "composed.parquet"
    """These configs with figures composed of probes and learning curves."""
    COMPOSED_TEXT = "composed.csv"
    OUTPUT = "output"
    """A folder: what each trial has printed, ``TRIAL_ID.txt``; absent where none has."""
    FRONT = "front.csv"
    FRONT_PLOT = "front.svg"
    RECOMMENDED = "recommended.json"
    ANSWER = "answer.md"
    """The answer in Markdown, as MLflow's page has it; to be pasted anywhere."""
    REPORT = "report.html"
    MLFLOW = "mlflow.txt"
    """What shows the run in MLflow's pages: an address, below a command where it needs one."""
    FIGURES = "figures"
    """A folder: the table of each of the report's figures, and its tables, as CSV."""


def nearest_run(folder: Path) -> str:
    """Return the run directory beside ``folder`` with the nearest name, as a question; or ""."""
    with suppress(OSError):
        runs = [path.parent.name for path in folder.parent.glob(f"*/{RunFile.SWEEP}")]
        return nearest(folder.name, [name for name in runs if name != folder.name])
    return ""
