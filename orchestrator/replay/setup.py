"""A replay from a command line: its table, its simulated machine, its record.

Refused before anything starts: another trainable, an objective that no run has, and configs of a
grid that were not recorded.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from orchestrator.data import PreparedData
from orchestrator.errors import RunDirectoryError, nearest
from orchestrator.metric_table import DERIVED
from orchestrator.replay.drawing import Drawing
from orchestrator.replay.executor import ReplayExecutor
from orchestrator.replay.recorded import Recording, machine_of, read_recorded
from orchestrator.space.configs import built
from orchestrator.storage.sweep_record import SweepRecord
from orchestrator.sweep.definition import NODE, Sweep
from orchestrator.sweep.problem import search_problem
from orchestrator.trial import Isolation, Stage


class Replay:
    """A replay of a run directory.

    Args:
        sweep: What to replay it for.
        table: The run directory.
        cores: Cores of a simulated node; None: as recorded.
        nodes: Simulated nodes; None: as recorded.
        reuse_repeats: True where a run may be drawn again once all were.

    Attributes:
        path: The run directory.
        record: Its sweep.
        machine: The simulated machine.
        sweep: The sweep as it can be replayed: a trial has as many cores as the recorded ones
            had, and the interference check needs its isolated runs in the table.
        notes: What of it differs from the sweep that was asked for.

    Raises:
        RunDirectoryError: It cannot be replayed for this sweep.
        ReplayError: A config that is trained whatever the results was not recorded.
    """

    def __init__(
        self,
        sweep: Sweep[Any],
        *,
        table: Path,
        cores: int | None = None,
        nodes: int | None = None,
        reuse_repeats: bool = False,
    ) -> None:
        self.path, (record, recordings) = table, read_recorded(table)
        self.record, self._recordings, self._reuse = record, recordings, reuse_repeats
        _require_same_figures(sweep, table, record, recordings)
        self.machine = machine_of(record, cores=cores, nodes=nodes)
        own_cores, self.notes = record.cores_per_trial, list[str]()
        if sweep.cores_per_trial is not NODE and sweep.cores_per_trial != own_cores:
            self.notes.append(f"trials have {own_cores} cores each, as the recorded ones had")
        sweep = replace(sweep, cores_per_trial=own_cores)
        trials = [one.trial for one in recordings]
        checked = any(trial.isolated and trial.stage is Stage.TRAIN for trial in trials)
        if sweep.rigor.check_isolated and not checked:
            sweep = replace(sweep, rigor=replace(sweep.rigor, check_isolated=0))
            if self.machine.cpus // own_cores > 1 and sweep.isolation is Isolation.LEASED:
                text = "no interference check: the recorded run has no isolated runs for it"
                self.notes.append(text)
        self.sweep = sweep
        candidates = sweep.search.candidates(search_problem(sweep, self.machine))
        drawing = self._drawing()
        for config in map(candidates.config, candidates.keys) if candidates else ():
            if not sweep.trainable.infeasible(built(sweep.trainable.config, config), self.machine):
                drawing.able(config, Stage.TRAIN, sweep.budget)

    @property
    def data(self) -> PreparedData:
        """The data of the recorded runs, which a replay does not open."""
        name, fingerprint = self.record.data, self.record.data_fingerprint
        return PreparedData(name=name, path=self.path, fingerprint=fingerprint)

    @property
    def trials_s(self) -> list[float]:
        """Seconds that each recorded training had its cores."""
        return [one.run.taken_s for one in self._recordings if one.trial.stage is Stage.TRAIN]

    def _drawing(self) -> Drawing:
        source, seed = f"--set replay.table={self.path}", self.sweep.seed
        return Drawing(self._recordings, source=source, seed=seed, reuse=self._reuse)

    def executor(self, max_concurrent: int | None = None) -> ReplayExecutor:
        """Return its executor. The clock begins when the recorded sweep began."""
        began_at, draw = self.record.started_at, self._drawing().draw
        names = ("data_note", "nodes", "versions", "hardware", "git", "started_at")
        played = ReplayExecutor(
            draw, self.machine, began_at=began_at, max_concurrent=max_concurrent
        )
        measured = {name: getattr(self.record, name) for name in names}
        played.facts = measured | {"replayed": str(self.path)}
        return played


def _require_same_figures(
    sweep: Sweep[Any], table: Path, record: SweepRecord, recordings: Sequence[Recording]
) -> None:
    """Refuse a run of another trainable, or without an objective of the sweep."""
    name, known = record.trainable, {each.name for each in DERIVED}
    known |= {metric for one in recordings for metric in one.run.metrics}
    if name != sweep.trainable.name:
        raise RunDirectoryError(
            f"--set replay.table={table}: is of the trainable {name}, not {sweep.trainable.name}",
            "give a run of the same trainable",
        )
    for objective in sweep.objectives:
        if objective.metric not in known:
            raise RunDirectoryError(
                f"--set replay.table={table}: no run of it has the objective {objective.metric}"
                f"{nearest(objective.metric, known)}",
                f"recorded: {', '.join(sorted(known))}",
            )
