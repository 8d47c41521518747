"""A config's speed over the baseline's, from paired confirm runs, or why it is not known."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from orchestrator.analysis.columns import rows_of, text_of, varying_params_of
from orchestrator.analysis.comparable import GROUP
from orchestrator.analysis.rule import Rule
from orchestrator.analysis.statistics.intervals import is_narrow
from orchestrator.analysis.statistics.pooling import disturbed
from orchestrator.analysis.statistics.rounds import EARLY, level_of_looks, ratio_in_rounds
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.analysis.wording import MOST_FACTOR, condition_text, states_text
from orchestrator.formats import counted
from orchestrator.metric_table import OF_THE_TARGET
from orchestrator.space.configs import same_config
from orchestrator.texts import first_line
from orchestrator.trial import TrialState

MIN_CLEAN_PAIRS: Final = 2
"""With fewer clean pairs the disturbed ones count as well: a single one has no interval."""


@dataclass(frozen=True, kw_only=True)
class Speedup:
    """A config's speed over the baseline's or another config's.

    Attributes:
        ratio: How many times as fast, or None where it is not known.
        low: Lower end of the 95 % interval; None where the spread is not known.
        high: Upper end.
        is_same: True for the baseline itself.
        num_pairs: Pairs of confirm runs that count, one a round.
        num_left_out: Rounds that are left out: a run of the two was disturbed, or they ran under
            other conditions than most did.
        num_disturbed: Disturbed rounds that count, since too few are clean.
        num_open: Rounds in which only one of the two has a figure, or one is not above 0: with any,
            no ratio is known.
        tie_margin: Ratios within it are a tie.
    """

    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    is_same: bool = False
    num_pairs: int = 0
    num_left_out: int = 0
    num_disturbed: int = 0
    num_open: int = 0
    tie_margin: float = 0.0

    @property
    def basis(self) -> str:
        """``same`` for the baseline itself, ``confirm`` with confirm runs, or ``unknown``."""
        return "same" if self.is_same else "confirm" if self.num_pairs else "unknown"

    @property
    def is_known(self) -> bool:
        """True if undisturbed confirm runs give the ratio, to less than a factor of 1.5."""
        return self.is_clean and is_narrow(self.low, self.high)

    @property
    def is_clean(self) -> bool:
        """True if the ratio rests on confirm runs that no other load disturbed."""
        return self.num_pairs > 0 and not self.num_disturbed

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
        """True if more confirm runs are of no use.

        They show a tie, or which of the two is faster and by what factor, to less than one of 1.5.
        Or a round has no ratio.
        """
        return self.num_open > 0 or self.is_tie or self.leads

    @property
    def pairs_text(self) -> str:
        """``3 pairs of confirm runs``."""
        return f"{counted(self.num_pairs, 'pair')} of confirm runs"


def pair_up(tables: RunTables, config: Mapping[str, Any], reference: Mapping[str, Any]) -> Speedup:
    """Compare the speeds of ``config`` and ``reference``, round by round of the confirm stage.

    All rounds are of one group of comparable rows, the one with the most pairs. A pair with a
    disturbed run is left out where :data:`MIN_CLEAN_PAIRS` are clean. The interval rests on the
    runs of all configs of the rounds (:mod:`orchestrator.analysis.statistics.rounds`).
    """
    rows, rule = tables.final_rows, tables.rule
    done = rows[rows["state"] == TrialState.COMPLETED]
    if done.empty:  # spares the driver a tenth of a second while it searches
        return Speedup()
    numbers = done.groupby(varying_params_of(done), dropna=False, sort=False).ngroup()
    ours, theirs = (numbers[rows_of(done, one)].head(1).tolist() for one in (config, reference))
    if not (ours and theirs):
        return Speedup()
    pair, keys = [*ours, *theirs], [done[GROUP], done["repeat"], numbers]
    speeds = done[rule.speed_column].groupby(keys).mean().unstack()
    dirty = disturbed(done).groupby(keys).any().astype("float64").unstack()  # NaN: no run
    is_round = dirty[pair].notna().all(axis=1) & speeds[pair].notna().any(axis=1)
    num_all = int(is_round.sum())
    if not num_all:
        return Speedup()
    most = is_round.groupby(level=GROUP, sort=False).sum().idxmax()
    own = is_round.index.get_level_values(GROUP) == most
    speeds, dirty, is_round = speeds[own], dirty[own] > 0, is_round[own]
    if num_open := int((~(speeds[pair] > 0)).any(axis=1)[is_round].sum()):
        return Speedup(num_open=num_open)
    num_dirty = int(dirty[pair].any(axis=1)[is_round].sum())
    num_clean = int(is_round.sum()) - num_dirty
    is_clean = num_clean >= MIN_CLEAN_PAIRS
    num_used = num_clean if is_clean else num_clean + num_dirty
    figures = speeds.mask(dirty) if is_clean else speeds
    logs = rule.speed.sign * np.log(figures.where(figures > 0).to_numpy(dtype=np.float64))
    columns: list[Any] = figures.columns.tolist()
    first, second = (columns.index(number) for number in pair)
    interval = ratio_in_rounds(logs, first, second, level_of_pairs(tables, num_used))
    return Speedup(
        ratio=interval.centre,
        low=interval.low if num_used > 1 else None,
        high=interval.high if num_used > 1 else None,
        num_pairs=num_used,
        num_left_out=num_all - num_used,
        num_disturbed=0 if is_clean else num_dirty,
        tie_margin=rule.tie_margin,
    )


def level_of_pairs(tables: RunTables, num_pairs: int) -> float:
    """Return how often the interval of a paired ratio over so many pairs may be wrong.

    It is the level of the next interim analysis: a stage that was broken off has its analysis there
    instead of later.
    """
    looks, num_configs = tables.sweep.rigor.analyses, len(tables.compared) or 1
    is_last = len(looks) == 1 or num_pairs > looks[-2]
    return level_of_looks(looks, num_configs) * (1 if is_last else EARLY)


def speed_up(tables: RunTables, config: Mapping[str, Any]) -> Speedup:
    """Return the speed-up of a config over the sweep's baseline, from the confirm stage."""
    if same_config(config, tables.sweep.baseline):
        return Speedup(ratio=1.0, is_same=True)
    return pair_up(tables, config, tables.sweep.baseline)


def why_not_known(speedup: Speedup, tables: RunTables) -> tuple[str, ...]:
    """Return the reasons why a speed-up does not lead, the gravest first; none where it does."""
    if speedup.leads or speedup.is_same:
        return ()
    if speedup.num_pairs:
        return tuple(_why_open(speedup, tables.rule))
    return (_why_no_ratio(speedup, tables),)


def _why_open(speedup: Speedup, rule: Rule) -> Iterator[str]:
    """Yield what keeps a ratio over confirm runs from leading."""
    pairs, low, high = speedup.pairs_text, speedup.low, speedup.high
    if speedup.num_disturbed:
        yield f"other load disturbed {speedup.num_disturbed} of {pairs}"
    if low is None or high is None:
        yield "one pair of confirm runs is too few for an interval"
    elif not is_narrow(low, high):
        yield f"its {pairs} allow for ratios that differ by more than a factor of {MOST_FACTOR:g}"
    elif low <= 1 <= high:
        times = f"{low:.2f} to {high:.2f} times as {rule.fast[0]}"
        yield f"{pairs} do not tell it from the baseline ({times})"


def _why_no_ratio(speedup: Speedup, tables: RunTables) -> str:
    rule, metric = tables.rule, tables.rule.speed.metric
    is_of_target = metric in OF_THE_TARGET
    if speedup.num_open:
        lacks = "did not reach the target" if is_of_target else f"has no {metric} above 0"
        return f"in {counted(speedup.num_open, 'round')} of confirm runs it or the baseline {lacks}"
    rows = tables.grouped[rows_of(tables.grouped, tables.sweep.baseline)]
    if rows.empty:
        return "the baseline was not run"
    if rows[rule.speed_column].isna().all():
        state, reason = rows.iloc[-1][["state", "reason"]].map(text_of)
        if state != TrialState.COMPLETED:
            return f"the baseline is {state}{f': {first_line(reason)}' if reason else ''}"
        if rule.target is not None and is_of_target:
            return f"the baseline did not reach the target: {condition_text(rule.target)}"
        return f"the baseline has no {metric}"
    if len(rows := tables.final_rows):
        return f"no two confirm runs of a round are of it and the baseline ({states_text(rows)})"
    has_stage = tables.sweep.rigor.confirm > 0
    return "no confirm run was made" if has_stage else "the sweep has no confirm stage"
