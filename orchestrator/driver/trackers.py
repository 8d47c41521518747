"""The trackers of a run, console and MLflow; and what a run writes and prints at its end."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Final

from rich.console import Console

from orchestrator.driver.analyst import Analyst, best_so_far
from orchestrator.driver.machine_load import MachineLoad
from orchestrator.driver.request import Request
from orchestrator.formats import clock
from orchestrator.kernel.events import Event
from orchestrator.rules import SelectionRule
from orchestrator.tracking.console.live import Lines
from orchestrator.tracking.mlflow import MlflowMirror

MLFLOW_S: Final = 120.0
"""Longest wait for MLflow at the end; ``--resume`` sends it the rest."""


def showing(text: str) -> AbstractContextManager[object]:
    """Show ``text`` on the terminal meanwhile; nothing in a file or a pipe."""
    is_shown = text and sys.stderr.isatty()
    return Console(stderr=True).status(text) if is_shown else nullcontext()


def make_trackers(
    request: Request,
    analyst: Analyst,
    load: MachineLoad | None,
    run_dir: Path,
    past: Sequence[Event],
) -> tuple[Lines, MlflowMirror | None]:
    """Return the trackers of a run: the console, and the mirror in MLflow if there is one.

    Args:
        request: What was asked for.
        analyst: Knows the candidates of a factored search.
        load: Reads the load of this machine; None where trials run elsewhere.
        run_dir: The run directory.
        past: Events of earlier processes.
    """
    options = request.options
    view = Lines(
        past=past,
        find_best=lambda so_far: best_so_far(so_far, analyst.candidates),
        read_load=lambda: None if load is None else load.read(),
    )
    if options.no_mlflow:
        return view, None
    uri, name = options.tracking_uri or "", options.experiment or ""
    return view, MlflowMirror(run_dir, uri, experiment=name, say=view.note, bound_s=MLFLOW_S)


def close_trackers(console: Lines, mirror: MlflowMirror | None, exit_code: int) -> list[str]:
    """Close a run's trackers, MLflow's last; return what is worth printing last."""
    lines = console.close(exit_code)
    if mirror is None:
        return lines
    most = clock(MLFLOW_S)
    console.phase(f"waiting for MLflow to take the last trials, at most {most} ...")
    return [*lines, *mirror.close(exit_code)]


def write_results(
    run_dir: Path, rule: SelectionRule, close: Callable[[], list[str]]
) -> tuple[list[str], bool]:
    """Write the tables and the report of a run, and close its trackers.

    Args:
        run_dir: The run directory, with a complete journal.
        rule: The selection rule; the files do not contain a rule that is a function.
        close: Closes the trackers, and returns their last lines.

    Returns:
        The lines to print last; and True if a config is recommended.
    """
    # Not at the top: pandas is imported while Ray comes up, or at the end.
    import pandas as pd

    from orchestrator.analysis.report.console import summary
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
        last_lines = close()
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    lines = [*summary(tables, found, run_dir=run_dir, width=width), *last_lines]
    return lines, found.config is not None
