"""Parts of a replay: the recorded table, the simulated machine, the way that runs are drawn."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.execution.replay.cost import GridCost, grid_cost
from orchestrator.execution.replay.drawing import Drawing
from orchestrator.execution.replay.executor import ReplayExecutor
from orchestrator.execution.replay.table import RecordedTable
from orchestrator.machine import Machine


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
