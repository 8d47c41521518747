"""Figures that Ray Tune fills in to each report, counted as its ``Trainable.train`` does (2.60)."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

FILLED: Final = frozenset({
    "trial_id", "experiment_id", "date", "timestamp", "pid", "hostname", "node_ip", "config",
    "time_this_iter_s", "time_total_s", "time_since_restore", "iterations_since_restore",
    "timesteps_since_restore", "timesteps_total", "episodes_total", "training_iteration", "done",
    "should_checkpoint", "checkpoint_dir_name", "__duplicate__",
})  # fmt: skip
"""Names that Ray Tune fills in or obeys: recorded where a sweep asks for them."""

_SUMS: Final = {"timesteps_this_iter": "timesteps_total", "episodes_this_iter": "episodes_total"}
"""Totals that are filled in where a report has the increment."""


class FilledIn:
    """What is filled in to the reports of one trial.

    Args:
        trial_id: The trial's id.
        config: Its config, as the function gets it.
    """

    def __init__(self, trial_id: str, config: Mapping[Any, Any]) -> None:
        self._trial_id, self._config = trial_id, config
        self._before_s = time.monotonic()
        self._since_s = self._restored_s = 0.0
        self._num_before = self._num_since = 0
        self._totals: dict[str, Any] = {}

    def go_on_after(self, num_reports: int, total_s: float) -> None:
        """Count from a checkpoint on, which so many reports and seconds came before."""
        self._num_before, self._restored_s = num_reports, total_s

    def to(self, metrics: Mapping[Any, Any]) -> dict[Any, Any]:
        """Return a report with what is filled in."""
        now_s = time.monotonic()
        duration_s, self._before_s = now_s - self._before_s, now_s
        own_s = metrics.get("time_this_iter_s")
        if own_s is not None:
            duration_s = own_s
        self._since_s += duration_s
        self._num_since += 1
        for increment, total in _SUMS.items():
            if metrics.get(increment) is not None:
                self._totals[total] = self._totals.get(total, 0) + metrics[increment]
        result = {
            "done": False,
            "training_iteration": self._num_before + self._num_since,
            **self._totals,
            **metrics,
            **self._of_the_trial(),
            "time_this_iter_s": duration_s,
            "time_total_s": self._restored_s + self._since_s,
            "time_since_restore": self._since_s,
            "iterations_since_restore": self._num_since,
        }
        if steps := self._totals.get("timesteps_total"):
            result["timesteps_since_restore"] = steps
        return result

    def _of_the_trial(self) -> dict[str, Any]:
        now = datetime.today()
        return {
            "trial_id": self._trial_id,
            "date": now.strftime("%Y-%m-%d_%H-%M-%S"),
            "timestamp": int(time.time()),
            "pid": os.getpid(),
            "hostname": platform.node(),
            "node_ip": "127.0.0.1",
            "config": self._config,
        }
