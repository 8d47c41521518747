"""Files and last lines of a run: tables, report, recommendation."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from orchestrator.driver.trackers import Trackers
from orchestrator.rules import SelectionRule


@dataclass(frozen=True, kw_only=True)
class Written:
    """Result of writing the files of a run.

    Attributes:
        lines: The lines to print last.
        recommends: True if a config is recommended.
    """

    lines: list[str]
    recommends: bool


def write_results(run_dir: Path, rule: SelectionRule, trackers: Trackers, code: int) -> Written:
    """Write the tables and the report of a run, and close its trackers.

    Args:
        run_dir: The run directory, whose journal is complete.
        rule: The selection rule; one that is a function is not in the files.
        trackers: The run's trackers.
        code: Its exit code.
    """
    # Not at the top: pandas is imported while Ray comes up, or at the end.
    import pandas as pd

    from orchestrator.analysis.report.summary import summary
    from orchestrator.analysis.report.write import write_all
    from orchestrator.analysis.tables.load import write_run

    try:
        # Of tables this small Arrow's texts take a tenth of the time more than Python's.
        with pd.option_context("mode.string_storage", "python"):
            tables = write_run(run_dir)
            tables = replace(tables, sweep=replace(tables.sweep, rule=rule))
            found = write_all(tables, run_dir)
    finally:
        # Even if the tables fail: MLflow is to have all that the journal has.
        last_lines = trackers.close(code)
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    lines = [*summary(tables, found, run_dir=run_dir, width=width), *last_lines]
    return Written(lines=lines, recommends=found.config is not None)
