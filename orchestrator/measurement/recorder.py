"""Recorder of a run: times, memory, CPU time and copies of its epochs."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import torch

from orchestrator.measurement.blocks import Row
from orchestrator.measurement.clocks import Copies, clock_for
from orchestrator.measurement.context import Context
from orchestrator.measurement.fingerprint import NUM_BATCHES, Fingerprint
from orchestrator.measurement.step_timer import StepTimer
from orchestrator.measurement.trial_figures import Recording
from orchestrator.measurement.usage import MemoryAtEnds, Usage, peak_gpu_bytes, usage_now
from orchestrator.trial import Stage


class Recorder:
    """Recorder of everything that one rank's run measures.

    Attributes:
        timer: Timer of its steps.
        copies: Copies that overlap its steps.
        fingerprint: Hash of the first batches of a trial of speed alone, and its first loss.
    """

    def __init__(self, context: Context, now: Callable[[], float]) -> None:
        self._now = now
        self._device = torch.device(context.device)
        self.timer = StepTimer(clock_for(self._device, now))
        self.copies = Copies()
        # A rank has a share of each batch, which depends on the number of ranks.
        has_batches = context.stage is Stage.PROBE and context.world_size == 1
        self.fingerprint = Fingerprint(NUM_BATCHES if has_batches else 0)
        self._memory = MemoryAtEnds()
        self._began = now()
        self._epoch_began = 0.0
        self._earlier_s = 0.0
        self._usage_before = Usage()
        self._num_sent = 0
        self._so_far = Recording(
            context=context,
            blocks=self.timer.blocks,
            epochs=self.timer.epochs,
            memory=self._memory.readings,
            fingerprint=self.fingerprint,
        )

    @property
    def elapsed_s(self) -> float:
        """Seconds since the training began, those between its processes left out."""
        return self._now() - self._began

    def go_on_from(
        self, *, elapsed_s: float, train_s: float = 0.0, eval_s: float | None = None
    ) -> None:
        """Take over the times of a process before this one, as :meth:`times` had them."""
        self._earlier_s = elapsed_s
        self._so_far.earlier_train_s, self._so_far.eval_s = train_s, eval_s

    def times(self) -> dict[str, float | None]:
        """Return the times of a checkpoint, from which :meth:`go_on_from` continues."""
        train_s = self._so_far.whole_train_s
        return {"elapsed_s": self.elapsed_s, "train_s": train_s, "eval_s": self._so_far.eval_s}

    def end_set_up(self) -> None:
        """Record that the first epoch is about to begin."""
        self._so_far.set_up_s = self.elapsed_s
        self.resume_clock()

    def resume_clock(self) -> None:
        """Continue from the time of a checkpoint, if one was restored.

        A second set-up is no part of the training.
        """
        if self._earlier_s:
            self._began = self._now() - self._earlier_s

    def begin_epoch(self, burst: int = 1, num_workers: int = 0) -> None:
        """Record that an epoch begins, before its loader is started.

        Args:
            burst: Steps that the loader works ahead.
            num_workers: Its worker processes, which may be more than the demand has.
        """
        known = self._so_far.context
        most = max(num_workers, known.num_workers)
        self._so_far.context = replace(known, burst=burst, num_workers=most)
        self._usage_before = usage_now()
        self.timer.begin_epoch(burst)
        # The clock last: to read the usage takes time, which is no part of the epoch.
        self._epoch_began = self._now()

    def end_epoch(
        self, index: int, *, is_whole: bool, is_last: bool, has_ended: bool | None = None
    ) -> None:
        """Record that an epoch has ended. What is read here is in no figure of a time.

        Args:
            index: Of the epoch, from 0.
            is_whole: True where its loader had nothing left.
            is_last: True where no other epoch follows.
            has_ended: As for :meth:`StepTimer.end_epoch`.
        """
        mark = self.timer.mark()
        # The epoch's last kernels and copies are in its time.
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)
        so_far = self._so_far
        so_far.train_s += self._now() - self._epoch_began
        so_far.usage = so_far.usage.grown(self._usage_before, usage_now())
        self.timer.end_epoch(index, is_whole=is_whole, has_ended=has_ended, ended=mark)
        self.copies.end_epoch()
        self._memory.end_epoch(index, so_far.train_s, is_last=is_last)

    @contextmanager
    def evaluating(self) -> Iterator[None]:
        """Count what is within as evaluation."""
        began = self._now()
        try:
            yield
        finally:
            # Kernels are only queued when Python continues: without this the next epoch would
            # begin with the evaluation's.
            if self._device.type == "cuda":
                torch.cuda.synchronize(self._device)
            self._so_far.eval_s = (self._so_far.eval_s or 0.0) + self._now() - began

    def take_rows(self) -> list[Row]:
        """Return the blocks of steps since this was last called."""
        blocks = self.timer.blocks[self._num_sent :]
        self._num_sent = len(self.timer.blocks)
        return [block.to_row() for block in blocks]

    def recording(self, num_epochs: int, num_steps: int) -> Recording:
        """Return everything measured so far, with the run's counts of epochs and steps."""
        return replace(
            self._so_far,
            num_epochs=num_epochs,
            num_steps=num_steps,
            peak_gpu_bytes=peak_gpu_bytes(self._device),
            copied_s=self.copies.total_s,
            copies_are_waited_for=self.copies.are_waited_for,
        )
