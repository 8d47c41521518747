"""A run that can pause: its progress and its checkpoints."""

import math
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from orchestrator.data import PreparedData
from orchestrator.measurement.context import Context, load_checkpoint, save_checkpoint
from orchestrator.measurement.recorder import Recorder
from orchestrator.trial import TrialState


class Resumable:
    """Place of a run in the sweep, and its progress through its budget, from a checkpoint on.

    Args:
        context: Its place in the sweep.
        recorder: What it is measured with: its clocks continue after a checkpoint.
    """

    def __init__(self, context: Context, recorder: Recorder) -> None:
        self._context = context
        self.seed = context.seed
        """Seed of every random choice in the trial; the same on every rank."""
        self.device = torch.device(context.device)
        """Device on which this rank trains."""
        self.num_cores = context.num_cores
        """Cores of this rank, for its threads and its loader workers."""
        self.rank = context.rank
        """Index of this rank, from 0."""
        self.world_size = context.world_size
        """Number of ranks that train together."""
        self.trial_id = context.trial_id
        """Id of the trial in the tables; empty outside of a sweep."""
        self.budget = context.budget
        """Length of the training, for a loop that is not driven by :meth:`Run.epochs`."""
        self.evaluates = context.budget.evaluated
        """True where what is learned is to be evaluated; False for a trial of speed alone."""
        self.checkpoint_dir = context.checkpoint_dir
        """Folder of what the trial needs to continue if its process dies, or None."""
        self.notes: list[str] = []
        """Texts for the user of the sweep, each printed once."""
        self.tags: dict[str, str] = {}
        """Tags of the trial's row from here on; ``params.KNOB`` is the value that a knob had."""
        self.restored_epochs = 0
        """Epochs that this process found done in a checkpoint."""
        self._end = context.budget.end
        self._max_steps = math.inf if context.budget.steps is None else context.budget.steps
        self._num_epochs = self._epoch = 0  # those that were counted; index of the current one
        self._steps = self._samples = 0  # those before a restored checkpoint included
        self._recorder = recorder
        self._random: Mapping[str, Any] | None = None  # of a checkpoint, until training continues

    @property
    def data(self) -> PreparedData:
        """Prepared data set.

        Raises:
            LookupError: The trainable was declared without data.
        """
        if self._context.data is None:
            raise LookupError("this trainable declares no data sets, so its run has no data")
        return self._context.data

    @cached_property
    def folder(self) -> Path:
        """Folder for other files of the trial, such as logs; removed with the trial."""
        folder = self._context.folder
        if folder is None:
            self._temporary = TemporaryDirectory(prefix="trial-")
            return Path(self._temporary.name)
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    # -- its progress

    @property
    def last_epoch(self) -> bool:
        """True where the current epoch is this trial's last: of its budget, or before its pause.

        A loop that reports every few epochs reports after this one too. The test split waits for
        the end of the budget: see :attr:`evaluate_test`.
        """
        return self._steps >= self._max_steps or self._epoch + 1 >= self._end

    @property
    def evaluate_test(self) -> bool:
        """True where the test split may be looked at: for selected configs, at the budget's end."""
        is_asked = self._context.evaluate_test and self.evaluates
        return is_asked and self._end == self.budget.epochs

    @property
    def ending(self) -> tuple[TrialState, str]:
        """State and reason of the trial if its training is over: stopped where it has paused."""
        has_all_epochs = self._num_epochs >= self._end and self._steps < self._max_steps
        return self.budget.ending if has_all_epochs else (TrialState.COMPLETED, "")

    def _fraction(self, of_epoch: float) -> float:
        """Return the finished fraction of the budget, with this one of the current epoch."""
        by_epochs = (self._num_epochs + of_epoch) / self._end
        return max(by_epochs, self._steps / self._max_steps if self._max_steps else 1.0)

    # -- loops and checkpoints of another framework

    @property
    def is_endless(self) -> bool:
        """True where an epoch does not end with its loader: when ceilings are measured."""
        return False

    def count_epoch(self) -> None:
        """Count an epoch of a loop that is not driven by :meth:`epochs`."""
        self._epoch = self._num_epochs
        self._num_epochs += 1

    def go_on_from(self, num_epochs: int, elapsed_s: float = 0.0) -> None:
        """Count epochs that a process before this one has trained, as :meth:`restore` does.

        Args:
            num_epochs: Epochs.
            elapsed_s: Seconds that they took, from which the reports' ``elapsed_s`` continues.
        """
        self._continue(num_epochs)
        self._recorder.go_on_from(elapsed_s=elapsed_s)
        self._recorder.resume_clock()

    def _continue(self, num_epochs: int, steps: int = 0, samples: int = 0) -> None:
        self._steps, self._samples = steps, samples
        self._num_epochs = self.restored_epochs = num_epochs
        self._epoch = max(num_epochs - 1, 0)  # where none is left, the last one is the current one

    # -- checkpoints

    def checkpoint(self, state: Mapping[str, Any]) -> None:
        """Save ``state``, so that the trial can continue from here if its process dies.

        Args:
            state: Tensors, numbers, text, and lists and dictionaries of these.
        """
        if self.rank == 0 and self.checkpoint_dir is not None:
            counts = {"epochs": self._epoch + 1, "steps": self._steps, "samples": self._samples}
            save_checkpoint(self.checkpoint_dir, {**counts, **self._recorder.times()}, state)

    def restore(self) -> Mapping[str, Any] | None:
        """Return the state of the last checkpoint, or None; later epochs continue from there.

        Only tensors and plain values are read, never code.

        Raises:
            pickle.UnpicklingError: The file has other content.
        """
        folder = self.checkpoint_dir
        saved = None if folder is None else load_checkpoint(folder)
        if saved is None:
            return None
        times = dict(saved["progress"])
        self._continue(*(times.pop(name) for name in ("epochs", "steps", "samples")))
        self._recorder.go_on_from(**times)
        # The generators of other ranks are not in it, and rank 0's are not theirs.
        self._random = saved["random"] if self.world_size == 1 else None
        state: Mapping[str, Any] = saved["state"]
        return state

    @property
    def elapsed_s(self) -> float:
        """Seconds since the training began, as reports have them."""
        return self._recorder.elapsed_s
