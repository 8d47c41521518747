"""The speed-up of a config over the baseline, and what it rests on, in figures."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import pandas as pd

from orchestrator.analysis.columns import rows_of, same_config
from orchestrator.analysis.recommendation.pairs import Pairs, pair_up
from orchestrator.analysis.statistics.intervals import is_narrow
from orchestrator.analysis.statistics.noise_floor import NoiseFloor
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.trial import TrialState


class Basis(StrEnum):
    """Evidence that a speed-up rests on, the strongest first."""

    CONFIRM = "confirm"
    """Pairs of fresh runs, interleaved, that did not select."""
    SEARCHING = "searching"
    """The runs that selected: the fastest of many looks faster than it is."""
    SAME = "same"
    """The config is the baseline."""
    UNKNOWN = "unknown"
    """One of the two has no figure, or one that no ratio can be made of."""


@dataclass(frozen=True, kw_only=True)
class Speedup:
    """A config's speed over the baseline's.

    Attributes:
        ratio: How many times as fast, or None where it is not known.
        low: Lower end of the 95 % interval; None where the spread is not known.
        high: Upper end.
        basis: What ``ratio`` rests on.
        num_pairs: Pairs of confirm runs.
        pairs: What else is known of these pairs; None where the basis is another.
        searching_ratio: The same from the runs that selected, or None.
        tie_margin: Ratios within it are a tie.
    """

    ratio: float | None
    low: float | None = None
    high: float | None = None
    basis: Basis
    num_pairs: int = 0
    pairs: Pairs | None = None
    searching_ratio: float | None = None
    tie_margin: float = 0.0

    @property
    def is_known(self) -> bool:
        """True if undisturbed confirm runs tell the ratio, to less than a factor of 1.5."""
        return self.is_clean and is_narrow(self.low, self.high)

    @property
    def is_clean(self) -> bool:
        """True if the ratio rests on confirm runs that no other load disturbed."""
        is_disturbed = self.pairs is not None and self.pairs.num_contaminated > 0
        return self.basis is Basis.CONFIRM and not is_disturbed

    @property
    def leads(self) -> bool:
        """True if the ratio is known, and known not to be 1."""
        return self.is_known and (self.is_shown or self.is_slower)

    @property
    def is_slower(self) -> bool:
        """True if undisturbed confirm runs show the config to be slower than the baseline."""
        return self.is_clean and self.high is not None and self.high < 1

    @property
    def is_shown(self) -> bool:
        """True if undisturbed confirm runs show the config to be faster than the baseline."""
        return self.is_clean and self.low is not None and self.low > 1

    @property
    def is_tie(self) -> bool:
        """True if undisturbed confirm runs show the two to be as fast within the margin."""
        if not self.is_clean or self.low is None or self.high is None:
            return False
        return self.low >= 1 - self.tie_margin and self.high <= 1 / (1 - self.tie_margin)

    @property
    def is_within_margin(self) -> bool:
        """True if the ratio itself is no more than what makes a tie."""
        margin = self.tie_margin
        return self.ratio is not None and 1 - margin <= self.ratio <= 1 / (1 - margin)

    @property
    def is_decided(self) -> bool:
        """True if more confirm runs would tell nothing that matters.

        They show a tie, or which of the two is faster and by what factor, to less than one of 1.5.
        Or they have a round without a ratio, which no further one makes good.
        """
        is_told = self.is_slower or self.is_shown
        never = self.pairs is not None and self.pairs.num_rounds > 0
        return never or self.is_tie or (is_told and is_narrow(self.low, self.high))

    def is_within(self, noise: NoiseFloor) -> bool:
        """Return True if a claimed speed-up is no larger than the noise floor."""
        is_claim = self.basis in (Basis.CONFIRM, Basis.SEARCHING)
        return is_claim and noise.covers(self.ratio, num_runs=max(self.num_pairs, 1))


def speed_up(tables: RunTables, config: Mapping[str, Any]) -> Speedup:
    """Return the speed-up of a config over the sweep's baseline.

    From the confirm stage: the paired ratio over its repeats, on the log scale, with an
    interval that holds although the stage went on until it decided, and although it was
    about several configs (see :func:`~orchestrator.analysis.recommendation.pairs.confirm_level`).
    Where that stage has no pair: the searching figure, without an interval. Where it has rounds
    without a ratio, as one of the two alone reached the target: it is not known.
    """
    if same_config(config, tables.sweep.baseline):
        return Speedup(ratio=1.0, basis=Basis.SAME)
    searching = _searching_ratio(tables, config)
    pairs = pair_up(tables, config, tables.sweep.baseline)
    if len(pairs):
        interval = pairs.interval
        return Speedup(
            ratio=interval.centre,
            low=interval.low if interval.is_known else None,
            high=interval.high if interval.is_known else None,
            basis=Basis.CONFIRM,
            num_pairs=len(pairs),
            pairs=pairs,
            searching_ratio=searching,
            tie_margin=tables.rule.tie_margin if interval.is_known else 0.0,
        )
    if pairs.num_rounds:
        return Speedup(ratio=None, basis=Basis.UNKNOWN, pairs=pairs, searching_ratio=searching)
    if searching is None:
        return Speedup(ratio=None, basis=Basis.UNKNOWN)
    return Speedup(ratio=searching, basis=Basis.SEARCHING, searching_ratio=searching)


def _searching_ratio(tables: RunTables, config: Mapping[str, Any]) -> float | None:
    ours, theirs = (_searching_speeds(tables, each) for each in (config, tables.sweep.baseline))
    if ours.empty or theirs.empty:
        return None
    ratio = float(tables.rule.ratios(ours, theirs.iloc[0]).iloc[0])
    return None if math.isnan(ratio) else ratio


def _searching_speeds(tables: RunTables, config: Mapping[str, Any]) -> pd.Series[float]:
    """Return a config's speed by the completed runs that selected, else by those stopped early."""
    for state in (TrialState.COMPLETED, TrialState.STOPPED):
        configs = tables.searched_configs(state)
        speeds = configs.loc[rows_of(configs, config), tables.rule.speed_column].dropna()
        if len(speeds):
            break
    return speeds
