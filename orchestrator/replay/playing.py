"""A launch that runs, its trials, and the rows that they end with."""

from __future__ import annotations

from dataclasses import dataclass, replace

from orchestrator.kernel.executor import Launch
from orchestrator.replay.nodes import Place
from orchestrator.replay.recorded import RecordedRun
from orchestrator.replay.segment import Segment
from orchestrator.trial import Report, Trial, TrialResult, TrialState


@dataclass(kw_only=True)
class Group:
    """A launch that runs: one trial, or several interleaved ones.

    Attributes:
        launch: The launch.
        place: What it holds.
        began_at: Time of its start.
        held_s: Seconds that all of its trials take, one time slice after another.
        num_left: Trials that have not ended.
    """

    launch: Launch
    place: Place
    began_at: float
    held_s: float
    num_left: int


@dataclass(kw_only=True)
class Play:
    """A trial that runs.

    Attributes:
        group: Its launch.
        trial: The trial.
        segment: What it plays.
        run: The run that this is a part of.
        num_reported: Reports of the segment that were handed out.
    """

    group: Group
    trial: Trial
    segment: Segment
    run: RecordedRun
    num_reported: int = 0

    @property
    def num_played(self) -> int:
        """Reports of the run that were played by now, by earlier trials of its curve as well."""
        return self.segment.num_reports - len(self.segment.reports) + self.num_reported

    def at(self, own_s: float) -> float:
        """Return when a trial is so many seconds of its own from its start.

        Interleaved trials advance together: at half of the launch's time each is half done.
        """
        if not self.segment.held_s:
            return self.group.began_at
        return self.group.began_at + own_s * self.group.held_s / self.segment.held_s


def whole_result(play: Play) -> TrialResult:
    """Return the row of a trial that has played all of its segment."""
    segment = play.segment
    result = _result(play, segment.state, segment.wall_s)
    return replace(
        result,
        reason=segment.reason,
        metrics=segment.metrics,
        tags=segment.tags,
        blocks=segment.blocks,
    )


def stopped_result(play: Play, report: Report) -> TrialResult:
    """Return the row of a trial that is stopped at a report."""
    metrics, tags = play.segment.stopped_at(report)
    result = _result(play, TrialState.STOPPED, report.elapsed_s)
    return replace(result, metrics=metrics, tags=tags)


def _result(play: Play, state: TrialState, wall_s: float) -> TrialResult:
    launch = play.group.launch
    return TrialResult(
        state=state,
        started_at=play.group.began_at,
        wall_s=round(wall_s, 3),
        node=play.group.place.node,
        device=play.run.device,
        cores=launch.num_cores,
        isolation=str(launch.isolation),
    )
