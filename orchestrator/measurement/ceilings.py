"""Ceilings: what the loader alone and the model alone would do, in the trial's own process.

Once a trial has completed, its training function is called a second time with a run that
has one pass. There the first call of ``batches`` drains the loader, keeps some batches,
gives these to the loop over and over, and then leaves the function as a stopped trial does.
So nothing is evaluated, reported or kept twice, and what a function does after its loop it
has done in full by then.
"""

from __future__ import annotations

import gc
import itertools
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from orchestrator.measurement.bound import Bound, Stay, Supply, bound_of
from orchestrator.measurement.clocks import HostClock
from orchestrator.measurement.compute_share import covered_on_cuda, covered_on_host
from orchestrator.measurement.figures import Recording, steady_figures
from orchestrator.measurement.run import Context, Run, TrialStopped
from orchestrator.measurement.step_timer import StepTimer
from orchestrator.measurement.throughput import Throughput, measure_throughput
from orchestrator.trial import Report

B = TypeVar("B")

SHARE = 0.05
"""Of the time in training epochs: what draining, and each round of the model alone, takes."""
LEAST_S, MOST_S = 0.2, 5.0
MIN_ROUNDS, MIN_STEPS = 2, 3
"""Of the model alone; a trial in which these would take too long has no ceilings."""
WARM_GAIN = 1.05
"""While a round is faster than those before it by so much, the model was not warm yet."""
LARGEST_SHARE = 0.25
NUM_AT_FIRST, NUM_KEPT = 2, 6
"""Batches kept before and after the drain: a loader may have few buffers to give away."""
MOST_COVERED = 6
"""Steps in which it is seen how much of a step computes; of long ones no more than a round has."""


class _Measured(TrialStopped):
    """Leaves the training function once the ceilings are known."""


@dataclass(frozen=True, kw_only=True)
class Ceilings:
    """What was found.

    Attributes:
        metrics: Figures by metric name.
        tags: Verdicts by name.
    """

    metrics: Mapping[str, float]
    tags: Mapping[str, str]


def measure_ceilings(train: Callable[[Run], None], trial: Run) -> Ceilings | None:
    """Calls ``train`` once more to see what its loader and its model can do.

    Args:
        train: The training function, its config filled in.
        trial: The run of the trial itself, which has ended.

    Returns:
        None where they cannot be taken: several ranks, which would have to agree; a loop that
        is not driven by ``run.epochs()``; too few steps to spare the time.
    """
    recording = trial.recording()
    if trial.world_size > 1 or not _worth_it(recording):
        return None
    gc.collect()
    # Speed does not depend on what was learned: nothing is restored, and nothing kept.
    context = replace(recording.context, checkpoint_dir=None, burst=1)
    run = _CeilingRun(context, recording)
    try:
        train(run)
    except _Measured:
        return run.ceilings(recording)
    return None


def _worth_it(recording: Recording) -> bool:
    throughput = recording.throughput
    if recording.set_up_s is None or throughput is None:
        return False
    step_s = dict(steady_figures(throughput))["step_ms"] / 1000
    # A compiled step takes its time in the first one.
    first = recording.blocks[0]
    first_s = first.duration_s - (first.num_steps - 1) * step_s
    steps_s = MIN_ROUNDS * MIN_STEPS * step_s
    return recording.set_up_s + first_s + steps_s <= _most_s(recording)


def _most_s(recording: Recording) -> float:
    """What the second call may take altogether."""
    return max(LARGEST_SHARE * recording.train_s, 2 * LEAST_S)


class _Silent:
    """A channel that hears nothing."""

    def report(self, report: Report) -> bool:
        return False


class _CeilingRun(Run):
    """A run with one pass, in which the loader and the model take turns."""

    def __init__(self, context: Context, recording: Recording) -> None:
        super().__init__(context, _Silent())
        self._burst = recording.context.burst
        self._duration_s = min(max(SHARE * recording.train_s, LEAST_S), MOST_S)
        self._most_s = _most_s(recording)
        self._trial = recording.throughput
        self._drained: Throughput | None = None
        self._alone: Throughput | None = None
        self._covered: float | None = None

    def epochs(self) -> Iterator[int]:
        """One pass."""
        yield 0

    @property
    def last_epoch(self) -> bool:
        """Never: a last epoch has more to do."""
        return False

    def batches(self, loader: Iterable[B], *, samples: Callable[[B], int]) -> Iterator[B]:
        """Drains ``loader``, then yields some of its batches over and over."""
        kept = self._drain(loader, samples)
        if kept:
            yield from self._timed(kept, samples)
            yield from self._seen(kept)
        raise _Measured

    def ceilings(self, recording: Recording) -> Ceilings | None:
        """Figures and verdict, given what the trial itself has recorded."""
        trial = recording.throughput
        if trial is None or self._drained is None or self._alone is None:
            return None
        alone = dict(steady_figures(self._alone))
        # Still cold when its time was up, a model has shown in the trial that it does as much.
        alone_rate = max(self._alone.rate, trial.rate)
        found: Bound = bound_of(
            supply=_supply(recording, drained_s=1 / self._drained.rate),
            model_s=1 / alone_rate,
            stay=Stay(
                step_ms=alone["step_ms"],
                transfer_ms=alone.get("transfer_ms", 0.0),
                covered=self._covered,
            ),
        )
        metrics = {
            "loader_only_samples_per_s": self._drained.rate,
            "compute_only_samples_per_s": alone_rate,
            "headroom": alone_rate / trial.rate,
        }
        return Ceilings(metrics=metrics, tags={"bound": str(found)})

    # -- the loader

    def _drain(self, loader: Iterable[B], samples: Callable[[B], int]) -> list[B]:
        """Takes batches for a while and uses none; returns some of them."""
        burst = self._burst
        timer = StepTimer(HostClock(), burst=burst)
        enough = burst + 1 + 4 * 2 * burst
        kept: list[B] = []
        began = time.perf_counter()
        for epoch in itertools.count():
            timer.epoch_begins()
            iterator, num_before = iter(loader), timer.num_steps
            num_taken = 0
            while not self._has_lasted(began, num_before + num_taken, enough):
                timer.asks()
                batch = next(iterator, None)
                if batch is None:
                    break
                timer.received()
                timer.done(samples(batch))
                num_taken += 1
                if len(kept) < NUM_AT_FIRST:
                    kept.append(batch)
            timer.epoch_ends(epoch)
            if not num_taken or self._has_lasted(began, timer.num_steps, enough):
                break
        self._drained = measure_throughput(timer.blocks)
        # What is left of an epoch, or another one; a loader that can be gone through once has none.
        more = itertools.chain(iterator, _again(loader)) if num_taken else iter(())
        kept += itertools.islice(more, NUM_KEPT - len(kept))
        return kept

    def _has_lasted(self, began: float, num_steps: int, enough: int) -> bool:
        elapsed = time.perf_counter() - began
        return elapsed >= self._duration_s * (1 if num_steps >= enough else 3)

    # -- the model

    def _timed(self, kept: list[B], samples: Callable[[B], int]) -> Iterator[B]:
        """Goes over ``kept`` in rounds until the model is warm; the fastest round counts.

        The model is new and the process has just been forked into workers: its first steps
        touch memory that is not there yet, or that has to be copied.
        """
        batches = itertools.cycle(kept)
        began = time.perf_counter()
        for index in itertools.count():
            yield from self._round(index, batches, samples)
            blocks = [block for block in self._timer.blocks if block.epoch == index]
            found, before = measure_throughput(blocks), self._alone
            if found is None:
                return
            gains = before is None or found.rate >= WARM_GAIN * before.rate
            if before is None or found.rate > before.rate:
                self._alone = found
            is_warm = not gains and not self._is_cold()
            is_late = index + 1 >= MIN_ROUNDS and time.perf_counter() - began > self._most_s
            if is_warm or is_late:
                return

    def _is_cold(self) -> bool:
        """Whether the model alone is still slower than it was in the trial, behind its loader."""
        alone, trial = self._alone, self._trial
        return alone is not None and trial is not None and alone.rate < trial.rate

    def _round(self, index: int, batches: Iterator[B], samples: Callable[[B], int]) -> Iterator[B]:
        self._timer.epoch_begins()
        began = time.perf_counter()
        for step in itertools.count():
            if step >= MIN_STEPS and time.perf_counter() - began >= self._duration_s:
                break
            self._timer.asks()
            batch = next(batches)
            self._timer.received()
            yield batch
            self._timer.done(samples(batch))
        self._timer.epoch_ends(index)

    def _seen(self, kept: list[B]) -> Iterator[B]:
        """Steps in which it is seen how much of them computes."""
        if self._alone is None:
            return
        step_s = dict(steady_figures(self._alone))["step_ms"] / 1000
        num_steps = min(max(math.ceil(self._duration_s / step_s), MIN_STEPS), MOST_COVERED)
        batches = itertools.islice(itertools.cycle(kept), num_steps)
        if self.device.type == "cuda":
            with covered_on_cuda(self.device) as seen:
                yield from batches
        else:
            with covered_on_host() as seen:
                yield from batches
        self._covered = seen.share(step_s, num_steps=num_steps)


def _supply(recording: Recording, *, drained_s: float) -> Supply:
    """What a batch takes to be there. Draining waits for copies only where fetching does."""
    in_turn = recording.copies_are_waited_for
    samples = sum(block.samples for block in recording.blocks)
    copy_s = (recording.copied_s or 0.0) / samples if samples else 0.0
    loader_s = max(drained_s - copy_s, 0.0) if in_turn else drained_s
    return Supply(loader_s=loader_s, copy_s=copy_s, in_turn=in_turn)


def _again(loader: Iterable[B]) -> Iterator[B]:
    """Starts the loader once more, when the first batch is asked for."""
    yield from loader
