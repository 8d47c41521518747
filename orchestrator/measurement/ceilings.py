"""Ceilings: rates of the loader alone and of the model alone, in the trial's own process.

Once a trial has completed, its training function is called a second time with a run that
has one pass. There the first call of ``batches`` drains the loader, keeps some batches,
gives these to the loop over and over, and then leaves the function as a stopped trial does.
So nothing is evaluated, reported or saved twice, and everything after the loop was done in full
by the first call.
"""

import gc
import itertools
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from orchestrator.measurement.bound import bound_of, computing
from orchestrator.measurement.clocks import clock_for
from orchestrator.measurement.run import Context, Run, TrialStopped
from orchestrator.measurement.step_timer import StepTimer
from orchestrator.measurement.throughput import Throughput, measure_throughput
from orchestrator.measurement.trial_figures import Recording, steady_figures
from orchestrator.trial import Report

B = TypeVar("B")

SHARE = 0.05
"""Share of the training time for draining, and for each round of the model alone."""
MIN_DURATION_S, MAX_DURATION_S = 0.2, 5.0
"""Limits of that time."""
MIN_ROUNDS, MIN_STEPS = 2, 3
"""Least rounds of the model alone, and steps of each; too long for a trial, it has no ceilings."""
WARM_GAIN = 1.05
"""Factor by which a round is faster than the ones before it while the model is not warm."""
MAX_SHARE = 0.25
"""Largest share of the training time for all of it."""
NUM_BEFORE_DRAIN, NUM_BATCHES = 2, 6
"""Batches kept from before the drain, and in all: a loader may have few buffers to give away."""
MAX_QUEUED_STEPS = 8
"""Steps that the host may be ahead of a GPU: limits of time are the host's."""
MAX_PROFILED_STEPS = 6
"""Most steps in which the compute share is measured; of long steps no more than a round has."""


class _Measured(TrialStopped):
    """Exit from the training function once the ceilings are known."""


@dataclass(frozen=True, kw_only=True)
class Ceilings:
    """Ceilings of a trial, and what bounds it.

    Attributes:
        metrics: Figures by metric name.
        tags: Verdicts by name.
    """

    metrics: Mapping[str, float]
    tags: Mapping[str, str]


def measure_ceilings(
    train: Callable[[Run], None], trial: Run, *, clock: Callable[[], float] = time.perf_counter
) -> Ceilings | None:
    """Call ``train`` once more to measure its loader and its model alone.

    Args:
        train: The training function, its config filled in.
        trial: Run of the trial itself, which has ended.
        clock: Seconds from any origin.

    Returns:
        None where they cannot be taken: several ranks, which would have to agree; a loop that
        is not driven by ``run.epochs()``; too few steps to spare the time.
    """
    recording = trial.recording()
    if trial.world_size > 1 or not _worth_it(recording):
        return None
    # The first call's model, optimizer and loader workers are garbage in cycles: left to a later
    # collection they would keep memory, and cost time, within the second call.
    gc.collect()
    # Speed does not depend on what was learned: nothing is restored, and nothing saved.
    context = replace(recording.context, checkpoint_dir=None, burst=1)
    run = _CeilingRun(context, recording, clock)
    try:
        train(run)
    except _Measured:
        return run.ceilings()
    return None


def _worth_it(recording: Recording) -> bool:
    """Return True if the second call would take a small part of the training time."""
    throughput = recording.throughput
    if recording.set_up_s is None or throughput is None:
        return False
    step_s = dict(steady_figures(throughput))["step_ms"] / 1000
    # A compiled step takes its time in the first one.
    first = recording.blocks[0]
    first_s = first.duration_s - (first.num_steps - 1) * step_s
    steps_s = MIN_ROUNDS * MIN_STEPS * step_s
    return recording.set_up_s + first_s + steps_s <= _max_s(recording)


def _max_s(recording: Recording) -> float:
    """Return the longest that the second call may take altogether."""
    return max(MAX_SHARE * recording.train_s, 2 * MIN_DURATION_S)


class _Nowhere:
    """Channel that drops its reports."""

    def report(self, report: Report) -> bool:
        return False


class _CeilingRun(Run):
    """Run with one pass, first of the loader alone, then of the model alone."""

    def __init__(self, context: Context, recording: Recording, clock: Callable[[], float]) -> None:
        super().__init__(context, _Nowhere(), clock=clock)
        self._clock = clock
        self._timer = self._recorder.timer
        self._of_trial = recording
        self._duration_s = min(max(SHARE * recording.train_s, MIN_DURATION_S), MAX_DURATION_S)
        self._loader_only: Throughput | None = None
        self._model_only: Throughput | None = None
        self._compute_share: float | None = None

    def epochs(self) -> Iterator[int]:
        """Yield one epoch."""
        yield 0

    @property
    def last_epoch(self) -> bool:
        """False: in a last epoch a training function may have more to do."""
        return False

    @property
    def is_endless(self) -> bool:
        """True: batches come over and over until the function is left."""
        return True

    def batches(self, loader: Iterable[B], *, samples: Callable[[B], int]) -> Iterator[B]:
        """Drain ``loader``, then yield some of its batches over and over."""
        batches = self._drain(loader, samples)
        if batches:
            yield from self._timed(batches, samples)
            yield from self._profiled(batches)
        raise _Measured

    def ceilings(self) -> Ceilings | None:
        """Return figures and verdict; None where a part could not be timed."""
        recording, trial = self._of_trial, self._of_trial.throughput
        if trial is None or self._loader_only is None or self._model_only is None:
            return None
        step = dict(steady_figures(self._model_only))
        # A model that was still cold when its time was up has been as fast in the trial.
        model_rate = max(self._model_only.rate, trial.rate)
        # Draining waits for copies only where fetching does.
        is_serial = recording.copies_are_waited_for
        copy_s = (recording.copied_s or 0.0) / sum(block.samples for block in recording.blocks)
        drained_s = 1 / self._loader_only.rate
        bound = bound_of(
            loader_s=max(drained_s - copy_s, 0.0) if is_serial else drained_s,
            copy_s=copy_s,
            is_serial=is_serial,
            model_s=1 / model_rate,
            step_ms=step["step_ms"],
            transfer_ms=step.get("transfer_ms", 0.0),
            compute_share=self._compute_share,
        )
        metrics = {
            "loader_only_samples_per_s": self._loader_only.rate,
            "compute_only_samples_per_s": model_rate,
            "headroom": model_rate / trial.rate,
        }
        return Ceilings(metrics=metrics, tags={"bound": str(bound)})

    # -- the loader

    def _drain(self, loader: Iterable[B], samples: Callable[[B], int]) -> list[B]:
        """Take batches for a while and use none; return some of them."""
        burst = self._of_trial.context.burst
        # Batches that a GPU makes are there once it has made them, not once they are queued.
        timer = StepTimer(clock_for(self.device, self._clock))
        enough = burst + 1 + 4 * 2 * burst
        batches: list[B] = []
        began = self._clock()
        for epoch in itertools.count():
            timer.begin_epoch(burst)
            iterator, num_taken = iter(loader), 0
            is_over = partial(self._has_lasted, began, enough, timer.num_steps)
            for batch in _steps(timer, iterator, samples, is_over):
                num_taken += 1
                if len(batches) < NUM_BEFORE_DRAIN:
                    batches.append(batch)
            timer.end_epoch(epoch)
            if not num_taken or self._has_lasted(began, enough, timer.num_steps):
                break
        self._loader_only = measure_throughput(timer.blocks)
        # The rest of the epoch, or another one; a loader that can be gone through once has neither.
        more = (batch for again in (iterator, loader) for batch in again) if num_taken else ()
        batches += itertools.islice(more, NUM_BATCHES - len(batches))
        return batches

    def _has_lasted(self, began: float, enough: int, num_before: int, num_steps: int = 0) -> bool:
        elapsed = self._clock() - began
        return elapsed >= self._duration_s * (1 if num_before + num_steps >= enough else 3)

    # -- the model

    def _timed(self, batches: list[B], samples: Callable[[B], int]) -> Iterator[B]:
        """Yield ``batches`` in rounds until the model is warm; the fastest round counts.

        The model is new, and the process has just forked its loader workers: the first steps
        touch memory that is not there yet, or that has to be copied.
        """
        endless, trial = itertools.cycle(batches), self._of_trial.throughput
        began = self._clock()
        for index in itertools.count():
            yield from self._round(index, endless, samples)
            blocks = [block for block in self._timer.blocks if block.epoch == index]
            throughput, before = measure_throughput(blocks), self._model_only
            if throughput is None:
                return
            gains = before is None or throughput.rate >= WARM_GAIN * before.rate
            if before is None or throughput.rate > before.rate:
                self._model_only = throughput
            assert self._model_only is not None
            # Slower alone than in the trial, the model is cold.
            is_cold = trial is not None and self._model_only.rate < trial.rate
            is_warm = not gains and not is_cold
            is_late = index + 1 >= MIN_ROUNDS and self._clock() - began > _max_s(self._of_trial)
            if is_warm or is_late:
                return

    def _round(self, index: int, batches: Iterator[B], samples: Callable[[B], int]) -> Iterator[B]:
        self._timer.begin_epoch()
        began = self._clock()
        yield from _steps(
            self._timer, batches, samples,
            lambda num: num >= MIN_STEPS and self._clock() - began >= self._duration_s,
        )  # fmt: skip
        self._timer.end_epoch(index)

    def _profiled(self, batches: list[B]) -> Iterator[B]:
        """Yield some batches more and profile their steps for the compute share."""
        if self._model_only is None:
            return
        step_s = dict(steady_figures(self._model_only))["step_ms"] / 1000
        num_steps = min(max(math.ceil(self._duration_s / step_s), MIN_STEPS), MAX_PROFILED_STEPS)
        with computing(self.device, num_steps) as found:
            yield from itertools.islice(itertools.cycle(batches), num_steps)
        for computed_s in found:
            self._compute_share = min(computed_s / num_steps / step_s, 1.0)


def _steps(
    timer: StepTimer,
    batches: Iterator[B],
    samples: Callable[[B], int],
    is_over: Callable[[int], bool],
) -> Iterator[B]:
    """Yield batches and time a step with each, until it is over after so many."""
    for num_steps in itertools.count():
        if is_over(num_steps):
            return
        timer.begin_step()
        batch = next(batches, None)
        if batch is None:
            return
        timer.receive_batch()
        yield batch
        timer.end_step(samples(batch))
        timer.wait_for_step(MAX_QUEUED_STEPS)
