"""Replay executor: recorded runs in the place of trials, on one simulated clock.

The clock advances from event to event of one heap: a report of a trial, or its end. Events of the
same moment come reports first, then by trial id. So the same seed gives the same journal, byte for
byte. Time of the search and the driver is not on the clock.
"""

import heapq
import time
from collections.abc import Callable
from dataclasses import dataclass

from orchestrator.formats import clock, counted
from orchestrator.kernel.events import Started
from orchestrator.kernel.executor import Conductor, Executor, Launch
from orchestrator.machine import Machine
from orchestrator.replay.recorded import RecordedRun, ReplayError
from orchestrator.replay.segment import segment_of, shortfall, stopped_at
from orchestrator.trial import Isolation, Trial, TrialResult, TrialState

TICK_S = 0.25
"""Real seconds between two calls of the conductor's ``tick``."""


@dataclass(kw_only=True)
class _Room:
    """Free cores and GPUs of a node, and the launches that run there; an isolated one closes it."""

    node: str
    cores: int
    gpus: float
    num_held: int = 0
    is_closed: bool = False

    def hold(self, launch: Launch, sign: int) -> None:
        """Hold what a launch needs, with 1; give it back, with -1."""
        self.cores -= sign * launch.num_cores
        self.gpus -= sign * launch.demand.gpus
        self.num_held += sign
        self.is_closed = sign > 0 and launch.isolation is Isolation.EXCLUSIVE


@dataclass(kw_only=True)
class _Group:
    """A launch that runs on a node: one trial, or several interleaved ones, some still running."""

    launch: Launch
    room: _Room
    began_at: float
    held_s: float = 0.0
    num_left: int = 0


@dataclass(kw_only=True)
class _Play:
    """A trial that runs.

    Attributes:
        group: Its launch.
        trial: The trial.
        run: Its recorded run.
        part: The part of the run that it plays.
        begun: Reports of the run that earlier trials of its curve have played.
        num_reported: Reports of the part that were handed out.
    """

    group: _Group
    trial: Trial
    run: RecordedRun
    part: RecordedRun
    begun: int
    num_reported: int = 0

    def at(self, own_s: float) -> float:
        """Return the time at which the trial is ``own_s`` seconds from its start.

        Interleaved trials advance together: at half of the launch's time each is half done.
        """
        share = own_s / self.part.taken_s if self.part.taken_s else 0.0
        return self.group.began_at + share * self.group.held_s

    def require_end(self) -> None:
        """Check that the recorded run ends where the trial does, and was not stopped before.

        Raises:
            ReplayError: The trial continues after the end of its run.
        """
        if why := shortfall(self.run, self.trial.budget):
            raise ReplayError(
                f"the recorded run of trial {self.trial.id} was stopped too early: {why}",
                "a search may decide otherwise than the recorded one: give it that one's seed, "
                "stopping and room, or replay a run whose trials were trained to the end",
            )

    def result(self) -> TrialResult:
        """Return the row of the trial at the end of its part."""
        launch = self.group.launch
        return TrialResult(
            state=self.part.state,
            reason=self.part.reason,
            metrics=self.part.metrics,
            tags=self.part.tags,
            started_at=self.group.began_at,
            wall_s=round(self.part.wall_s, 3),
            node=self.group.room.node,
            device=self.run.device,
            cores=launch.num_cores,
            isolation=str(launch.isolation),
        )


class ReplayExecutor(Executor):
    """Plays launches from recorded runs; an :class:`~orchestrator.kernel.executor.Executor`.

    Attributes:
        core_s: Core-seconds that trials have held, on the simulated clock.
        own_s: Real seconds of the search, the driver and the replay.
    """

    def __init__(
        self,
        draw: Callable[[Trial], RecordedRun],
        machine: Machine,
        *,
        began_at: float = 0.0,
        max_concurrent: int | None = None,
    ) -> None:
        """Set the clock.

        Args:
            draw: Returns the whole run that a trial plays; called once a learning curve.
            machine: The simulated machine.
            began_at: Unix time at which the clock begins.
            max_concurrent: Most trials at the same time, or None for what fits.
        """
        self.core_s = self.own_s = 0.0
        self._draw, self._machine = draw, machine
        self._rooms = [_Room(node=n.name, cores=n.cpus, gpus=n.gpus) for n in machine.nodes]
        self._max_concurrent = max_concurrent
        self._began_at = self._now = began_at
        # Time, whether it is the trial's end, and its id: the order of a moment's events.
        self._heap: list[tuple[float, bool, str, _Play]] = []
        self._begun: dict[str, tuple[RecordedRun, int]] = {}  # by curve, with reports played
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

    @property
    def simulated_s(self) -> float:
        """Seconds on the simulated clock so far."""
        return self._now - self._began_at

    def last_lines(self) -> list[str]:
        """Return what was simulated, and what the replay itself took."""
        nodes, cores = len(self._machine.nodes), counted(self._machine.cpus, "core")
        return [
            f"simulated:   {clock(self.simulated_s)} on {counted(nodes, 'node')} of {cores}, "
            f"{self.core_s / 3600:.3g} core-hours; the replay took {self.own_s:.1f} s, "
            "which are not in it"
        ]

    def run(self, conductor: Conductor) -> None:
        """Play everything that ``conductor`` hands out.

        Raises:
            ReplayError: What a trial asks for was not recorded, or only until it was stopped; or
                a launch fits on no node.
        """
        began = time.perf_counter()
        try:
            self._fill(conductor)
            while self._heap and not conductor.interrupted:
                self._now = self._heap[0][0]
                if self._pass_moment(conductor):
                    self._fill(conductor)
                if time.monotonic() - self._ticked >= TICK_S:
                    self._ticked = time.monotonic()
                    conductor.tick()
        finally:
            self.own_s += time.perf_counter() - began

    # -- from launches to events

    def _fill(self, conductor: Conductor) -> None:
        """Start launches as long as there is room. A launch that waits holds up those behind it."""
        while not conductor.interrupted and (launch := self._next(conductor)) is not None:
            if too_late := launch.not_run(self.now()):
                self._pending = None
                for trial in launch.trials:
                    conductor.finished(trial, too_late)
                continue
            alone = launch.isolation is Isolation.EXCLUSIVE
            room = self._room_for(launch.num_cores, launch.demand.gpus, alone=alone)
            if room is None:
                if any(room.num_held for room in self._rooms):
                    return
                raise ReplayError(
                    f"{launch.num_cores} cores and {launch.demand.gpus} GPUs fit on no node",
                    "give the simulated machine more: --set replay.cores=N replay.nodes=N",
                )
            self._pending = None
            self._start(launch, room, conductor)

    def _room_for(self, cores: int, gpus: float = 0, *, alone: bool = False) -> _Room | None:
        """Return the first node with room for a launch, ``alone`` for an isolated one, or None."""
        num_held, most = sum(room.num_held for room in self._rooms), self._max_concurrent
        for room in self._rooms if most is None or num_held < most else ():
            is_open = not room.is_closed and not (alone and room.num_held)
            if is_open and room.cores >= cores and room.gpus >= gpus - 1e-9:
                return room
        return None

    def _next(self, conductor: Conductor) -> Launch | None:
        """Return the launch that waits for room, or ask for another where there is some."""
        has_room = self._room_for(self._num_cores) is not None
        if self._pending is None and not self._ended and has_room:
            answer = conductor.next_launch()
            self._ended = answer is None
            if isinstance(answer, Launch):
                self._pending, self._num_cores = answer, answer.num_cores
        return self._pending

    def _start(self, launch: Launch, room: _Room, conductor: Conductor) -> None:
        room.hold(launch, 1)
        group = _Group(launch=launch, room=room, began_at=self._now)
        plays = [self._play(each.trial, group) for each in launch.each()]
        group.held_s, group.num_left = sum(play.part.taken_s for play in plays), len(plays)
        self.core_s += launch.num_cores * group.held_s
        for play in plays:
            conductor.started(
                Started(trial_id=play.trial.id, node=room.node, cores=launch.num_cores)
            )
            self._push(play)

    def _play(self, trial: Trial, group: _Group) -> _Play:
        run, begun = self._begun.pop(trial.curve, (None, 0)) if trial.curve else (None, 0)
        run = run or self._draw(trial)
        part = segment_of(run, trial.budget, begun=begun, evaluate_test=trial.evaluate_test)
        play = _Play(group=group, trial=trial, run=run, part=part, begun=begun)
        if not part.reports:
            play.require_end()
        return play

    def _push(self, play: _Play) -> None:
        """Put the next event of a trial on the heap."""
        part = play.part
        is_end = play.num_reported == len(part.reports)
        own_s = part.taken_s if is_end else part.reports[play.num_reported].elapsed_s
        # No trial goes back in time, whatever a recorded table has.
        heapq.heappush(self._heap, (max(play.at(own_s), self._now), is_end, play.trial.id, play))

    # -- from events to the conductor

    def _pass_moment(self, conductor: Conductor) -> bool:
        """Handle all events of this moment; return True if a launch has ended."""
        has_ended = False
        while self._heap and self._heap[0][0] <= self._now and not conductor.interrupted:
            _, is_end, _, play = heapq.heappop(self._heap)
            if not is_end:
                has_ended |= self._report(play, conductor)
            else:
                play.require_end()
                has_ended |= self._end(play, conductor)
        return has_ended

    def _report(self, play: _Play, conductor: Conductor) -> bool:
        """Hand out a report; return True if that has ended its launch."""
        report = play.part.reports[play.num_reported]
        play.num_reported += 1
        # As elsewhere: to stop is to end the whole launch, so none of several is stopped.
        if not conductor.reported(play.trial, report) or play.group.launch.others:
            self._push(play)
            return False
        unused_s = play.part.taken_s - report.elapsed_s
        self.core_s -= play.group.launch.num_cores * unused_s
        play.part = stopped_at(play.part, report)
        return self._end(play, conductor)

    def _end(self, play: _Play, conductor: Conductor) -> bool:
        """Hand out the row of a trial; return True if its launch has ended with it."""
        trial, group, result = play.trial, play.group, play.result()
        if trial.budget.is_part and result.state is TrialState.STOPPED:
            self._begun[trial.curve] = play.run, play.begun + play.num_reported
        group.num_left -= 1
        if not group.num_left:
            group.room.hold(group.launch, -1)
        conductor.finished(trial, result)
        return not group.num_left
