"""Run: a trial as its training function sees it.

::

    def train(config: SageConfig, run: Run) -> None:      # every rank runs this
        for epoch in run.epochs():
            for batch in run.batches(loader, samples=len):
                with run.phase(Phase.FORWARD):
                    loss = ...
            run.report(val_acc=accuracy, train_loss=loss)
"""

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import TypeVar

import torch
from torch import nn

from orchestrator.measurement.blocks import Phase, Row, burst_of, workers_of
from orchestrator.measurement.context import Channel, Context, TrialStopped, set_random_state
from orchestrator.measurement.phase_hooks import PhaseHooks
from orchestrator.measurement.recorder import Recorder
from orchestrator.measurement.resumable import Resumable
from orchestrator.measurement.step_timer import PhaseTimer
from orchestrator.measurement.throughput import StopRule
from orchestrator.measurement.time_slices import TimeSlices, num_batches_of
from orchestrator.measurement.trial_figures import (
    Recording,
    ReportedFigures,
    checked_figures,
    has_diverged,
)
from orchestrator.metrics import FIRST_LOSS, is_learned
from orchestrator.trial import Report

__all__ = ["Channel", "Context", "Phase", "Run", "TrialStopped"]

B = TypeVar("B")

_TWO_LOOPS = (
    "another loop over run.batches has not ended, and steps of the two would be timed as one. "
    "Validate within run.evaluating(), over the loader itself; close() an iterator that outlives "
    "its loop"
)


class Run(Resumable):
    """One rank of one trial, as its training function sees it.

    Args:
        context: Its place in the sweep.
        channel: Destination of its reports.
        slices: Time slices of an interleaved trial of one rank.
        clock: Seconds from any origin, for all times of the host.
    """

    def __init__(
        self,
        context: Context,
        channel: Channel,
        slices: TimeSlices | None = None,
        *,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        super().__init__(context, Recorder(context, clock if slices is None else slices.now))
        self._channel = channel
        self._is_in_loop = False
        self._slices = slices
        if slices is not None:
            slices.pausing = self._recorder.timer.clock.pausing
        half_width = context.budget.half_width
        self._rule = StopRule(half_width) if half_width and context.world_size == 1 else None
        self._burst = context.burst
        self.reported: Mapping[str, float] = {}
        """Figures of the last report, as the training function gave them."""
        self.told_to_stop = False
        """True once a report was answered that the trial is to end."""
        self._figures = ReportedFigures()
        self._names, self._diverged = set[str](), ""

    # -- the loop

    def epochs(self) -> Iterator[int]:
        """Yield the index of each epoch that is left in the budget, up to its pause if it has one.

        Training that continues from a checkpoint has the random numbers of one that never ended,
        where it is one process: global generators are as they were at the checkpoint.
        """
        self._recorder.end_set_up()
        if self._random is not None:
            set_random_state(self._random)
        while self._num_epochs < self._end and self._steps < self._max_steps:
            self._epoch = self._num_epochs
            yield self._epoch
            self._num_epochs += 1

    def batches(self, loader: Iterable[B], *, samples: Callable[[B], int]) -> Iterator[B]:
        """Yield the batches of one epoch and time each step.

        A loop may break out of it. Its last step then counts where it has named a phase, and the
        epoch has no ``epoch_s``.

        Args:
            loader: Anything that yields batches; it is started here.
            samples: Number of training samples in a batch, over all ranks: shares differ by
                one where a batch does not divide evenly.

        Raises:
            RuntimeError: Another loop over batches has not ended: their steps would be mixed.
        """
        return self._one_pass(loader, samples, is_rest=False)

    def rest_of_epoch(self, batches: Iterable[B], *, samples: Callable[[B], int]) -> Iterator[B]:
        """Yield the rest of an epoch that was broken out of, for example for an evaluation."""
        return self._one_pass(batches, samples, is_rest=True)

    def _one_pass(
        self, loader: Iterable[B], samples: Callable[[B], int], *, is_rest: bool
    ) -> Iterator[B]:
        timer, fingerprint = self._recorder.timer, self._recorder.fingerprint
        if self._is_in_loop:
            raise RuntimeError(_TWO_LOOPS)
        self._is_in_loop = True
        # A loader may work further ahead than the trial's demand has it.
        self._burst = burst = max(self._burst, burst_of(loader))
        self._recorder.begin_epoch(burst, workers_of(loader))
        # Kept until the epoch has ended: workers that persist live as long as the iterator, and
        # their CPU time and memory are read then.
        iterator = iter(loader)
        sliced = iterator
        if self._slices is not None:
            sliced = self._slices.divide(
                iterator, num_batches_of(loader), self._close_slice, burst=burst
            )
        has_ended = False
        try:
            while self._steps < self._max_steps:
                timer.begin_step()
                try:
                    batch = next(sliced)
                except StopIteration:
                    has_ended = True
                    break
                timer.receive_batch()
                yield batch
                self._end_step(samples(batch))
                if fingerprint.is_open:
                    fingerprint.add_batch(batch)
                if self._rule is not None:
                    self._analyse()
        except GeneratorExit:
            if timer.has_named_phases:
                self._end_step(samples(batch))
            self._end_epoch(is_whole=False, has_ended=False)
            raise
        finally:
            self._is_in_loop = False
        self._end_epoch(is_whole=has_ended and not is_rest, has_ended=has_ended)
        if self._slices is not None:
            self._slices.end_epoch(self._fraction(1.0))

    def phase(self, phase: Phase) -> PhaseTimer:
        """Return a context that counts its duration as ``phase`` of the current step.

        Raises:
            ValueError: There is no such phase.
        """
        if type(phase) is not Phase:
            phase = Phase(phase)  # its name, if that is one
        return self._recorder.timer.phase(phase)

    def watch(self, model: nn.Module, *optimizers: torch.optim.Optimizer) -> None:
        """Mark forward, backward and optimizer by hooks, for a loop that names no phases.

        Args:
            model: What the step calls: the outermost wrapper, if there are any.
            optimizers: All that the step uses.
        """
        PhaseHooks(self._recorder.timer, model, *optimizers)

    def copying(
        self, stream: torch.cuda.Stream, *, is_waited_for: bool = False
    ) -> AbstractContextManager[None]:
        """Return a context that counts what is put on ``stream`` as copies that overlap the steps.

        Args:
            stream: Stream of the copies.
            is_waited_for: True where the next batch is not fetched before this one's copy is done.
        """
        return self._recorder.copies.on(stream, is_waited_for=is_waited_for)

    def evaluating(self) -> AbstractContextManager[None]:
        """Return a context whose duration is counted as ``eval_s``, not as training."""
        return self._recorder.evaluating()

    def first_loss(self, loss: torch.Tensor | float) -> None:
        """Report the mean loss of the first step, by which trials of speed alone are compared.

        It may be called in every step: later calls change nothing, and a tensor is read after the
        epoch. Of several ranks, rank 0 calls it.
        """
        if not self.restored_epochs:
            self._recorder.fingerprint.add_loss(loss)

    def report(self, /, **metrics: float) -> None:
        """Report figures of the trial so far; on rank 0 only, a no-op on the others.

        Call it between epochs, never within a step. Of a trial of speed alone, figures of what was
        learned are not kept.

        Raises:
            TrialStopped: The trial is to end here.
            TypeError, FloatingPointError, ValueError: A figure is no number, is not finite, or is
                an accuracy that is no fraction of 1. The first value of a figure may be infinite,
                such as a best loss so far: the next report or the end refuses it.
        """
        checked = checked_figures(metrics)
        diverged = [name for name, figure in checked.items() if has_diverged(name, figure)]
        self._diverged = ""
        for name in diverged:
            self._diverged = f"{name} is {checked[name]} after step {self._steps}"
            if name in self._names:
                self.require_finite()
            checked[name] = math.nan
        self._names.update(checked)
        self.reported = {
            name: value
            for name, value in checked.items()
            if self.evaluates or name == FIRST_LOSS or not is_learned(name)
        }
        if self.rank == 0 and self._channel.report(self._report(self.reported)):
            self.told_to_stop = True
            raise TrialStopped

    # -- for the process that runs the training function

    def require_finite(self) -> None:
        """Check the last report.

        Raises:
            FloatingPointError: A figure of it is infinite, or a loss that is not a number.
        """
        if self._diverged:
            raise FloatingPointError(self._diverged)

    def recording(self) -> Recording:
        """Return everything measured so far."""
        return self._recorder.recording(self._epoch + 1, self._steps)

    def take_rows(self) -> list[Row]:
        """Return the blocks of steps since the last report."""
        return self._recorder.take_rows()

    def _report(self, metrics: Mapping[str, float]) -> Report:
        made, tags = self._figures.of(self.recording())
        return Report(
            step=self._steps,
            epoch=self._epoch + 1,
            samples=self._samples,
            elapsed_s=self._recorder.elapsed_s,
            metrics={**made, **metrics},
            tags={**tags, **self.tags},
            blocks=self.take_rows(),
            restored_epochs=self.restored_epochs,
        )

    # -- between steps

    def _end_step(self, num_samples: int) -> None:
        self._recorder.timer.end_step(num_samples)
        self._steps += 1
        self._samples += num_samples

    def _analyse(self) -> None:
        """End the budget here if the throughput is known well enough."""
        assert self._rule is not None
        if self._rule.is_due(self._steps, self._burst):
            self._recorder.timer.close_blocks(self._epoch)
            if self._rule.is_enough(self._steps, self._recorder.timer.blocks):
                self._max_steps = self._steps

    def _close_slice(self, of_epoch: float) -> float:
        """Close the blocks of a slice; return the trial's progress."""
        self._recorder.timer.end_slice(self._epoch)
        return self._fraction(of_epoch)

    def _end_epoch(self, *, is_whole: bool, has_ended: bool) -> None:
        self._recorder.end_epoch(
            self._epoch, is_whole=is_whole, is_last=self.last_epoch, has_ended=has_ended
        )
