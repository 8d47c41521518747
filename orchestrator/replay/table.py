"""The recorded runs of a run directory, read from its journal."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from orchestrator.errors import RunDirectoryError
from orchestrator.kernel.events import Started, Timed
from orchestrator.kernel.journal import read_journal, read_steps
from orchestrator.machine import Machine, Node
from orchestrator.measurement.blocks import Block, Row
from orchestrator.replay.drawing import Recording
from orchestrator.replay.recorded import RecordedRun
from orchestrator.storage.files import RunFile
from orchestrator.storage.history import TrialHistory, read_history
from orchestrator.storage.sweep_record import SweepRecord, read_sweep
from orchestrator.trial import Report, Trial, TrialResult, TrialState


@dataclass(frozen=True, kw_only=True)
class RecordedTable:
    """The runs that a sweep has left.

    Attributes:
        path: Its run directory.
        sweep: Its record.
        recordings: Its runs, in the order in which they were asked for.
    """

    path: Path
    sweep: SweepRecord
    recordings: Sequence[Recording]

    @property
    def metrics(self) -> frozenset[str]:
        """Return the names of the figures that any run has."""
        return frozenset(name for one in self.recordings for name in one.run.metrics)

    def machine(self, *, cores: int | None = None, nodes: int | None = None) -> Machine:
        """Return the simulated machine.

        Args:
            cores: Cores of a node that trials may use. Default: those that the recorded trials
                had at a time.
            nodes: Number of nodes. Default: as many as there were.
        """
        sweep = self.sweep
        names = sorted({*sweep.nodes}) or ["node"]
        if nodes is not None:
            names = [f"node-{index}" for index in range(nodes)]
        gpus = list(sweep.hardware.get("gpus", ()))
        own = Node(
            name="",
            cpus=cores or sweep.cores_per_trial * sweep.capacity.per_node,
            gpus=len(gpus),
            gpu_name=str(gpus[0]).partition(",")[0] if gpus else "",
        )
        return Machine(nodes=tuple(replace(own, name=name) for name in names))


def read_recorded(run_dir: Path) -> RecordedTable:
    """Return the recorded runs of a run directory.

    Raises:
        RunDirectoryError: It is none, it is a replay itself, or no trial of it has ended.
    """
    sweep, where = read_sweep(run_dir), f"--table {run_dir}"
    if sweep.replayed:
        raise RunDirectoryError(
            f"{where}: is itself a replay, of {sweep.replayed}", f"give --table {sweep.replayed}"
        )
    if not (run_dir / RunFile.JOURNAL).is_file():
        raise RunDirectoryError(
            f"{where}: has no {RunFile.JOURNAL}, which a replay reads the runs from"
        )
    history = read_history(read_journal(run_dir / RunFile.JOURNAL))
    blocks = _blocks(run_dir / RunFile.STEPS)
    pieces: dict[str, list[Recording]] = {}
    for trial in history.trials.values():
        if (recording := _recording(trial, blocks.get(trial.trial.id, ()))) is not None:
            pieces.setdefault(trial.trial.curve or trial.trial.id, []).append(recording)
    if not pieces:
        raise RunDirectoryError(f"{where}: no trial of it has run to an end")
    recordings = tuple(_joined(of_curve) for of_curve in pieces.values())
    return RecordedTable(path=run_dir, sweep=sweep, recordings=recordings)


def _recording(history: TrialHistory, blocks: Sequence[Row]) -> Recording | None:
    """Return the run of a trial; None where it has not run to an end."""
    result = history.result
    if result is None or history.running or result.state is TrialState.NOT_RUN:
        return None
    reports, rest = _with_blocks(_monotone(report for _, report in history.reports), blocks)
    wall_s = result.wall_s or 0.0
    run = RecordedRun(
        reports=reports,
        wall_s=wall_s,
        held_s=_held_s(history, wall_s),
        state=result.state,
        reason=result.reason,
        metrics=history.figures(),
        tags=result.tags,
        budget=replace(history.trial.budget, pause_after=None),
        device=result.device,
        last_blocks=rest,
        tested=history.trial.evaluate_test,
        gave_up=_gave_up(history.trial, result, reports),
    )
    return Recording(trial=history.trial, run=run)


def _gave_up(trial: Trial, result: TrialResult, reports: Sequence[Report]) -> bool:
    """Return True where its own training function has stopped a trial.

    One that a search has stopped has no reason; the reason of one that is paused is its pause.
    """
    if result.state is not TrialState.STOPPED or not result.reason:
        return False
    pause_after = trial.budget.pause_after
    return pause_after is None or not reports or reports[-1].epoch < pause_after


def _held_s(history: TrialHistory, wall_s: float) -> float:
    """Return the seconds from its start to its row: its ceilings were measured meanwhile.

    Interleaved trials held their cores together, each for its own time slices.
    """
    if history.started_at is None or history.finished_at is None or history.trial.interleaved:
        return wall_s
    return max(history.finished_at - history.started_at, wall_s)


def _monotone(reports: Iterable[Report]) -> list[Report]:
    """Return reports on one clock: that of a retry begins at 0 again."""
    offset_s, last_s, ordered = 0.0, 0.0, list[Report]()
    for report in reports:
        if offset_s + report.elapsed_s < last_s:
            offset_s = last_s
        last_s = offset_s + report.elapsed_s
        ordered.append(replace(report, elapsed_s=last_s))
    return ordered


def _with_blocks(
    reports: Sequence[Report], blocks: Sequence[Row]
) -> tuple[list[Report], list[Row]]:
    """Return the reports, each with the blocks up to it, and the blocks after the last."""
    rest, filled = deque(blocks), list[Report]()
    for report in reports:
        own = list[Row]()
        while rest and Block.from_row(rest[0]).epoch < report.epoch:
            own.append(rest.popleft())
        filled.append(replace(report, blocks=tuple(own)))
    return filled, list(rest)


def _blocks(path: Path) -> dict[str, list[Row]]:
    """Return the blocks of steps of each trial's last start."""
    blocks: dict[str, list[Row]] = defaultdict(list)
    for event in read_steps(path) if path.exists() else ():
        if isinstance(event, Started):
            blocks.pop(event.trial_id, None)
        elif isinstance(event, Timed):
            blocks[event.trial_id] += event.blocks
    return blocks


def _joined(pieces: Sequence[Recording]) -> Recording:
    """Return one run of the trials of a learning curve, each of which went on from the last."""
    whole, *later = pieces
    for piece in later:
        begun = piece.run.reports[0].restored_epochs if piece.run.reports else 0
        if not piece.run.reports and piece.run.ended_by_itself:
            begun = whole.run.num_epochs  # it ended before it had trained anything more
        if begun and begun == whole.run.num_epochs:
            whole = Recording(trial=piece.trial, run=_appended(whole.run, piece.run))
        elif piece.run.num_epochs >= whole.run.num_epochs:  # it was trained from the start
            whole = piece
    return whole


def _appended(run: RecordedRun, rest: RecordedRun) -> RecordedRun:
    moved = [
        replace(report, elapsed_s=report.elapsed_s + run.wall_s, restored_epochs=0)
        for report in rest.reports
    ]
    return replace(
        rest,
        reports=[*run.reports, *moved],
        wall_s=run.wall_s + rest.wall_s,
        held_s=run.wall_s + (rest.held_s or rest.wall_s),
    )
