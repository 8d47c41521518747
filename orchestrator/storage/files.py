"""The files of a run directory, by name."""

from __future__ import annotations

from enum import StrEnum


class RunFile(StrEnum):
    """A file of a run directory: ``run_dir / RunFile.SWEEP``."""

    SWEEP = "sweep.json"
    """The sweep as it was resolved, and where it ran."""
    JOURNAL = "journal.jsonl"
    """Every fact of the run, in order; all else is made of it and of ``sweep.json``."""
    STEPS = "steps.jsonl"
    """The times of steps, written like the journal."""
    TRIALS = "trials.parquet"
    TRIALS_TEXT = "trials.csv"
    CURVES = "curves.parquet"
    STEP_TIMES = "steps.parquet"
    FRONT = "front.csv"
    FRONT_PLOT = "front.png"
    RECOMMENDED = "recommended.json"
    REPORT = "report.html"
