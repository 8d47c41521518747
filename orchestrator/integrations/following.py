"""A run that follows the loop of another framework: its epochs, evaluations and figures."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

import torch

from orchestrator.integrations.loaders import TimedLoader
from orchestrator.measurement.run import Run


def set_up(run: Run) -> None:
    """Give the process the threads of its trial, and its ranks their network."""
    torch.set_num_threads(run.num_cores)
    if os.environ.get("MASTER_ADDR") == "127.0.0.1":
        # gloo would look up the host's own name, which need not resolve.
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")


class FollowedLoop:
    """Training loop of another framework, as a run sees it.

    Args:
        run: The trial.
        names: Names to report figures by, where they are not the framework's.

    Attributes:
        is_within_epoch: True from an epoch's beginning until another begins or the training ends.
        loader: Its loader of training batches, once it is known.
    """

    def __init__(self, run: Run, names: Mapping[str, str] | None) -> None:
        self._run = run
        self._names = names or {}
        self._epochs = run.epochs()
        self.is_within_epoch = False
        self.loader: TimedLoader[Any] | None = None
        self._evaluation: AbstractContextManager[None] | None = None
        self._figures: dict[str, Any] = {}

    def begin_epoch(self) -> None:
        """Begin an epoch, and count the one before it.

        Raises:
            RuntimeError: The budget is used up: it would be one too many.
        """
        self.is_within_epoch = next(self._epochs, None) is not None
        if not self.is_within_epoch:
            raise RuntimeError(
                f"the budget of {self._run.budget.epochs} epochs is used up, and an epoch begins: "
                "share it among several fits, by {**prepare(run), ...} with fewer epochs in each"
            )

    def end_training(self) -> None:
        """Count the last epoch, after which no other one begins."""
        if self.is_within_epoch:
            self._run.count_epoch()
        self.is_within_epoch = False

    def finish_batch(self) -> bool:
        """End a batch's step; return True where the budget is used up by it."""
        assert self.loader is not None, "batches come from it"
        return not self.loader.finish_batch() and self._run.last_epoch

    def interrupt(self) -> None:
        """End the timed part of the epoch, for what is no training."""
        if self.loader is not None:
            self.loader.interrupt()

    def begin_evaluation(self) -> None:
        """Count what follows as evaluation."""
        self.interrupt()
        if self._evaluation is None:
            self._evaluation = self._run.evaluating()
            self._evaluation.__enter__()

    def end_evaluation(self) -> None:
        """Count what follows as training again."""
        if self._evaluation is not None:
            self._evaluation.__exit__(None, None, None)
        self._evaluation = None

    def keep(self, figures: Mapping[str, Any]) -> None:
        """Keep figures for the next report; what is no single number is left out."""
        for name, figure in figures.items():
            if _is_one_number(figure):
                self._figures[self._names.get(name, name)] = figure

    def report(self) -> None:
        """Report what was kept since the last report.

        Raises:
            TrialStopped: The trial is to end here.
        """
        figures, self._figures = self._figures, {}
        self._run.report(**figures)


def _is_one_number(figure: Any) -> bool:
    is_single = getattr(figure, "numel", lambda: getattr(figure, "size", 1))() == 1
    return is_single and hasattr(figure, "__float__")
