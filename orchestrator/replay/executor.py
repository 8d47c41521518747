"""Replay executor: recorded runs in the place of trials, on one simulated clock.

The clock goes from event to event of one heap: a report of a trial, or its end. Events of the same
moment come reports first, then by trial id. So the same seed gives the same journal, byte for byte.
What the search and the driver take themselves is not on the clock.
"""

from __future__ import annotations

import gc
import heapq
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from orchestrator.kernel.executor import Conductor, Executor, Launch
from orchestrator.machine import Machine
from orchestrator.replay.nodes import Nodes, Place
from orchestrator.replay.playing import Group, Play, stopped_result, whole_result
from orchestrator.replay.recorded import RecordedRun, RecordedRuns, ReplayError
from orchestrator.replay.segment import Segment, segment_of
from orchestrator.trial import Trial, TrialResult, TrialState

TICK_S = 0.25
"""Real seconds between two calls of the conductor's ``tick``."""

_SELDOM: Final = 1000
"""Garbage collections of the middle generation before one of the oldest."""


class _Kind(IntEnum):
    """Kinds of events, in the order in which those of one moment come."""

    REPORT = 0
    END = 1


@dataclass(frozen=True, kw_only=True)
class _Begun:
    """A run whose curve is paused: its reports that were played."""

    run: RecordedRun
    num_reports: int


@dataclass(kw_only=True)
class Spent:
    """Time and resources of a replay so far, simulated and real.

    Attributes:
        simulated_s: Seconds on the simulated clock.
        core_s: Core-seconds that trials held, likewise.
        gpu_s: GPU-seconds.
        own_s: Real seconds of the search and the driver.
    """

    simulated_s: float = 0.0
    core_s: float = 0.0
    gpu_s: float = 0.0
    own_s: float = 0.0


class ReplayExecutor(Executor):
    """Plays launches from recorded runs; an :class:`~orchestrator.kernel.executor.Executor`.

    Attributes:
        spent: What it has taken so far.
    """

    def __init__(
        self,
        runs: RecordedRuns,
        machine: Machine,
        *,
        began_at: float = 0.0,
        max_concurrent: int | None = None,
        run_of: Callable[[Trial], str] = lambda trial: f"the recorded run of trial {trial.id}",
    ) -> None:
        """Set the clock.

        Args:
            runs: The recorded runs.
            machine: The simulated machine.
            began_at: Unix time at which the clock begins.
            max_concurrent: Most trials at the same time, or None for what fits.
            run_of: Names the run of a trial in messages.
        """
        self.spent = Spent()
        self._runs, self._machine = runs, machine
        self._nodes = Nodes(machine, max_concurrent)
        self._run_of = run_of
        self._began_at = self._now = began_at
        self._heap: list[tuple[float, _Kind, str, Play]] = []
        self._begun: dict[str, _Begun] = {}
        self._pending: Launch | None = None
        self._num_cores = 1
        self._ended = False
        self._ticked = time.monotonic()

    def machine(self) -> Machine:
        """Return the simulated machine."""
        return self._machine

    def now(self) -> float:
        """Return the Unix time of the simulated clock."""
        return self._now

    def run(self, conductor: Conductor) -> None:
        """Play everything that ``conductor`` hands out.

        Raises:
            ReplayError: What a trial asks for was not recorded, or only as far as it was stopped.
        """
        with _seldom_going_through_all():
            self._fill(conductor)
            while self._heap and not conductor.interrupted:
                self._now = self._heap[0][0]
                self.spent.simulated_s = self._now - self._began_at
                if self._pass_moment(conductor):
                    self._fill(conductor)
                self._tick(conductor)

    def close(self) -> None:
        """Do nothing: there is nothing to release."""

    # -- from launches to events

    def _fill(self, conductor: Conductor) -> None:
        """Start launches as long as there is room. One that waits for room holds up the others."""
        while not conductor.interrupted and (launch := self._next(conductor)) is not None:
            if too_late := launch.not_run(self._now):
                self._finish_unrun(launch, too_late, conductor)
                continue
            place = self._nodes.place(launch)
            if place is not None:
                self._pending = None
                self._start(launch, place, conductor)
            elif self._nodes.is_idle:
                reason = f"{launch.num_cores} cores and {launch.demand.gpus} GPUs fit on no node"
                never = TrialResult(state=TrialState.FAILED, reason=reason)
                self._finish_unrun(launch, never, conductor)
            else:
                return

    def _next(self, conductor: Conductor) -> Launch | None:
        """Return the launch that waits for room, or ask for another where there is some."""
        if self._pending is None and not self._ended and self._nodes.may_take(self._num_cores):
            with self._counting_own_time():
                answer = conductor.next_launch()
            self._ended = answer is None
            if isinstance(answer, Launch):
                self._pending, self._num_cores = answer, answer.num_cores
        return self._pending

    def _finish_unrun(self, launch: Launch, result: TrialResult, conductor: Conductor) -> None:
        self._pending = None
        with self._counting_own_time():
            for trial in launch.trials:
                conductor.finished(trial, result)

    def _start(self, launch: Launch, place: Place, conductor: Conductor) -> None:
        played = [(each.trial, *self._played(each)) for each in launch.each()]
        held_s = sum(segment.held_s for _, _, segment in played)
        group = Group(
            launch=launch,
            place=place,
            began_at=self._now,
            held_s=held_s,
            num_left=len(played),
        )
        self.spent.core_s += launch.num_cores * held_s
        self.spent.gpu_s += launch.demand.gpus * held_s
        for trial, run, segment in played:
            with self._counting_own_time():
                conductor.started(trial, node=place.node, cores=launch.num_cores)
            self._push(Play(group=group, trial=trial, segment=segment, run=run))

    def _played(self, launch: Launch) -> tuple[RecordedRun, Segment]:
        """Return the run of a trial, and the part of it that the trial plays."""
        trial, demand = launch.trial, launch.demand
        begun = self._begun.pop(trial.curve, None) if trial.curve else None
        run = self._runs.draw(trial) if begun is None else begun.run
        segment = segment_of(
            run,
            trial.budget,
            burst=demand.burst,
            ranks=demand.ranks,
            begun=begun.num_reports if begun else 0,
            evaluate_test=trial.evaluate_test,
        )
        if segment.too_short and not segment.reports:
            raise self._too_short(trial, segment)
        return run, segment

    def _too_short(self, trial: Trial, segment: Segment) -> ReplayError:
        """Return the error of a trial that goes on behind the end of its recorded run."""
        return ReplayError(
            f"{self._run_of(trial)} was stopped too early: {segment.too_short}",
            "a search may decide otherwise than the recorded one: give it that one's seed, "
            "stopping and room, or replay a run whose trials were trained to the end",
        )

    def _push(self, play: Play) -> None:
        """Put the next event of a trial on the heap."""
        segment = play.segment
        if play.num_reported < len(segment.reports):
            at = play.at(segment.reports[play.num_reported].elapsed_s)
            kind = _Kind.REPORT
        else:
            at, kind = play.at(segment.held_s), _Kind.END
        # No trial goes back in time, whatever a recorded table says.
        heapq.heappush(self._heap, (max(at, self._now), kind, play.trial.id, play))

    # -- from events to the conductor

    def _pass_moment(self, conductor: Conductor) -> bool:
        """Handle all events of this moment; return True if a launch has ended."""
        has_ended = False
        while self._heap and self._heap[0][0] <= self._now and not conductor.interrupted:
            _, kind, _, play = heapq.heappop(self._heap)
            if kind is _Kind.REPORT:
                has_ended |= self._report(play, conductor)
            elif play.segment.too_short:
                raise self._too_short(play.trial, play.segment)
            else:
                has_ended |= self._end(play, whole_result(play), conductor)
        return has_ended

    def _report(self, play: Play, conductor: Conductor) -> bool:
        """Hand out a report; return True if that has ended its launch."""
        report = play.segment.reports[play.num_reported]
        play.num_reported += 1
        with self._counting_own_time():
            is_to_stop = conductor.reported(play.trial, report)
        # As elsewhere: to stop is to end the whole launch, so none of several is stopped.
        if not is_to_stop or play.group.launch.others:
            self._push(play)
            return False
        unused_s = play.segment.held_s - report.elapsed_s
        self.spent.core_s -= play.group.launch.num_cores * unused_s
        self.spent.gpu_s -= play.group.launch.demand.gpus * unused_s
        return self._end(play, stopped_result(play, report), conductor)

    def _end(self, play: Play, result: TrialResult, conductor: Conductor) -> bool:
        """Hand out the row of a trial; return True if its launch has ended with it."""
        trial, group = play.trial, play.group
        if trial.budget.pause_after is not None and result.state is TrialState.STOPPED:
            begun = _Begun(run=play.run, num_reports=play.num_played)
            self._begun[trial.curve] = begun
        group.num_left -= 1
        if not group.num_left:
            self._nodes.release(group.place)
        with self._counting_own_time():
            conductor.finished(trial, result)
        return not group.num_left

    def _tick(self, conductor: Conductor) -> None:
        if time.monotonic() - self._ticked >= TICK_S:
            self._ticked = time.monotonic()
            conductor.tick()

    @contextmanager
    def _counting_own_time(self) -> Iterator[None]:
        began = time.perf_counter()
        yield
        self.spent.own_s += time.perf_counter() - began


@contextmanager
def _seldom_going_through_all() -> Iterator[None]:
    """Within it the collector seldom goes through all that lives.

    A replay keeps the history of every trial, and that makes no cycles. To go through all of it
    time and again took half as long again as the replay of 20,000 trials. What is young is
    collected as ever.
    """
    young, middle, oldest = gc.get_threshold()
    gc.set_threshold(young, middle, max(oldest, _SELDOM))
    try:
        yield
    finally:
        gc.set_threshold(young, middle, oldest)
