"""Followers of a run: console, MLflow, own trackers, other files; the report and last lines."""

import shutil
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Final

from rich.console import Console

from orchestrator.driver.analyst import Analyst, best_so_far
from orchestrator.driver.request import Request
from orchestrator.execution.process.fork_client import output_of
from orchestrator.formats import clock
from orchestrator.kernel.events import Ended, Event, Finished, Reported, Started, Timed
from orchestrator.kernel.executor import log_in
from orchestrator.kernel.journal import Journal
from orchestrator.kernel.parts import Fold
from orchestrator.rules import SelectionRule
from orchestrator.storage.files import RunFile
from orchestrator.tracking.console.live import Lines
from orchestrator.tracking.mlflow import MlflowMirror
from orchestrator.tracking.trackers import Trackers
from orchestrator.trial import TrialState

MLFLOW_S: Final = 120.0
"""Longest wait for MLflow at the end; ``--resume`` sends it the rest."""


def showing(text: str) -> AbstractContextManager[object]:
    """Show ``text`` on the terminal meanwhile; nothing in a file or a pipe."""
    is_shown = text and sys.stderr.isatty()
    return Console(stderr=True).status(text) if is_shown else nullcontext()


def make_trackers(
    request: Request,
    analyst: Analyst,
    run_dir: Path,
    past: Sequence[Event],
    now: Callable[[], float],
) -> tuple[Lines, MlflowMirror | None]:
    """Return the trackers of a run: the console, and the mirror in MLflow if there is one.

    Args:
        request: What was asked for.
        analyst: Knows the candidates of a factored search.
        run_dir: The run directory.
        past: Events of earlier processes.
        now: Unix time now, of the run's clock.
    """
    options = request.options
    view = Lines(past=past, now=now, find_best=lambda run: best_so_far(run, analyst.candidates))
    if options.no_mlflow:
        return view, None
    uri, name = options.tracking_uri or "", options.experiment or ""
    return view, MlflowMirror(run_dir, uri, experiment=name, say=view.note, bound_s=MLFLOW_S)


def close_trackers(
    console: Lines, own: Trackers | None, mirror: MlflowMirror | None, exit_code: int
) -> list[str]:
    """Close a run's trackers, MLflow's last; return what is worth printing last."""
    lines = [*console.close(exit_code), *(own.close() if own is not None else ())]
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


# -- files besides the journal: the outputs of trials, and the times of steps


class Outputs(Fold):
    """Fold that keeps the outputs of trials.

    Args:
        run_dir: The run directory.
        scratch: The driver's folder for trials, where a trial of this machine has its output.
        note: Takes a note for the user.
    """

    def __init__(self, run_dir: Path, scratch: Path, note: Callable[[str], None]) -> None:
        self._note = note
        self._folder = run_dir / RunFile.OUTPUT
        self._scratch = scratch

    def apply(self, event: Event) -> None:
        """Keep the output of a trial that has ended, or note that this is not possible."""
        if not isinstance(event, Finished):
            return
        text = event.result.output
        if not text and event.result.state is TrialState.STOPPED:  # its supervisor was not asked
            text = output_of(log_in(self._scratch, event.trial_id))
        if not text:
            return
        try:
            self._folder.mkdir(exist_ok=True)
            (self._folder / f"{event.trial_id}.txt").write_bytes(text.encode(errors="replace"))
        except OSError as error:
            why = error.strerror or error
            self._note(f"output of trials cannot be kept in {self._folder}: {why}")


class StepTimes(Fold):
    """The times of steps, in a file separate from the journal: ``steps.jsonl``.

    Args:
        journal: The journal; the file is in its folder.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._file: Journal | None = None

    def apply(self, event: Event) -> None:
        """Write the start of a trial's process, and the blocks of its reports and its result."""
        if isinstance(event, Started):
            self._write(Started(trial_id=event.trial_id))
        elif isinstance(event, Reported | Finished):
            timed = event.report if isinstance(event, Reported) else event.result
            if blocks := timed.blocks:
                self._write(Timed(trial_id=event.trial_id, blocks=blocks))
        elif isinstance(event, Ended) and self._file is not None:
            self._file.close()

    def _write(self, event: Event) -> None:
        if self._file is None:
            path = self._journal.path.parent / RunFile.STEPS
            self._file = Journal(path, now=self._journal.now)
        self._file.append(event)
