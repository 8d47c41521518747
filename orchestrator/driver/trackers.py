"""The trackers of a run, console and MLflow; and what a run writes and prints at its end."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from rich.console import Console

from orchestrator.driver.analyst import Analyst, best_so_far
from orchestrator.driver.machine_load import MachineLoad
from orchestrator.driver.request import Request
from orchestrator.formats import clock
from orchestrator.kernel.events import Event
from orchestrator.kernel.parts import Fold
from orchestrator.rules import SelectionRule
from orchestrator.tracking.console.live import Lines
from orchestrator.tracking.mlflow import MlflowMirror
from orchestrator.tracking.mlflow.uris import shown

MLFLOW_S: Final = 120.0
"""Longest wait for MLflow at the end; ``--resume`` sends it the rest."""


def showing(text: str) -> AbstractContextManager[object]:
    """Show ``text`` on the terminal meanwhile; nothing in a file or a pipe."""
    is_shown = text and sys.stderr.isatty()
    return Console(stderr=True).status(text) if is_shown else nullcontext()


@dataclass(frozen=True, kw_only=True)
class Trackers:
    """The trackers of a run.

    Attributes:
        console: What the user sees.
        mlflow: The mirror in MLflow, or None.
        uri: Its URI, without secrets.
    """

    console: Lines
    mlflow: MlflowMirror | None
    uri: str = ""

    @property
    def all(self) -> list[Fold]:
        """Return them in the order in which they receive events."""
        return [self.console] if self.mlflow is None else [self.console, self.mlflow]

    def close(self, exit_code: int) -> list[str]:
        """Close them, and print that MLflow is waited for; return what is worth printing last."""
        lines = self.console.close(exit_code)
        if self.mlflow is None:
            return lines
        most = clock(MLFLOW_S)
        text = f"waiting for MLflow to take the last trials, at most {most}: {self.uri} ..."
        self.console.phase(text)
        return [*lines, *self.mlflow.close(exit_code)]


def make_trackers(
    request: Request,
    analyst: Analyst,
    load: MachineLoad | None,
    run_dir: Path,
    past: Sequence[Event],
) -> Trackers:
    """Return the trackers of a run.

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
        return Trackers(console=view, mlflow=None)
    assert options.tracking_uri is not None
    uri = options.tracking_uri
    name = options.experiment or ""
    mirror = MlflowMirror(run_dir, uri, experiment=name, say=view.note, bound_s=MLFLOW_S)
    return Trackers(console=view, mlflow=mirror, uri=shown(uri))


def write_results(
    run_dir: Path, rule: SelectionRule, trackers: Trackers, code: int
) -> tuple[list[str], bool]:
    """Write the tables and the report of a run, and close its trackers.

    Args:
        run_dir: The run directory, with a complete journal.
        rule: The selection rule; the files do not contain a rule that is a function.
        trackers: The run's trackers.
        code: Its exit code.

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
        last_lines = trackers.close(code)
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    lines = [*summary(tables, found, run_dir=run_dir, width=width), *last_lines]
    return lines, found.config is not None
