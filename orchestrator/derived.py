"""Figures that are made for the sweeps that ask for them, from a trial's own reports.

- ``time_to_accuracy_s``: training time until the target was reached (time to accuracy, as MLPerf
  Training counts it; Mattson et al., MLSys 2020).
- ``goodput``: throughput times statistical efficiency (Qiao et al., "Pollux: Co-adaptive Cluster
  Scheduling for Goodput-Optimized Deep Learning", OSDI 2021). Here the efficiency is known from
  the curves: the samples that the baseline takes to the target over those that the trial takes.
- ``cost``: core-hours and GPU-hours by their prices.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from orchestrator.metric_table import OF_THE_TARGET
from orchestrator.metrics import Objective
from orchestrator.trial import Report, Stage, Trial, TrialResult

CLOCK: Final = "train_s"
"""Time in training epochs: evaluating more often does not make a config slower."""

EXACT: Final = 1e-9
_HOUR_S: Final = 3600.0


def target_value(target: Objective, bests: Iterable[float]) -> float:
    """Return the value to be reached: the bound, or what is near the best of the curves' bests.

    NaN where there is none.
    """
    if target.bound is not None:
        return target.bound
    values = [target.sign * best for best in bests if not math.isnan(best)]
    best, tolerance = target.sign * max(values, default=math.nan), target.tolerance or 0.0
    return best - target.sign * tolerance * (abs(best) if target.relative else 1.0)


def cost_of(result: TrialResult, num_gpus: float, prices: Mapping[str, float]) -> float | None:
    """Return the price of a trial's hours from its start to its end; None where these are open."""
    if result.wall_s is None or result.cores is None:
        return None
    num_cores = result.cores * (1 + result.node.count("+"))  # on each of its nodes
    per_hour = prices.get("cpu_hour", 0.0) * num_cores + prices.get("gpu_hour", 0.0) * num_gpus
    return per_hour * result.wall_s / _HOUR_S


@dataclass(kw_only=True)
class DerivedFigures:
    """Makes the figures of trials while they report, so that a search receives them.

    A target near the best moves as trials get better: a search receives each trial's figures by
    the best so far, and the tables at the end have them by the best of all. ``goodput`` is
    relative to the first trial that got there, until the analysis knows the baseline.

    Attributes:
        target: What is to be reached, with a bound or a tolerance; None: nothing is.
        prices: Prices of a ``cpu_hour`` and a ``gpu_hour``; empty: trials have no cost.
        num_gpus: Returns the GPUs of a config.
        progress: Epochs and samples of each trial by its last report, by the trial's id.
    """

    target: Objective | None = None
    prices: Mapping[str, float] = field(default_factory=dict)
    num_gpus: Callable[[Mapping[str, Any]], float] = lambda config: 0
    progress: dict[str, tuple[int, int]] = field(default_factory=dict)
    _curves: dict[str, list[Report]] = field(default_factory=dict)
    _bests: dict[str, float] = field(default_factory=dict)

    def reported(self, trial: Trial, report: Report) -> None:
        """Take a report of a trial; what its curve had from that epoch on is void."""
        self.progress[trial.id] = report.epoch, report.samples
        if self.target is None:
            return
        key, metric = trial.curve or trial.id, self.target.metric
        curve = self._curves.setdefault(key, [])
        while curve and curve[-1].epoch >= report.epoch:
            curve.pop()
        if not math.isnan(report.metrics.get(metric, math.nan)):
            curve.append(report)
        if trial.stage is Stage.TRAIN:
            values = (self.target.sign * one.metrics[metric] for one in curve)
            self._bests[key] = self.target.sign * max(values, default=math.nan)

    def completed(self, trial: Trial, result: TrialResult) -> TrialResult:
        """Return the result of a trial with the figures that are made of it, as they are by now."""
        if self.target is None and not self.prices:
            return result
        made = {name: v for name, v in result.metrics.items() if name not in OF_THE_TARGET}
        if self.prices:
            cost = cost_of(result, self.num_gpus(trial.config), self.prices)
            made |= {} if cost is None else {"cost": cost}
        return replace(
            result, metrics=made | self._of_the_target(trial.curve or trial.id, result.metrics)
        )

    def _of_the_target(self, key: str, metrics: Mapping[str, float]) -> dict[str, float]:
        if self.target is None:
            return {}
        value = target_value(self.target, self._bests.values())
        there = self._first_there(key, value)
        if there is None:
            return {}
        made = {"time_to_accuracy_s": there.metrics.get(CLOCK, there.elapsed_s)}
        speed = metrics.get("samples_per_s")
        if speed is not None and there.samples > 0:
            firsts = (self._first_there(searched, value) for searched in self._bests)
            reference = next(filter(None, firsts), there)
            made["goodput"] = speed * reference.samples / there.samples
        return made

    def _first_there(self, key: str, value: float) -> Report | None:
        """Return the first report of a curve that is as good as ``value``; None without one."""
        assert self.target is not None
        metric, sign = self.target.metric, self.target.sign
        reports = self._curves.get(key, ())
        there = (one for one in reports if sign * (one.metrics[metric] - value) >= -EXACT)
        return next(there, None)
