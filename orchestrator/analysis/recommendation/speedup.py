"""A config's speed over the baseline's, from paired confirm runs or else the searching runs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

import pandas as pd

from orchestrator.analysis.columns import Config, configs_of, params_of, rows_of, same_config
from orchestrator.analysis.comparable import GROUP
from orchestrator.analysis.statistics.intervals import is_narrow, ratio_interval
from orchestrator.analysis.statistics.noise_floor import NoiseFloor
from orchestrator.analysis.statistics.pooling import (
    contaminated,
    shared_a_round,
    were_interleaved,
)
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.formats import counted
from orchestrator.search.stages.judge import InterimAnalyses
from orchestrator.storage.sweep_record import SweepRecord
from orchestrator.trial import TrialState

MIN_CLEAN_PAIRS: Final = 2
"""With fewer clean pairs the contaminated ones count as well: a single one has no interval."""


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
    """A config's speed over the baseline's, or over that of another config.

    Attributes:
        ratio: How many times as fast, or None where it is not known.
        low: Lower end of the 95 % interval; None where the spread is not known.
        high: Upper end.
        basis: What ``ratio`` rests on.
        num_pairs: Pairs of confirm runs that count, one a round.
        num_left_out: Rounds that are left out: a run of the two was contaminated, or they ran under
            other conditions than most did.
        num_contaminated: Contaminated rounds that count, since too few are clean.
        interleaved: True if the runs of the two were interleaved in each of these rounds.
        num_rounds: Where a round has no ratio, so that none is known: all in which both runs
            completed.
        num_ours: Rounds among these in which the config has a figure.
        num_theirs: Rounds in which the other one has.
        searching_ratio: The ratio from the runs that selected, or None.
        tie_margin: Ratios within it are a tie.
    """

    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    basis: Basis
    num_pairs: int = 0
    num_left_out: int = 0
    num_contaminated: int = 0
    interleaved: bool = False
    num_rounds: int = 0
    num_ours: int = 0
    num_theirs: int = 0
    searching_ratio: float | None = None
    tie_margin: float = 0.0

    @property
    def is_known(self) -> bool:
        """True if undisturbed confirm runs tell the ratio, to less than a factor of 1.5."""
        return self.is_clean and is_narrow(self.low, self.high)

    @property
    def is_clean(self) -> bool:
        """True if the ratio rests on confirm runs that no other load disturbed."""
        return self.basis is Basis.CONFIRM and not self.num_contaminated

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
    def is_decided(self) -> bool:
        """True if more confirm runs would tell nothing that matters.

        They show a tie, or which of the two is faster and by what factor, to less than one of 1.5.
        Or they have a round without a ratio, which no further one makes good.
        """
        return self.num_rounds > 0 or self.is_tie or self.leads

    @property
    def pairs_text(self) -> str:
        """``3 pairs of interleaved confirm runs``."""
        kind = "interleaved " if self.interleaved else ""
        return f"{counted(self.num_pairs, 'pair')} of {kind}confirm runs"

    def is_within(self, noise: NoiseFloor) -> bool:
        """Return True if a claimed speed-up is no larger than the noise floor."""
        is_claim = self.basis in (Basis.CONFIRM, Basis.SEARCHING)
        return is_claim and noise.covers(self.ratio, num_runs=max(self.num_pairs, 1))


def pair_up(tables: RunTables, config: Mapping[str, Any], reference: Mapping[str, Any]) -> Speedup:
    """Compare the speeds of ``config`` and ``reference``, round by round of the confirm stage.

    All rounds are of one group of comparable rows, the one with the most pairs. A pair with a
    contaminated run is left out where :data:`MIN_CLEAN_PAIRS` are clean. The interval is wrong in
    as many cases as the interim analyses and the other configs of the stage leave it.
    """
    unknown = Speedup(basis=Basis.UNKNOWN)
    if tables.confirm_rows.empty:  # spares the driver a tenth of a second while it searches
        return unknown
    both = _rounds(tables, config, reference)
    rounds = both[both["ours"] | both["theirs"]]
    num_all = len(rounds)
    if not num_all:
        return unknown
    groups = _groups(rounds)
    rounds = rounds[groups == groups.value_counts(sort=False).idxmax()]
    if rounds["ratio"].isna().any():
        both = both[_groups(both).isin(_groups(rounds))]
        num_ours, num_theirs = (int(both[side].sum()) for side in ("ours", "theirs"))
        return replace(unknown, num_rounds=len(both), num_ours=num_ours, num_theirs=num_theirs)
    clean = rounds[~rounds["contaminated"]]
    is_clean = len(clean) >= MIN_CLEAN_PAIRS
    used = clean if is_clean else rounds
    level = confirm_level(tables, len(used))
    interval = ratio_interval(used["ratio"].to_numpy(dtype="float64"), level=level)
    is_known = len(used) > 1
    return Speedup(
        ratio=interval.centre,
        low=interval.low if is_known else None,
        high=interval.high if is_known else None,
        basis=Basis.CONFIRM,
        num_pairs=len(used),
        num_left_out=num_all - len(used),
        num_contaminated=len(used) - len(clean) if not is_clean else 0,
        interleaved=bool(used["interleaved"].all()),
        tie_margin=tables.rule.tie_margin if is_known else 0.0,
    )


def _groups(rounds: pd.DataFrame) -> pd.Index:
    return rounds.index.get_level_values(GROUP)


def _rounds(
    tables: RunTables, config: Mapping[str, Any], reference: Mapping[str, Any]
) -> pd.DataFrame:
    """Return one row a repeat and group in which both completed, and which of them has a speed."""
    rows, rule = tables.confirm_rows, tables.rule
    done = rows[rows["state"] == TrialState.COMPLETED]
    done = done.assign(contaminated=contaminated(done), interleaved=were_interleaved(done))
    ours, theirs = (
        done[rows_of(done, which)]
        .groupby(["repeat", GROUP])
        .agg(
            speed=(rule.speed_column, "mean"),
            contaminated=("contaminated", "any"),
            interleaved=("interleaved", "all"),
        )
        for which in (config, reference)
    )
    both = ours.merge(theirs, left_index=True, right_index=True, suffixes=("", "_reference"))
    return pd.DataFrame(
        {
            "ratio": rule.ratios(both["speed"], both["speed_reference"]),
            "ours": both["speed"].notna(),
            "theirs": both["speed_reference"].notna(),
            "contaminated": (both["contaminated"] | both["contaminated_reference"]).astype("bool"),
            "interleaved": both["interleaved"] & both["interleaved_reference"],
        }
    )


def confirm_level(tables: RunTables, num_pairs: int) -> float:
    """Return how often the interval of a paired ratio over so many pairs may be wrong.

    5 % is shared out over the interim analyses of the stage
    (:mod:`orchestrator.search.stages.judge`) and over its configs beside the baseline.
    """
    num_configs = len(confirmed_configs(tables)) or 1
    return interim_analyses(tables.sweep).level(num_pairs) / num_configs


def confirmed_configs(tables: RunTables) -> list[Config]:
    """Return the configs that the rounds of the confirm stage compare, the baseline left out."""
    rows = tables.confirm_rows
    numbers = rows.groupby(params_of(rows), dropna=False, sort=False).ngroup()
    rows = rows[numbers.isin(numbers[shared_a_round(rows)])].drop_duplicates(params_of(rows))
    configs = configs_of(rows, tables.sweep)
    return [config for config in configs if not same_config(config, tables.sweep.baseline)]


def interim_analyses(sweep: SweepRecord) -> InterimAnalyses:
    """Return the interim analyses of a sweep's confirm stage."""
    first = max(sweep.rigor.confirm, 1)
    return InterimAnalyses(first=first, last=max(sweep.rigor.max_confirm, first))


def speed_up(tables: RunTables, config: Mapping[str, Any]) -> Speedup:
    """Return the speed-up of a config over the sweep's baseline.

    From the confirm stage: the paired ratio over its rounds, with an interval that holds although
    the stage continued until it decided, and was about several configs
    (:func:`~orchestrator.analysis.recommendation.speedup.confirm_level`). Without a pair: the
    searching figure, without an interval. Where rounds have no ratio, as one of the two alone
    reached the target, it is not known.
    """
    if same_config(config, tables.sweep.baseline):
        return Speedup(ratio=1.0, basis=Basis.SAME)
    searching = _searching_ratio(tables, config)
    paired = pair_up(tables, config, tables.sweep.baseline)
    if paired.num_pairs or paired.num_rounds or searching is None:
        return replace(paired, searching_ratio=searching)
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
