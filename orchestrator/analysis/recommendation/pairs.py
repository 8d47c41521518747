"""Two configs in the rounds of the confirm stage, paired."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import pandas as pd

from orchestrator.analysis.columns import params_of, rows_of
from orchestrator.analysis.comparable import GROUP
from orchestrator.analysis.statistics.intervals import Interval, log_interval
from orchestrator.analysis.statistics.pooling import (
    contaminated,
    shared_a_round,
    were_interleaved,
)
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.search.stages.interim_analyses import InterimAnalyses
from orchestrator.storage.sweep_record import SweepRecord
from orchestrator.trial import TrialState

MIN_CLEAN_PAIRS: Final = 2
"""With fewer clean pairs the contaminated ones count as well: a single one has no interval."""


@dataclass(frozen=True, kw_only=True)
class Pairs:
    """Comparison of two configs in the rounds of the confirm stage.

    Attributes:
        interval: The ratio of their speeds over the rounds, wrong in as many cases as the
            interim analyses and the other configs of the stage leave it.
        num_left_out: Rounds that are left out since a run of the two was contaminated.
        num_elsewhere: Rounds that are left out since they ran on other hardware, or otherwise
            under other conditions, than most did.
        num_contaminated: Contaminated rounds that count, since too few are clean.
        interleaved: True if the runs of the two were interleaved in each of these rounds.
        num_one_sided: Rounds in which both runs completed, and one alone has a figure. With any of
            these or of the next there is no interval: the rounds that are left are a choice.
        num_not_positive: Rounds in which a figure is not above 0, so that there is no ratio.
        num_rounds: Where there are any such rounds: all in which both runs completed.
        num_ours: Rounds among these in which the config has a figure.
        num_theirs: Rounds in which the other one has.
    """

    interval: Interval
    num_left_out: int = 0
    num_elsewhere: int = 0
    num_contaminated: int = 0
    interleaved: bool = False
    num_one_sided: int = 0
    num_not_positive: int = 0
    num_rounds: int = 0
    num_ours: int = 0
    num_theirs: int = 0

    def __len__(self) -> int:
        return self.interval.num_values


def pair_up(tables: RunTables, config: Mapping[str, Any], reference: Mapping[str, Any]) -> Pairs:
    """Compare the speeds of ``config`` and ``reference``, round by round.

    All rounds are of one group of comparable rows, the one with the most pairs. A pair with a
    contaminated run is left out where :data:`MIN_CLEAN_PAIRS` are clean.
    """
    if tables.confirm_rows.empty:  # spares the driver a tenth of a second while it searches
        return Pairs(interval=log_interval([]))
    both = _rounds(tables, config, reference)
    rounds = both[both["ours"] | both["theirs"]]
    num_all = len(rounds)
    if num_all:
        groups = _groups(rounds)
        rounds = rounds[groups == groups.value_counts(sort=False).idxmax()]
    if rounds["ratio"].isna().any():
        return _without_ratio(rounds, both[_groups(both).isin(_groups(rounds))])
    clean = rounds[~rounds["contaminated"]]
    num_others, is_clean = len(rounds) - len(clean), len(clean) >= MIN_CLEAN_PAIRS
    counted = clean if is_clean else rounds
    level = confirm_level(tables, len(counted))
    return Pairs(
        interval=log_interval(counted["ratio"].to_numpy(dtype="float64"), level=level),
        num_left_out=num_others if is_clean else 0,
        num_elsewhere=num_all - len(rounds),
        num_contaminated=0 if is_clean else num_others,
        interleaved=bool(counted["interleaved"].all()),
    )


def _without_ratio(rounds: pd.DataFrame, both: pd.DataFrame) -> Pairs:
    """Return the pairs of rounds of which some have no ratio.

    Args:
        rounds: Those in which one of the two has a figure.
        both: All in which both completed.
    """
    is_one_sided = rounds["ours"] != rounds["theirs"]
    return Pairs(
        interval=log_interval([]),
        num_one_sided=int(is_one_sided.sum()),
        num_not_positive=int(rounds.loc[~is_one_sided, "ratio"].isna().sum()),
        num_rounds=len(both),
        num_ours=int(both["ours"].sum()),
        num_theirs=int(both["theirs"].sum()),
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
    (:mod:`orchestrator.search.stages.interim_analyses`) and over the configs that it is about, the
    baseline left out.
    """
    confirm = in_rounds(tables.confirm_rows)
    others = confirm[~rows_of(confirm, tables.sweep.baseline)]
    num_configs = len(others.drop_duplicates(params_of(others))) if len(others) else 1
    return interim_analyses(tables.sweep).level(num_pairs) / num_configs


def in_rounds(confirm: pd.DataFrame) -> pd.DataFrame:
    """Return the confirm stage's rows of configs that shared a round with another one."""
    configs = confirm.groupby(params_of(confirm), dropna=False, sort=False).ngroup()
    return confirm[configs.isin(configs[shared_a_round(confirm)])]


def interim_analyses(sweep: SweepRecord) -> InterimAnalyses:
    """Return the interim analyses of a sweep's confirm stage."""
    first = max(sweep.rigor.confirm, 1)
    return InterimAnalyses(first=first, last=max(sweep.rigor.max_confirm, first))
