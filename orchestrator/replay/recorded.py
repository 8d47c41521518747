"""A recorded run, and the protocol of what hands them out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from orchestrator.errors import SweepError
from orchestrator.measurement.blocks import Row
from orchestrator.trial import Budget, Report, Trial, TrialState


class ReplayError(SweepError):
    """The run that a trial asks for was not recorded."""


@dataclass(frozen=True, kw_only=True)
class RecordedRun:
    """One training run from its start to its end, as it was recorded or made.

    Attributes:
        reports: Its reports in order. ``elapsed_s`` never goes back. ``blocks`` are the steps
            timed since the report before, where they are known.
        wall_s: Seconds from the start of its process to its end.
        held_s: Seconds that it held its cores, the measurement of its ceilings included; None:
            as long as ``wall_s``.
        state: How it ended.
        reason: Why it is not completed.
        metrics: Its final figures.
        tags: Its final verdicts.
        budget: Budget that it ran with; None: as many epochs as it reports.
        device: ``cpu``, or the GPU's name.
        last_blocks: Steps timed since its last report.
        tested: True where it looked at the test split, which another trial may not see.
        gave_up: True where its own training function has stopped it.
    """

    reports: Sequence[Report] = ()
    wall_s: float
    held_s: float | None = None
    state: TrialState = TrialState.COMPLETED
    reason: str = ""
    metrics: Mapping[str, float] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    budget: Budget | None = None
    device: str = "cpu"
    last_blocks: Sequence[Row] = ()
    tested: bool = False
    gave_up: bool = False

    @property
    def ended_by_itself(self) -> bool:
        """True where it failed, was infeasible or gave up: no budget would have made it longer."""
        return self.gave_up or self.state in (TrialState.FAILED, TrialState.INFEASIBLE)

    @property
    def num_epochs(self) -> int:
        """Epochs up to its last report."""
        return self.reports[-1].epoch if self.reports else 0


class RecordedRuns(Protocol):
    """A source of recorded runs: a run directory, or a table that was made."""

    def draw(self, trial: Trial) -> RecordedRun:
        """Return the run that ``trial`` plays, whole.

        Called once for each trial that begins a learning curve; one that goes on from a pause
        plays the rest of the same run.

        Raises:
            ReplayError: There is none for its config, or none is left.
        """
