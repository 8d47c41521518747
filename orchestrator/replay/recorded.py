"""Recorded runs, and those of a run directory, read from its journal."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from orchestrator.errors import RunDirectoryError, SweepError
from orchestrator.kernel.journal import read_journal
from orchestrator.machine import Machine, Node
from orchestrator.storage.files import RunFile
from orchestrator.storage.history import TrialHistory, read_history
from orchestrator.storage.sweep_record import SweepRecord, read_sweep
from orchestrator.trial import Budget, Report, Trial, TrialState

V = TypeVar("V")


class ReplayError(SweepError):
    """The run that a trial asks for was not recorded."""


@dataclass(frozen=True, kw_only=True)
class RecordedRun:
    """One training run from its start to its end, as it was recorded or made.

    Attributes:
        reports: Its reports in order. ``elapsed_s`` never decreases.
        wall_s: Seconds from the start of its process to its end.
        ceilings_s: Seconds that it had its cores for longer, to measure its ceilings.
        state: How it ended.
        reason: Why it is not completed.
        metrics: Its final figures.
        tags: Its final verdicts.
        budget: Budget that it ran with; None: as many epochs as it reports.
        device: ``cpu``, or the GPU's name.
        gave_up: True where its own training function stopped it.
    """

    reports: Sequence[Report] = ()
    wall_s: float
    ceilings_s: float = 0.0
    state: TrialState = TrialState.COMPLETED
    reason: str = ""
    metrics: Mapping[str, float] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    budget: Budget | None = None
    device: str = "cpu"
    gave_up: bool = False

    @property
    def ended_by_itself(self) -> bool:
        """True where it failed, was infeasible or gave up: no budget would have made it longer."""
        return self.gave_up or self.state in (TrialState.FAILED, TrialState.INFEASIBLE)

    @property
    def taken_s(self) -> float:
        """Seconds that it had its cores."""
        return self.wall_s + self.ceilings_s

    @property
    def was_stopped(self) -> bool:
        """True where a search stopped it."""
        return self.state is TrialState.STOPPED and bool(self.reports)

    @property
    def num_epochs(self) -> int:
        """Epochs up to its last report."""
        return self.reports[-1].epoch if self.reports else 0

    def only(self, keep: Callable[[str], bool]) -> "RecordedRun":
        """Return the run with the figures and verdicts that ``keep`` allows by name."""

        def left(known: Mapping[str, V]) -> dict[str, V]:
            return {name: value for name, value in known.items() if keep(name)}

        reports = [replace(r, metrics=left(r.metrics), tags=left(r.tags)) for r in self.reports]
        return replace(self, reports=reports, metrics=left(self.metrics), tags=left(self.tags))


@dataclass(frozen=True, kw_only=True)
class Recording:
    """A recorded run, and the trial that it was.

    Attributes:
        trial: The trial; of a curve in pieces the last of them.
        run: The run.
    """

    trial: Trial
    run: RecordedRun


def machine_of(
    sweep: SweepRecord, *, cores: int | None = None, nodes: int | None = None
) -> Machine:
    """Return the machine that a recorded sweep is replayed on.

    Args:
        sweep: The recorded sweep.
        cores: Cores of a node that trials may use. Default: those that the recorded trials had at
            a time.
        nodes: Number of nodes. Default: as many as there were.
    """
    names = sorted({*sweep.nodes}) or ["node"]
    if nodes is not None:
        names = [f"node-{index}" for index in range(nodes)]
    gpus = list(sweep.hardware.get("gpus", ()))
    own = Node(
        name="",
        cpus=cores or sweep.cores_per_trial * sweep.capacity.per_node,
        gpus=len(gpus),
        gpu_name=str(gpus[0]).partition(",")[0] if gpus else "",
        memory_gib=2 * sweep.capacity.interleaved_gib,  # of which as much may be shared again
        gpu_memory_gib=sweep.capacity.interleaved_gpu_gib,
    )
    return Machine(nodes=tuple(replace(own, name=name) for name in names))


def read_recorded(run_dir: Path) -> tuple[SweepRecord, list[Recording]]:
    """Return the record of a run directory, and its runs in the order in which they were asked for.

    Raises:
        RunDirectoryError: It is none, it is a replay itself, or no trial of it has ended.
    """
    sweep, where = read_sweep(run_dir), f"--set replay.table={run_dir}"
    if sweep.replayed:
        raise RunDirectoryError(
            f"{where}: is itself a replay, of {sweep.replayed}",
            f"give --set replay.table={sweep.replayed}",
        )
    journal = run_dir / RunFile.JOURNAL
    history = read_history(read_journal(journal) if journal.is_file() else ())
    pieces: dict[str, list[Recording]] = {}
    for trial in history.trials.values():
        if (recording := _recording(trial)) is not None:
            pieces.setdefault(trial.trial.curve or trial.trial.id, []).append(recording)
    if not pieces:
        raise RunDirectoryError(f"{where}: no trial of it has run to an end")
    return sweep, [_joined(of_curve) for of_curve in pieces.values()]


def _recording(history: TrialHistory) -> Recording | None:
    """Return the run of a trial; None where it has not run to an end."""
    result = history.concluded
    if result is None or result.state is TrialState.NOT_RUN:
        return None
    budget = history.trial.budget
    run = RecordedRun(
        reports=_monotone(report for _, report in history.reports),
        wall_s=result.wall_s or 0.0,
        ceilings_s=(history.taken_s or 0.0) - (result.wall_s or 0.0),
        state=result.state,
        reason=result.reason,
        metrics=history.figures(),
        tags=result.tags,
        budget=budget.until(budget.epochs),
        device=result.device,
        # A trial that a search stopped has no reason.
        gave_up=result.state is TrialState.STOPPED and result.reason not in ("", budget.ending[1]),
    )
    return Recording(trial=history.trial, run=run)


def _monotone(reports: Iterable[Report]) -> list[Report]:
    """Return reports on one clock: a retry begins at 0 again."""
    offset_s, last_s, ordered = 0.0, 0.0, list[Report]()
    for report in reports:
        if offset_s + report.elapsed_s < last_s:
            offset_s = last_s
        last_s = offset_s + report.elapsed_s
        ordered.append(replace(report, elapsed_s=last_s))
    return ordered


def _joined(pieces: Sequence[Recording]) -> Recording:
    """Return one run of the trials of a learning curve, each of which continued the last."""
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
    return replace(rest, reports=[*run.reports, *moved], wall_s=run.wall_s + rest.wall_s)
