"""What a trainable sees of a trial: its seed, device, data and budget, and a stop watch.

def train(config: SageConfig, run: Run) -> None:      # every rank runs this
    for epoch in run.epochs():
        for batch in run.batches(loader, samples=len):
            with run.phase(Phase.FORWARD):
                loss = ...
        run.report(val_acc=accuracy, train_loss=loss)
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import nn

from orchestrator.data import PreparedData
from orchestrator.measurement.blocks import Row, to_rows
from orchestrator.measurement.channel import Channel, TrialStopped
from orchestrator.measurement.checkpoints import Progress, load_checkpoint, save_checkpoint
from orchestrator.measurement.clocks import clock_for
from orchestrator.measurement.context import Context
from orchestrator.measurement.copies import Copies
from orchestrator.measurement.figures import Recording, figures, verdicts
from orchestrator.measurement.memory import MemoryAtEnds, peak_gpu_bytes
from orchestrator.measurement.phase_hooks import PhaseHooks
from orchestrator.measurement.step_timer import PhaseTimer, StepTimer
from orchestrator.measurement.steps import Phase
from orchestrator.measurement.stop_rule import stop_rule
from orchestrator.measurement.time_slices import TimeSlices, num_batches_of
from orchestrator.measurement.usage import NO_USAGE, Usage, usage_now
from orchestrator.trial import Report

__all__ = ["Channel", "Context", "Phase", "Run", "TrialStopped"]

B = TypeVar("B")


class Run:
    """One rank of one trial, as its training function sees it.

    Args:
        context: Its place in the sweep.
        channel: Where its reports go.
        turns: Its turns where it shares its cores with others in turn: on the CPU alone, one rank.
    """

    def __init__(self, context: Context, channel: Channel, turns: TimeSlices | None = None) -> None:
        self._context = context
        self._channel = channel
        self._turns = turns
        self._now = time.perf_counter if turns is None else turns.now
        clock = clock_for(torch.device(context.device), self._now)
        self._timer = StepTimer(clock, burst=context.burst)
        self._began = self._now()
        self._epoch = 0
        self._epochs_done = 0
        self._restored_epochs = 0
        self._steps_done = 0
        self._samples_done = 0
        self._eval_s: float | None = None
        self._copies = Copies()
        self._usage = NO_USAGE
        self._memory = MemoryAtEnds()
        self._num_handed_on = 0
        self._rule = stop_rule(context)
        self._enough = False
        self._set_up_s: float | None = None
        self._train_s = 0.0

    # -- where am I

    @property
    def seed(self) -> int:
        """Seed of every random choice in the trial; the same on every rank."""
        return self._context.seed

    @property
    def device(self) -> torch.device:
        """Where this rank trains."""
        return torch.device(self._context.device)

    @property
    def num_cores(self) -> int:
        """Cores of this rank, for its threads and its loader workers."""
        return self._context.num_cores

    @property
    def rank(self) -> int:
        """Index of this rank, from 0."""
        return self._context.rank

    @property
    def world_size(self) -> int:
        """Number of ranks that train together."""
        return self._context.world_size

    @property
    def data(self) -> PreparedData:
        """The prepared data set.

        Raises:
            LookupError: The trainable was declared without data.
        """
        if self._context.data is None:
            raise LookupError("this trainable declares no data sets, so its run has no data")
        return self._context.data

    @property
    def evaluate_test(self) -> bool:
        """Whether the test split may be looked at: true for selected configs only."""
        return self._context.evaluate_test

    @property
    def checkpoint_dir(self) -> Path | None:
        """Where the trial keeps what it needs to go on if its process dies; or None."""
        return self._context.checkpoint_dir

    @property
    def last_epoch(self) -> bool:
        """Whether the current epoch is the budget's last."""
        return self._out_of_steps() or self._epoch + 1 >= self._context.budget.epochs

    # -- the loop

    def epochs(self) -> Iterator[int]:
        """Yields the index of each epoch that is left in the budget."""
        self._set_up_s = self._now() - self._began
        while self._epochs_done < self._context.budget.epochs and not self._out_of_steps():
            self._epoch = self._epochs_done
            yield self._epoch
            self._epochs_done += 1

    def count_epoch(self) -> None:
        """Counts an epoch of a loop that is not driven by :meth:`epochs`."""
        self._epoch = self._epochs_done
        self._epochs_done += 1

    def go_on_from(self, num_epochs: int) -> None:
        """Counts epochs that a process before this one has trained, as :meth:`restore` does."""
        self._epochs_done = self._restored_epochs = num_epochs

    @property
    def restored_epochs(self) -> int:
        """Epochs that this process found done in a checkpoint."""
        return self._restored_epochs

    def batches(self, loader: Iterable[B], *, samples: Callable[[B], int]) -> Iterator[B]:
        """Yields the batches of one epoch and times each step.

        A loop may break out of it: the step that it does so from counts where it has named a
        phase, and the epoch has no ``epoch_s``.

        Args:
            loader: Anything that yields batches; it is started here.
            samples: Number of training samples in a batch, over all ranks: shares differ by
                one where a batch does not divide evenly.
        """
        usage_before = usage_now()
        self._timer.epoch_begins()
        began, iterator = self._now(), iter(loader)
        first_step, is_whole = self._steps_done, False
        num_batches = None if self._turns is None else num_batches_of(loader)
        try:
            while not self._out_of_steps():
                self._timer.asks()
                try:
                    batch = next(iterator)
                except StopIteration:
                    is_whole = True
                    break
                self._timer.received()
                yield batch
                self._step_ends(samples(batch))
                self._look()
                if self._turns is not None:
                    done = self._steps_done - first_step
                    if self._turns.may_end_after_step(num_left=num_batches and num_batches - done):
                        self._timer.slice_ends(self._epoch)
                        self._turns.wait(self._progress(done / num_batches if num_batches else 0.0))
        except GeneratorExit:
            if self._timer.has_named_phases:
                self._step_ends(samples(batch))
            self._epoch_ends(began, usage_before, is_whole=False)
            raise
        # Workers that persist are still alive here, because the iterator is.
        self._epoch_ends(began, usage_before, is_whole=is_whole)
        if self._turns is not None and self._turns.may_end_after_epoch():
            self._turns.wait(self._progress(1.0))

    def _step_ends(self, num_samples: int) -> None:
        self._timer.done(num_samples)
        self._steps_done += 1
        self._samples_done += num_samples

    def _epoch_ends(self, began: float, usage_before: Usage, *, is_whole: bool) -> None:
        self._timer.epoch_ends(self._epoch, is_whole=is_whole)
        self._copies.epoch_ends()
        self._train_s += self._now() - began
        self._usage += usage_now() - usage_before
        self._memory.epoch_ends(self._epoch, self._train_s, is_last=self.last_epoch)

    def phase(self, phase: Phase) -> PhaseTimer:
        """A context that counts its duration as ``phase`` of the current step."""
        return self._timer.phase(phase)

    def watch(self, model: nn.Module, *optimizers: torch.optim.Optimizer) -> None:
        """Has hooks mark forward, backward and optimizer, for a loop that names no phases.

        Args:
            model: What the step calls: the outermost wrapper, if there are any.
            optimizers: All that the step uses.
        """
        PhaseHooks(self._timer, model, *optimizers)

    def copying(
        self, stream: torch.cuda.Stream, *, is_waited_for: bool = False
    ) -> AbstractContextManager[None]:
        """A context that counts what is put on ``stream`` within it as copies beside the steps.

        Args:
            stream: What the copies are put on.
            is_waited_for: Whether what fetches the next batch waits for this one's copy.
        """
        return self._copies.on(stream, is_waited_for=is_waited_for)

    @contextmanager
    def evaluating(self) -> Iterator[None]:
        """A context whose duration is counted as ``eval_s``, not as training."""
        began = self._now()
        try:
            yield
        finally:
            if self.device.type == "cuda":
                torch.cuda.synchronize(self.device)
            self._eval_s = (self._eval_s or 0.0) + self._now() - began

    def report(self, **metrics: float) -> None:
        """Reports figures of the trial so far; on rank 0 only, a no-op on the others.

        Call it between epochs, never within a step.

        Raises:
            TrialStopped: The trial is to end here.
            FloatingPointError: A figure whose name ends in ``loss`` is not finite.
        """
        for name, value in metrics.items():
            if name.endswith("loss") and not math.isfinite(value):
                raise FloatingPointError(f"{name} is {value} after step {self._steps_done}")
        if self.rank == 0 and self._channel.report(self._report(metrics)):
            raise TrialStopped

    # -- checkpoints

    def checkpoint(self, state: Mapping[str, Any]) -> None:
        """Keeps ``state`` so that the trial can go on from here if its process dies.

        Args:
            state: Tensors, numbers, text, and lists and dictionaries of these.
        """
        folder = self._context.checkpoint_dir
        if self.rank == 0 and folder is not None:
            done = Progress(self._epoch + 1, self._steps_done, self._samples_done)
            save_checkpoint(folder, done, state)

    def restore(self) -> Mapping[str, Any] | None:
        """The state of the last checkpoint, or None; later epochs go on from there.

        Only tensors and plain values are read, never code.

        Raises:
            pickle.UnpicklingError: The file holds anything else.
        """
        folder = self._context.checkpoint_dir
        saved = None if folder is None else load_checkpoint(folder)
        if saved is None:
            return None
        done, state = saved
        self.go_on_from(done.epochs)
        self._steps_done, self._samples_done = done.steps, done.samples
        return state

    # -- what is reported

    def _look(self) -> None:
        """Between two steps: whether enough has been measured."""
        if self._rule is None or not self._rule.is_due(self._steps_done):
            return
        self._timer.looks(self._epoch)
        self._enough = self._rule.is_enough(self._steps_done, self._timer.blocks)

    def _progress(self, in_epoch: float) -> float:
        """Fraction of the budget that is done, with this part of the current epoch."""
        budget = self._context.budget
        by_steps = 0.0 if budget.steps is None else self._steps_done / budget.steps
        return max((self._epochs_done + in_epoch) / budget.epochs, by_steps)

    def _out_of_steps(self) -> bool:
        limit = self._context.budget.steps
        return self._enough or (limit is not None and self._steps_done >= limit)

    def _report(self, metrics: Mapping[str, float]) -> Report:
        recording = self.recording()
        return Report(
            step=self._steps_done,
            epoch=self._epoch + 1,
            samples=self._samples_done,
            elapsed_s=self._now() - self._began,
            metrics={**figures(recording), **{k: float(v) for k, v in metrics.items()}},
            tags=verdicts(recording),
            blocks=self.new_blocks(),
            restored_epochs=self._restored_epochs,
        )

    def new_blocks(self) -> list[Row]:
        """The blocks of steps since this was last called."""
        blocks = self._timer.blocks[self._num_handed_on :]
        self._num_handed_on = len(self._timer.blocks)
        return to_rows(blocks)

    def recording(self) -> Recording:
        """Everything measured so far."""
        return Recording(
            context=self._context,
            blocks=self._timer.blocks,
            num_timed=self._timer.num_steps,
            epochs=self._timer.epochs,
            memory=self._memory.ends,
            num_epochs=self._epoch + 1,
            num_steps=self._steps_done,
            train_s=self._train_s,
            eval_s=self._eval_s,
            usage=self._usage,
            peak_gpu_bytes=peak_gpu_bytes(self.device),
            set_up_s=self._set_up_s,
            copied_s=self._copies.total_s,
            copies_are_waited_for=self._copies.are_waited_for,
        )
