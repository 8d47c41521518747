"""Timer of steps: marks of a clock, turned into blocks of steps and their phases."""

import time
from types import TracebackType

from orchestrator.measurement.blocks import Block, Dropped, Epoch, Phase, Step, blocks_of, num_whole
from orchestrator.measurement.clocks import Clock, Mark


class StepTimer:
    """Collector of an epoch's marks, which it turns into blocks of steps.

    Within a step it only sets marks. They are read when an epoch, a time slice or enough blocks
    are complete, since reading CUDA's events waits for the device.

    Attributes:
        clock: Source of the marks.
        blocks: All steps so far that were read, in order.
        epochs: All epochs so far, in order.
        num_steps: Steps in ``blocks``.
    """

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self._burst = 1
        self._pending: list[Step] = []
        self._current = Step(begin=None)
        self._epoch_begin: Mark = None
        self._is_first = True
        self._num_resolved = 0
        self._begins: Dropped | None = Dropped.EPOCH_START
        self._first_times = (0.0, 0.0)
        self._end_s = 0.0
        self.num_steps = 0
        self.blocks: list[Block] = []
        self.epochs: list[Epoch] = []

    # -- marks

    def begin_epoch(self, burst: int = 1) -> None:
        """Mark the start of an epoch, before its loader is started; it works ``burst`` ahead."""
        self._burst = burst
        self._pending = []
        self._num_resolved = 0
        self._begins = Dropped.EPOCH_START
        self._epoch_begin = self.clock.mark()
        self._is_first = True

    def begin_step(self) -> None:
        """Mark that the loop asks for a batch; the first step begins with its epoch."""
        self._current = Step(begin=self._epoch_begin if self._is_first else self.clock.mark())
        self._is_first = False

    def receive_batch(self) -> None:
        """Mark that the batch is there."""
        self._current.received = self.clock.mark()
        # A device's marks do not contain the time of Python itself, which may be the limit.
        if self.clock.is_remote:
            self._current.host_s = -time.perf_counter()

    def wait_for_step(self, num_before: int) -> None:
        """Wait until the device has ended the step ``num_before`` steps before the last one."""
        if len(self._pending) > num_before:
            self.clock.wait_for(self._pending[-1 - num_before].end)

    def end_step(self, samples: int) -> None:
        """Mark that the loop is done with the batch."""
        if self._current.host_s is not None:
            self._current.host_s += time.perf_counter()
        self._current.end = self.clock.mark()
        self._current.samples = samples
        self._pending.append(self._current)

    def phase(self, phase: Phase) -> "PhaseTimer":
        """Return a context that adds its duration to ``phase`` of the current step."""
        return PhaseTimer(self.clock, self._current, phase)

    def mark(self) -> Mark:
        """Mark this moment."""
        return self.clock.mark()

    def add_phase(self, phase: Phase, begin: Mark, end: Mark) -> None:
        """Add the time between two marks to ``phase`` of the current step."""
        self._current.phases.append((phase, begin, end))

    @property
    def step(self) -> object | None:
        """Step whose batch the loop has and is not done with; None between steps."""
        current = self._current
        return None if current.received is None or current.end is not None else current

    @property
    def has_named_phases(self) -> bool:
        """True where the current step has a phase other than the wait for its batch."""
        return bool(self._current.phases)

    # -- reading them

    def close_blocks(self, index: int) -> None:
        """Turn the steps that fill whole blocks into :attr:`blocks`; may wait for the device."""
        pending, begins = len(self._pending), self._begins is not None
        self._resolve(index, num_whole(pending, burst=self._burst, begins=begins), whole=False)

    def end_slice(self, index: int) -> None:
        """Turn the steps of this time slice into :attr:`blocks`; the next step begins another."""
        self._resolve(index, len(self._pending), whole=False)
        self._begins = Dropped.SLICE_START

    def end_epoch(
        self,
        index: int,
        *,
        is_whole: bool = True,
        has_ended: bool | None = None,
        ended: Mark = None,
    ) -> None:
        """Turn the epoch's marks into :attr:`blocks` and one of :attr:`epochs`.

        Args:
            index: Of the epoch, from 0.
            is_whole: True where the loader has just ended.
            has_ended: The same of a part of an epoch, which is never whole; None: as ``is_whole``.
            ended: Mark of that moment; None: now.
        """
        if is_whole and ended is None:
            ended = self.clock.mark()
        if is_whole and self._pending:
            self._pending[-1].end = ended
        has_ended = is_whole if has_ended is None else has_ended
        # Few steps of an epoch that was cut are not to stand for all that were too short: the one
        # before was whole and one block.
        is_after_a_short_one = bool(self.epochs) and self.epochs[-1].is_whole
        whole = has_ended or (is_after_a_short_one and not self.blocks[-1].first_step)
        self._resolve(index, len(self._pending), whole=whole)
        if not self._num_resolved:
            return
        if is_whole:
            (self._end_s,) = self.clock.resolve([ended])
        begin_s, start_s = self._first_times
        took_s = self._end_s - begin_s
        epoch = Epoch(index=index, start_s=start_s, duration_s=took_s, is_whole=is_whole)
        self.epochs.append(epoch)

    def _resolve(self, index: int, count: int, *, whole: bool) -> None:
        if not count:
            return
        taken, self._pending = self._pending[:count], self._pending[count:]
        marks = [self._epoch_begin, *(mark for step in taken for mark in step.times())]
        seconds = iter(self.clock.resolve(marks))
        begin_s = next(seconds)
        for step in taken:
            step.read(seconds)
        if not self._num_resolved:
            self._first_times = (begin_s, taken[0].received - begin_s)
        self.blocks += blocks_of(
            index,
            taken,
            burst=self._burst,
            first_step=self._num_resolved,
            begins=self._begins,
            whole=whole,
        )
        self._begins = None
        self._num_resolved += count
        self.num_steps += count
        self._end_s = taken[-1].end


class PhaseTimer:
    """Context that adds the time spent within it to a phase of one step."""

    # A class with slots and no generator: entering one costs a third of contextmanager's.
    __slots__ = ("_begin", "_clock", "_phase", "_step")

    def __init__(self, clock: Clock, step: Step, phase: Phase) -> None:
        self._clock = clock
        self._step = step
        self._phase = phase

    def __enter__(self) -> None:
        self._begin = self._clock.mark()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._step.phases.append((self._phase, self._begin, self._clock.mark()))
