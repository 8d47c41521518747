"""A replay from a command line: its table, its simulated machine, its record.

Refused before anything starts: another trainable or other data, an objective that no run has, and
configs of a grid that were not recorded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Protocol

from orchestrator.errors import RunDirectoryError, nearest
from orchestrator.formats import clock, counted
from orchestrator.machine import Machine
from orchestrator.metric_table import DERIVED
from orchestrator.replay.drawing import Drawing
from orchestrator.replay.executor import ReplayExecutor
from orchestrator.replay.recorded import RecordedTable, ReplayError, read_recorded
from orchestrator.space.configs import built
from orchestrator.storage.sweep_record import SweepRecord
from orchestrator.sweep.definition import NODE, Sweep
from orchestrator.sweep.problem import search_problem
from orchestrator.trial import Isolation, Stage

_HOUR_S: Final = 3600.0


class Asked(Protocol):
    """The options of a command line that a replay reads."""

    @property
    def table(self) -> Path | None:
        """The run directory to replay, or None."""

    @property
    def replay(self) -> Mapping[str, Any]:
        """Settings of the simulated machine: ``cores``, ``nodes``, ``reuse_repeats``."""

    @property
    def data(self) -> str | None:
        """The data set asked for, or None."""

    @property
    def cores_per_trial(self) -> int | None:
        """The cores of each trial asked for, or None."""


@dataclass(frozen=True, kw_only=True)
class Replay:
    """A replay of a run directory.

    Attributes:
        table: Its recorded runs.
        machine: The simulated machine.
        seed: Seed of the order in which runs are drawn.
        reuse_repeats: True where a run may be drawn again once all were.
    """

    table: RecordedTable
    machine: Machine
    seed: int = 0
    reuse_repeats: bool = False

    @property
    def source(self) -> str:
        """The table as it is named on the command line."""
        return f"--table {self.table.path}"

    @property
    def trials_s(self) -> list[float]:
        """Seconds that each recorded training held its cores."""
        runs = [one.run for one in self.table.recordings if one.trial.stage is Stage.TRAIN]
        return [run.held_s or run.wall_s for run in runs]

    def drawing(self) -> Drawing:
        """Return what hands out its runs."""
        return Drawing(
            self.table.recordings, source=self.source, seed=self.seed, reuse=self.reuse_repeats
        )

    def executor(self, max_concurrent: int | None = None) -> ReplayExecutor:
        """Return its executor. The clock begins when the recorded sweep began."""
        drawing, at = self.drawing(), self.table.sweep.started_at
        return ReplayExecutor(
            drawing, self.machine, began_at=at, max_concurrent=max_concurrent, run_of=drawing.run_of
        )


def read_replay(sweep: Sweep[Any], options: Asked) -> Replay | None:
    """Return the replay that the options ask for; None where trials are to be measured.

    Raises:
        RunDirectoryError: The table cannot be replayed for this sweep.
    """
    if options.table is None:
        return None
    table, given = read_recorded(options.table), options.replay
    replay = Replay(
        table=table,
        machine=table.machine(cores=given.get("cores"), nodes=given.get("nodes")),
        seed=sweep.seed,
        reuse_repeats=given.get("reuse_repeats", False),
    )
    for error in _other_questions(sweep, options, replay):
        raise error
    return replay


def _other_questions(
    sweep: Sweep[Any], options: Asked, replay: Replay
) -> Iterator[RunDirectoryError]:
    """Yield an error for each thing asked for that the table is not of."""
    where, table = replay.source, replay.table.sweep
    if table.trainable != sweep.trainable.name:
        yield RunDirectoryError(
            f"{where}: is of the trainable {table.trainable}, not {sweep.trainable.name}",
            "give a run of the same trainable",
        )
    if options.data and options.data.partition("@")[0] != table.data.partition("@")[0]:
        yield RunDirectoryError(
            f"--data {options.data}: {where} is of {table.data}", "leave --data out"
        )
    if options.cores_per_trial not in (None, table.cores_per_trial):
        yield RunDirectoryError(
            f"--cores-per-trial {options.cores_per_trial}: the trials of {where} had "
            f"{table.cores_per_trial}",
            "leave it out: how fast they are with other cores was not recorded",
        )
    known = replay.table.metrics | {metric.name for metric in DERIVED}
    for objective in sweep.objectives:
        if objective.metric not in known:
            yield RunDirectoryError(
                f"{where}: no run of it has the objective {objective.metric}"
                f"{nearest(objective.metric, known)}",
                f"recorded: {', '.join(sorted(known))}",
            )


def as_recorded(sweep: Sweep[Any], replay: Replay) -> tuple[Sweep[Any], list[str]]:
    """Return the sweep as it can be replayed, and notes on what differs from what it asks for.

    A trial has as many cores as the recorded ones had. The interference check is left out unless
    the table has its isolated runs.
    """
    recorded, notes = replay.table.sweep, list[str]()
    cores = recorded.cores_per_trial
    if sweep.cores_per_trial is not NODE and sweep.cores_per_trial != cores:
        notes.append(f"trials have {cores} cores each, as the recorded ones had")
    sweep = replace(sweep, cores_per_trial=cores)
    trials = [one.trial for one in replay.table.recordings]
    checked = any(trial.isolated and trial.stage is Stage.TRAIN for trial in trials)
    if sweep.rigor.check_isolated and not checked:
        sweep = replace(sweep, rigor=replace(sweep.rigor, check_isolated=0))
        if replay.machine.cpus // cores > 1 and sweep.isolation is Isolation.LEASED:
            notes.append("no interference check: the recorded run has no isolated runs for it")
    return sweep, notes


def require_recorded(sweep: Sweep[Any], replay: Replay) -> None:
    """Check the configs that are trained whatever the results.

    Raises:
        ReplayError: One was not recorded, or not long enough.
    """
    candidates = sweep.search.candidates(search_problem(sweep, replay.machine))
    drawing, errors = replay.drawing(), list[ReplayError]()
    for config in map(candidates.config, candidates.keys) if candidates else ():
        if sweep.trainable.infeasible(built(sweep.trainable.config, config), replay.machine):
            continue
        try:
            drawing.able(config, Stage.TRAIN, sweep.budget)
        except ReplayError as error:
            errors.append(error)
    if errors:
        more = f" (and {counted(len(errors) - 1, 'more config')} like it)" if errors[1:] else ""
        raise ReplayError(f"{errors[0].message}{more}", errors[0].hint)


def marked(record: SweepRecord, replay: Replay) -> SweepRecord:
    """Return the record of a replay: where and on what the recorded runs were measured."""
    table = replay.table.sweep
    return replace(
        record,
        data=table.data,
        data_note=table.data_note,
        source_hash=table.source_hash,
        data_fingerprint=table.data_fingerprint,
        nodes=table.nodes,
        versions=table.versions,
        hardware=table.hardware,
        git=table.git,
        started_at=table.started_at,
        replayed=str(replay.table.path),
    )


def replay_lines(executor: object) -> list[str]:
    """Return the last line of a replay: what was simulated, and what the replay itself took."""
    assert isinstance(executor, ReplayExecutor), "a replay is played by its own"
    spent, machine = executor.spent, executor.machine()
    nodes = f"{counted(len(machine.nodes), 'node')} of {counted(machine.cpus, 'core')}"
    return [
        f"simulated:   {clock(spent.simulated_s)} on {nodes}, "
        f"{spent.core_s / _HOUR_S:.3g} core-hours; the replay took {spent.own_s:.1f} s, "
        "which are not in it"
    ]
