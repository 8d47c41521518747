"""A confirm stage that takes no more than a share of what its search took."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from orchestrator.search.stages.judge import Config
from orchestrator.search.stages.sequence import Ledger
from orchestrator.trial import Stage, Trial, TrialResult, TrialState


class Allowance:
    """Core-time that confirm runs may take, as a share of the core-time of all runs before them.

    Args:
        share: The share.
    """

    def __init__(self, share: float) -> None:
        self._share = share

    def has_room(
        self, ledger: Ledger, *, short: Sequence[Config] = (), whole: Sequence[Config] = ()
    ) -> bool:
        """Return True if there is room for short runs and whole trainings of these configs."""
        spent = [_core_s(result) for trial, result in ledger.results if _confirms(trial)]
        before = [_core_s(result) for trial, result in ledger.results if not _confirms(trial)]
        asked = len(short) * _short_s(ledger) + sum(_whole_s(ledger, each) for each in whole)
        return sum(spent) + asked <= self._share * sum(before)


def _confirms(trial: Trial) -> bool:
    return trial.stage is Stage.CONFIRM


def _core_s(result: TrialResult) -> float:
    return (result.wall_s or 0.0) * (result.cores or 1)


def _short_s(ledger: Ledger) -> float:
    """Return the mean core-time of a short run: of those that confirm, else of the probes."""
    for stage in (Stage.CONFIRM, Stage.PROBE):
        times = [
            _core_s(result)
            for trial, result in ledger.results
            if trial.stage is stage and not trial.budget.evaluated
        ]
        if times:
            return fmean(times)
    return 0.0


def _whole_s(ledger: Ledger, config: Config) -> float:
    """Return the core-time of a whole training: of this config's, else of the longest one.

    A curve that was paused counts with all of its parts.
    """
    curves: dict[tuple[str, int], float] = {}
    ended: list[tuple[str, int]] = []
    for trial, result in ledger.results:
        if trial.stage is Stage.TRAIN:
            curve = repr(sorted(trial.config.items())), trial.repeat
            curves[curve] = curves.get(curve, 0.0) + _core_s(result)
            if result.state is TrialState.COMPLETED:
                ended.append(curve)
    own = [curves[curve] for curve in ended if curve[0] == repr(sorted(config.items()))]
    return fmean(own) if own else max((curves[curve] for curve in ended), default=0.0)
