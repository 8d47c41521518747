"""How much faster a config is than the baseline, and what that rests on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import pandas as pd

from analysis.columns import as_plain, params_of, rows_of, text_of
from analysis.comparable import GROUP, main_group, with_groups
from analysis.rule import Rule
from analysis.statistics.by_config import by_config
from analysis.statistics.intervals import log_interval
from analysis.statistics.pooling import contaminated, were_interleaved
from analysis.wording import counted
from orchestrator.search.stages.interim_analyses import InterimAnalyses
from orchestrator.trial import Stage, TrialState

MIN_CLEAN_PAIRS: Final = 2
"""With fewer clean pairs the contaminated ones count as well: one alone has no interval."""


class Basis(StrEnum):
    """What a speed-up rests on, the strongest first."""

    CONFIRM = "confirm"
    """Pairs of fresh runs, interleaved, that did not select."""
    SEARCHING = "searching"
    """The runs that selected: the fastest of many looks faster than it is."""
    SAME = "same"
    """The config is the baseline."""
    UNKNOWN = "unknown"
    """One of the two has no figure."""


@dataclass(frozen=True, kw_only=True)
class Pairs:
    """How two configs compare in the rounds of the confirm stage.

    Attributes:
        ratios: Speed of the one over the other, a value a round.
        num_left_out: Rounds that are left out since a run of the two was contaminated.
        num_elsewhere: Rounds that are left out since they ran on other hardware, or otherwise
            under other conditions, than most did.
        num_contaminated: Such rounds that are among ``ratios``, since too few are clean.
        interleaved: Whether the two took turns in each of these rounds.
    """

    ratios: pd.Series[Any]
    num_left_out: int = 0
    num_elsewhere: int = 0
    num_contaminated: int = 0
    interleaved: bool = False

    @property
    def words(self) -> str:
        """How many there are, and of what."""
        if self.interleaved:
            return f"{counted(len(self.ratios), 'pair')} of confirm runs that took turns"
        return f"{counted(len(self.ratios), 'interleaved pair')} of confirm runs"

    @property
    def remark(self) -> str:
        """What is to be known of contaminated rounds and of other conditions, or ""."""
        said = ""
        if self.num_left_out:
            said = f"; {counted(self.num_left_out, 'pair')} left out: a run of it was contaminated"
        elif self.num_contaminated:
            said = f", {self.num_contaminated} of them with a contaminated run"
        if self.num_elsewhere:
            said += f"; {counted(self.num_elsewhere, 'pair')} under other conditions left out"
        return said


@dataclass(frozen=True, kw_only=True)
class Speedup:
    """A config's speed over the baseline's.

    Attributes:
        ratio: How many times as fast, or None where it is not known.
        low: Lower end of the 95 % interval; None where the spread is not known.
        high: Upper end.
        basis: What ``ratio`` rests on.
        num_pairs: Pairs of confirm runs.
        searching_ratio: The same from the runs that selected, or None.
        tie_margin: Ratios within it are a tie.
        text: All of it in a sentence.
    """

    ratio: float | None
    low: float | None = None
    high: float | None = None
    basis: Basis
    num_pairs: int = 0
    searching_ratio: float | None = None
    tie_margin: float = 0.0
    text: str

    @property
    def is_slower(self) -> bool:
        """Whether the confirm runs show the config to be slower than the baseline."""
        return self.high is not None and self.high < 1

    @property
    def is_shown(self) -> bool:
        """Whether the confirm runs show the config to be faster than the baseline."""
        return self.low is not None and self.low > 1

    @property
    def is_tie(self) -> bool:
        """Whether the confirm runs show the two to be as fast within the margin."""
        if self.low is None or self.high is None:
            return False
        return self.low >= 1 - self.tie_margin and self.high <= 1 / (1 - self.tie_margin)

    @property
    def is_within_margin(self) -> bool:
        """Whether the ratio itself is no more than what makes a tie."""
        margin = self.tie_margin
        return self.ratio is not None and 1 - margin <= self.ratio <= 1 / (1 - margin)

    @property
    def is_decided(self) -> bool:
        """Whether more confirm runs would tell nothing that matters."""
        return self.is_slower or self.is_shown or self.is_tie

    def to_json(self) -> dict[str, Any]:
        """As ``recommended.json`` holds it."""
        return {
            "ratio": self.ratio,
            "low": self.low,
            "high": self.high,
            "basis": str(self.basis),
            "num_pairs": self.num_pairs,
            "searching_ratio": self.searching_ratio,
            "text": self.text,
        }


def speed_up(
    trials: pd.DataFrame, config: Mapping[str, Any], sweep: Mapping[str, Any], rule: Rule
) -> Speedup:
    """The speed-up of a config over the sweep's baseline.

    From the confirm stage: the paired ratio over its repeats, on the log scale, with an
    interval that holds although the stage went on until it decided, and although it was
    about several configs (see :func:`confirm_level`). Where that stage has no pair: the
    searching figure, without an interval.
    """
    baseline = sweep["baseline"]
    if all(as_plain(config.get(name)) == as_plain(value) for name, value in baseline.items()):
        return Speedup(ratio=1.0, basis=Basis.SAME, text="it is the baseline itself")
    trials = with_groups(trials, sweep)
    in_main = trials[trials[GROUP] == main_group(trials, sweep)]
    searching = _searching_ratio(in_main, config, baseline, rule)
    pairs = paired_ratios(trials, config, baseline, rule)
    if len(pairs.ratios):
        return _confirmed(pairs, searching, trials, sweep, rule)
    if searching is not None:
        return Speedup(
            ratio=searching,
            basis=Basis.SEARCHING,
            searching_ratio=searching,
            text=f"{searching:.2f}x the baseline's speed in the runs that selected it; "
            f"{_why_not_confirmed(trials, sweep)}, so there is no interval",
        )
    return Speedup(ratio=None, basis=Basis.UNKNOWN, text=_why_unknown(trials, baseline))


def paired_ratios(
    trials: pd.DataFrame, config: Mapping[str, Any], baseline: Mapping[str, Any], rule: Rule
) -> Pairs:
    """Speed of ``config`` over ``baseline`` by repeat of the confirm stage.

    All are of one group of comparable rows, the one with the most pairs. A pair with a
    contaminated run is left out where :data:`MIN_CLEAN_PAIRS` are clean.
    """
    confirm = trials[(trials["stage"] == Stage.CONFIRM) & (trials["state"] == TrialState.COMPLETED)]
    if rule.speed_column not in confirm.columns:
        return Pairs(ratios=pd.Series(dtype="float64"))
    pairs = ["repeat", *([GROUP] if GROUP in confirm.columns else [])]
    runs = confirm.assign(disturbed=contaminated(confirm), turns=were_interleaved(confirm))
    ours, theirs = (
        runs[rows_of(runs, which)]
        .groupby(pairs)
        .agg(
            speed=(rule.speed_column, "mean"),
            disturbed=("disturbed", "any"),
            turns=("turns", "all"),
        )
        for which in (config, baseline)
    )
    ratios = rule.ratios(ours["speed"], theirs["speed"]).dropna()
    num_all, num_elsewhere = len(ratios), 0
    if GROUP in pairs and num_all:
        groups = ratios.index.get_level_values(GROUP)
        ratios = ratios[groups == groups.value_counts(sort=False).idxmax()]
        num_elsewhere = num_all - len(ratios)
    clean = ratios[~(ours["disturbed"].loc[ratios.index] | theirs["disturbed"].loc[ratios.index])]
    num_others = len(ratios) - len(clean)
    is_clean = len(clean) >= MIN_CLEAN_PAIRS
    kept = clean if is_clean else ratios
    return Pairs(
        ratios=kept,
        num_left_out=num_others if is_clean else 0,
        num_elsewhere=num_elsewhere,
        num_contaminated=0 if is_clean else num_others,
        interleaved=bool((ours["turns"] & theirs["turns"]).loc[kept.index].all()),
    )


def confirm_level(trials: pd.DataFrame, sweep: Mapping[str, Any], num_pairs: int) -> float:
    """How often the interval of a paired ratio over so many pairs may be wrong.

    5 % is shared out over the looks at the stage
    (:mod:`orchestrator.search.stages.interim_analyses`) and over the configs that it is about, the
    baseline left out.
    """
    confirm = trials[trials["stage"] == Stage.CONFIRM]
    others = confirm[~rows_of(confirm, sweep["baseline"])]
    num_configs = len(others.drop_duplicates(params_of(others))) if len(others) else 1
    return looks_of(sweep).level(num_pairs) / num_configs


def looks_of(sweep: Mapping[str, Any]) -> InterimAnalyses:
    """The looks at a sweep's confirm stage."""
    first = max(int(sweep.get("confirm") or 0), 1)
    return InterimAnalyses(first=first, last=max(int(sweep.get("max_confirm") or 0), first))


def _searching_ratio(
    trials: pd.DataFrame, config: Mapping[str, Any], baseline: Mapping[str, Any], rule: Rule
) -> float | None:
    states = (TrialState.COMPLETED, TrialState.STOPPED)
    configs = by_config(trials, stage=Stage.TRAIN, states=states, speed=rule.speed.metric)
    if rule.speed_column not in configs.columns:
        return None
    ours, theirs = (
        configs.loc[rows_of(configs, which), rule.speed_column].dropna()
        for which in (config, baseline)
    )
    if ours.empty or theirs.empty:
        return None
    return float(rule.ratios(ours, theirs.iloc[0]).iloc[0])


def _confirmed(
    pairs: Pairs,
    searching: float | None,
    trials: pd.DataFrame,
    sweep: Mapping[str, Any],
    rule: Rule,
) -> Speedup:
    ratios = pairs.ratios
    level = confirm_level(trials, sweep, len(ratios))
    interval = log_interval(ratios.to_numpy(dtype="float64"), level=level)
    beside = "" if searching is None else f"; {searching:.2f}x in the runs that selected it"
    if not interval.is_known:
        return Speedup(
            ratio=interval.centre,
            basis=Basis.CONFIRM,
            num_pairs=1,
            searching_ratio=searching,
            text=f"{interval.centre:.2f}x the baseline's speed in one pair of confirm runs, too "
            f"few for an interval{' (contaminated)' * pairs.num_contaminated}{beside}",
        )
    planned = looks_of(sweep).first
    extended = f" (extended from {planned})" if len(ratios) > planned else ""
    text = (
        f"{interval.centre:.2f}x the baseline's speed, 95 % interval {interval.low:.2f}x to "
        f"{interval.high:.2f}x, over {pairs.words}{extended}{pairs.remark}"
    )
    return Speedup(
        ratio=interval.centre,
        low=interval.low,
        high=interval.high,
        basis=Basis.CONFIRM,
        num_pairs=len(ratios),
        searching_ratio=searching,
        tie_margin=rule.tie_margin,
        text=text + beside,
    )


def _why_not_confirmed(trials: pd.DataFrame, sweep: Mapping[str, Any]) -> str:
    confirm = trials[trials["stage"] == Stage.CONFIRM]
    if not sweep.get("confirm"):
        return "the sweep has no confirm stage"
    if confirm.empty:
        return "no confirm run was made"
    counts = ", ".join(f"{n} {state}" for state, n in confirm["state"].value_counts().items())
    return f"the confirm runs give no pair ({counts})"


def _why_unknown(trials: pd.DataFrame, baseline: Mapping[str, Any]) -> str:
    rows = trials[rows_of(trials, baseline)]
    if rows.empty:
        return "speed-up not known: the baseline was not run"
    ended = rows[rows["state"] != TrialState.COMPLETED]
    if ended.empty:
        return "speed-up not known: the baseline has no speed of its own"
    last = ended.iloc[-1]
    reason = text_of(last["reason"]).partition("\n")[0]
    because = f": {reason}" if reason else ""
    return f"speed-up not known: the baseline is {last['state']}{because}"
