"""Parts of a replay: the recorded table, the simulated machine, the way that runs are drawn.

With what the recorded configs took, and the marks of a replay: its record and its last line.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Final

from orchestrator.formats import clock
from orchestrator.machine import Machine
from orchestrator.replay.drawing import Drawing, Recording, config_key
from orchestrator.replay.executor import ReplayExecutor
from orchestrator.replay.table import RecordedTable
from orchestrator.storage.sweep_record import SweepRecord
from orchestrator.trial import Stage

_HOUR_S: Final = 3600.0


@dataclass(frozen=True, kw_only=True)
class GridCost:
    """The cost of training each recorded config once.

    Attributes:
        num_configs: Configs that were recorded in stage ``train``.
        num_runs: Their runs.
        mean_trial_s: Mean time of a trial, s: over configs, each the mean over its runs. Failed
            and infeasible ones count with what they took.
        core_s: Core-seconds of all configs, each once.
    """

    num_configs: int
    num_runs: int
    mean_trial_s: float
    core_s: float


def grid_cost(recordings: Iterable[Recording], *, cores_per_trial: int) -> GridCost:
    """Return the cost of the grid that the configs of ``recordings`` are.

    Args:
        recordings: The recorded runs.
        cores_per_trial: Cores of each.
    """
    taken: dict[str, list[float]] = defaultdict(list)
    for one in recordings:
        if one.trial.stage is Stage.TRAIN:
            taken[config_key(one.trial.config)].append(one.run.held_s or one.run.wall_s)
    means = [fmean(seconds) for seconds in taken.values()]
    return GridCost(
        num_configs=len(taken),
        num_runs=sum(map(len, taken.values())),
        mean_trial_s=fmean(means) if means else 0.0,
        core_s=cores_per_trial * sum(means),
    )


@dataclass(frozen=True, kw_only=True)
class Replay:
    """A replay of a run directory.

    Attributes:
        table: Its recorded runs.
        machine: The simulated machine.
        seed: Seed of the order in which runs are drawn.
        reuse_repeats: True where a run may be drawn again once all were.
        may_stop: True where the search may stop its trainings before their end.
    """

    table: RecordedTable
    machine: Machine
    seed: int = 0
    reuse_repeats: bool = False
    may_stop: bool = False

    @property
    def source(self) -> str:
        """The table as it is named on the command line."""
        return f"--table {self.table.path}"

    @property
    def grid_cost(self) -> GridCost:
        """Cost of training each recorded config once."""
        sweep = self.table.sweep
        return grid_cost(self.table.recordings, cores_per_trial=sweep.cores_per_trial)

    def drawing(self) -> Drawing:
        """Return what hands out its runs."""
        return Drawing(
            self.table.recordings,
            source=self.source,
            seed=self.seed,
            reuse=self.reuse_repeats,
            may_stop=self.may_stop,
        )

    def executor(self, max_concurrent: int | None = None) -> ReplayExecutor:
        """Return its executor. The clock begins when the recorded sweep began."""
        drawing, at = self.drawing(), self.table.sweep.started_at
        return ReplayExecutor(
            drawing, self.machine, began_at=at, max_concurrent=max_concurrent, run_of=drawing.run_of
        )


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
    """Return the last line of a replay: what was simulated, and what the search itself took."""
    assert isinstance(executor, ReplayExecutor), "a replay is played by its own"
    spent = executor.spent
    gpus = f", {spent.gpu_s / _HOUR_S:.3g} GPU-hours" if spent.gpu_s else ""
    return [
        f"simulated:   {clock(spent.simulated_s)} on {_counted_nodes(executor.machine())}, "
        f"{spent.core_s / _HOUR_S:.3g} core-hours{gpus}; search and journal took "
        f"{spent.own_s:.1f} s, which are not in it"
    ]


def _counted_nodes(machine: Machine) -> str:
    nodes, cores = len(machine.nodes), machine.cpus
    return f"{nodes} node{'s' * (nodes != 1)} of {cores} core{'s' * (cores != 1)}"
