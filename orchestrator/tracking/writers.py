"""Trackers that come with the program: CSV and TensorBoard."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orchestrator.kernel.parts import Tracker
from orchestrator.storage.files import replace_file
from orchestrator.storage.history import cell_text
from orchestrator.trial import Report, Trial, TrialResult

if TYPE_CHECKING:
    from tensorboardX import SummaryWriter


class Csv(Tracker):
    """A table that grows with each trial: a row a report, then one with its state.

    Columns have the names of ``trials.csv`` and ``curves.parquet``.

    Args:
        file: The file; a relative path is within the run directory.
    """

    def __init__(self, file: str | Path = "progress.csv") -> None:
        self.file = Path(file)

    def finish(self, trial: Trial, result: TrialResult, reports: Sequence[Report]) -> None:
        """Append the rows of a trial; write the file anew where they have new columns."""
        path = self.run_dir / self.file
        rows = [_row(trial, metrics=report.metrics, **_progress(report)) for report in reports]
        ended = {"state": result.state, "reason": result.reason, "wall_s": result.wall_s}
        last = _progress(reports[-1]) if reports else {}
        rows.append(_row(trial, metrics=result.metrics, **last, **ended))
        names: list[str] = []
        if path.exists():
            with path.open(newline="", encoding="utf-8") as file:
                names = next(csv.reader(file), [])
        columns = list(dict.fromkeys([*names, *(name for row in rows for name in row)]))
        if columns == names:
            with path.open("a", newline="", encoding="utf-8") as file:
                csv.DictWriter(file, columns).writerows(rows)
            return
        if names:
            with path.open(newline="", encoding="utf-8") as file:
                rows = [*csv.DictReader(file), *rows]
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, lambda temporary: _write(temporary, columns, rows))


def _row(trial: Trial, *, metrics: Any, **cells: Any) -> dict[str, Any]:  # noqa: ANN401
    return {
        "trial_id": trial.id, "stage": trial.stage, "seed": trial.seed, "repeat": trial.repeat,
        "state": "", **cells,
        **{f"params.{name}": cell_text(value) for name, value in trial.config.items()},
        **{f"metrics.{name}": value for name, value in metrics.items()},
    }  # fmt: skip


def _progress(report: Report) -> dict[str, Any]:
    return {name: getattr(report, name) for name in ("step", "epoch", "samples", "elapsed_s")}


def _step(report: Report) -> int:
    """Return a step for a curve: commands and functions count epochs alone."""
    return report.step or report.epoch


def _write(path: Path, columns: Sequence[str], rows: Sequence[dict[str, Any]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(rows)


class TensorBoard(Tracker):
    """Curves while trials run, and the table of their knobs: ``tensorboard --logdir FOLDER``.

    Args:
        folder: A folder a trial is made in it; a relative path is within the run directory.
    """

    def __init__(self, folder: str | Path = "tensorboard") -> None:
        self.folder = Path(folder)
        self._writers: dict[str, tuple[SummaryWriter, int]] = {}

    def report(self, trial: Trial, report: Report) -> None:
        """Write the figures of a report, for which TensorBoard may be looking now."""
        writer = self._writer(trial, step := _step(report))
        for name, figure in report.metrics.items():
            writer.add_scalar(name, figure, step)
        writer.flush()

    def finish(self, trial: Trial, result: TrialResult, reports: Sequence[Report]) -> None:
        """Write the knobs with the final figures, and close the trial's file."""
        from tensorboardX.summary import hparams

        step = _step(reports[-1]) if reports else 0
        writer = self._writer(trial, step)
        knobs = {"stage": str(trial.stage), "state": str(result.state)} | {
            name: value if isinstance(value, (bool, int, float)) else cell_text(value)
            for name, value in trial.config.items()
        }
        for summary in hparams(knobs, result.metrics):
            writer.file_writer.add_summary(summary)
        for name, figure in result.metrics.items():
            if not reports or reports[-1].metrics.get(name) != figure:
                writer.add_scalar(name, figure, step)
        writer.close()
        del self._writers[trial.id]

    def _writer(self, trial: Trial, step: int) -> SummaryWriter:
        """Return the writer of a trial; one that purges later points where it starts again."""
        from tensorboardX import SummaryWriter  # may import torch

        writer, last = self._writers.get(trial.id, (None, 0))
        if writer is not None and step < last:
            writer.close()
        if writer is None or step < last:
            folder = self.run_dir / self.folder / f"{trial.stage}_{trial.id}"
            suffix = f".{step}"  # the name has whole seconds alone
            writer = SummaryWriter(str(folder), purge_step=step, filename_suffix=suffix)
        self._writers[trial.id] = writer, step
        return writer
