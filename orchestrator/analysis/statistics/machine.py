"""Effects of the machine on all speeds of a run: drift, and interference of co-located trials."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np
import pandas as pd

from orchestrator.analysis.columns import numbers_of, rows_of, tagged, texts_of
from orchestrator.analysis.comparable import (
    CO_LOCATED,
    CO_LOCATION,
    GROUP,
    ISOLATED,
    co_location_of,
    probed_co_located,
)
from orchestrator.analysis.rule import Rule, rule_of
from orchestrator.analysis.statistics import intervals, pooling
from orchestrator.analysis.wording import MOST_FACTOR
from orchestrator.formats import counted, duration, percent
from orchestrator.storage.sweep_record import SweepRecord
from orchestrator.trial import SEARCHING, Isolation, Stage, TrialState

MIN_RUNS: Final = 4
"""A line through fewer runs shows no drift."""
MIN_OTHERS: Final = 0.5
"""Least mean number of cores of other trials over a run for it to count as co-located."""
MIN_CLEAN: Final = 3
"""With this many clean differences, those with a disturbed run are left out."""


@dataclass(frozen=True, kw_only=True)
class Effect:
    """An effect on the speed of all configs.

    Attributes:
        ratio: Speed with the effect over speed without it; less than 1 if it slows trials down.
        low: Lower end of its 95 % interval.
        high: Upper end.
        num_configs: Number of configs it was estimated from.
        num_runs: Number of their runs.
    """

    ratio: float
    low: float
    high: float
    num_configs: int
    num_runs: int
    _what: ClassVar[str]

    @property
    def is_known(self) -> bool:
        """True if the interval shows how large the effect is."""
        return intervals.is_narrow(self.low, self.high)

    @property
    def text(self) -> str:
        """The effect in a sentence."""
        if self.is_known:
            runs, configs = counted(self.num_runs, "run"), counted(self.num_configs, "config")
            return self._text(f"{runs} of {configs}")
        return (
            f"how much {self._what} is not known: the interval spans more than a factor of "
            f"{MOST_FACTOR:g}"
        )

    @property
    def _change(self) -> tuple[str, str]:
        return "slower" if self.ratio < 1 else "faster", percent(abs(self.ratio - 1), digits=1)

    def _text(self, runs: str) -> str:
        raise NotImplementedError

    def _json(self, figures: Mapping[str, float], *names: str) -> dict[str, Any]:
        known = figures if self.is_known else dict.fromkeys(figures)
        names = (*names, "num_configs", "num_runs", "text")
        return {**known, **{name: getattr(self, name) for name in names}}


@dataclass(frozen=True, kw_only=True)
class Drift(Effect):
    """Change of speeds in the course of a run, from the first of the runs to the last.

    Attributes:
        p_value: Probability of a slope as steep without any drift.
        span_s: Time between the first of these runs and the last.
    """

    p_value: float
    span_s: float
    _what = "the machine's speed changed while the sweep ran"

    @property
    def per_hour(self) -> float:
        """Relative change of speed an hour, at the same pace."""
        return math.expm1(math.log(self.ratio) * 3600 / self.span_s)

    @property
    def is_significant(self) -> bool:
        """True if chance rarely produces such a slope (5 %)."""
        return self.p_value < 1 - intervals.CONFIDENCE

    def _text(self, runs: str) -> str:
        low, high = 100 * (self.low - 1), 100 * (self.high - 1)
        over = f"95 % interval {low:+.1f} to {high:+.1f} % over {duration(self.span_s)}, {runs}"
        if not self.is_significant:
            return f"no drift is shown: speeds changed by {100 * (self.ratio - 1):+.1f} % ({over})"
        way, size = self._change
        return (
            f"the machine became {way} by {size} while the sweep ran ({over}): configs that ran at "
            "other times are not alike"
        )

    def to_json(self) -> dict[str, Any]:
        """Return the content for ``recommended.json``."""
        ends = {"change": self.ratio - 1, "low": self.low - 1, "high": self.high - 1}
        ends["per_hour"] = self.per_hour
        return self._json(ends, "p_value", "is_significant", "span_s")


@dataclass(frozen=True, kw_only=True)
class Interference(Effect):
    """Speed of trials co-located with background trials over the speed of isolated ones.

    Attributes:
        tie_margin: Smallest difference of practical importance, as a share of the speed.
        acted_on: True if the sweep ran its trials isolated from then on.
    """

    tie_margin: float
    acted_on: bool = False
    _what = "slower co-located trials are than isolated ones"

    @property
    def is_shown(self) -> bool:
        """True if the difference exceeds the noise and the margin of a tie."""
        is_large = abs(math.log(self.ratio)) > -math.log(1 - self.tie_margin)
        return is_large and (self.high < 1 or self.low > 1)

    def _text(self, runs: str) -> str:
        share, low, high = (percent(e, digits=1) for e in (self.ratio, self.low, self.high))
        basis = f"{share} of the speed isolated, 95 % interval {low} to {high}; {runs}"
        if not self.is_shown:
            half = math.log(self.high / self.low) / 2
            smallest = percent(max(-math.expm1(-half), self.tie_margin), digits=1)
            return (
                "interference is not shown; an effect under "
                f"{smallest} would not have been seen ({basis})"
            )
        way, size = self._change
        effect = f"co-located trials are {size} {way} than isolated ones ({basis})"
        return f"{effect}; the sweep ran isolated from then on" if self.acted_on else effect

    def to_json(self) -> dict[str, Any]:
        """Return the content for ``recommended.json``."""
        ends = {"ratio_to_isolated": self.ratio, "low": self.low, "high": self.high}
        return self._json(ends, "is_shown", "acted_on")


def drift_of(
    grouped: pd.DataFrame, main: str, baseline: Mapping[str, Any], rule: Rule
) -> Drift | None:
    """Return the drift of a run; None if too few configs were repeated.

    Each config has its own level in each stage, interleaved runs have another level, and all share
    one slope of the logarithm of speed over time. The runs of an interleaved round share the
    machine's state at that time, and count as one. The baseline is followed through all stages;
    other configs only through the confirm stage and the isolated probes of the interference check.
    Repeats of a config that looked fastest would show a false decline: its first run was selected
    for being fast. Disturbed runs are left out if the config has clean ones in the stage.
    """
    if "started_at" not in grouped.columns:
        return None
    co_located = probed_co_located(grouped)
    chosen = [Stage.TRAIN] if co_located.any() else SEARCHING
    followed = rows_of(grouped, baseline) | ~grouped["stage"].isin(chosen)
    is_known = (grouped["state"] == TrialState.COMPLETED) & (grouped[rule.speed_column] > 0)
    is_known &= ~co_located & grouped["started_at"].notna() & (grouped[GROUP] == main)
    runs = grouped[followed & is_known]
    if runs.empty:
        return None
    cells = pd.DataFrame({"config": pooling.config_ids(runs), "stage": runs["stage"]})
    cells["interleaved"] = tagged(runs, "interleaved")
    runs = runs[pooling.counting(runs, [cells["config"], cells["stage"]])]
    cells = cells.loc[runs.index]
    cells = cells[cells.groupby([*cells], sort=False)["stage"].transform("size") > 1]
    return _line(runs.loc[cells.index], cells, rule) if len(cells) >= MIN_RUNS else None


def _line(runs: pd.DataFrame, cells: pd.DataFrame, rule: Rule) -> Drift | None:
    """Fit least squares with a level for each cell; an interleaved round is one point."""
    began_s = (runs["started_at"] - runs["started_at"].min()).dt.total_seconds()
    logs = rule.speed.sign * np.log(runs[rule.speed_column])
    places = pd.DataFrame({"x": began_s, "y": logs})
    places -= places.groupby([cells[name] for name in cells]).transform("mean")
    together = cells["interleaved"]
    rounds = runs.loc[together, ["stage", "repeat"]]
    means = places[together].groupby([rounds["stage"], rounds["repeat"]]).mean()
    points = pd.concat([places[~together], means])
    num_levels = len(cells[~together].drop_duplicates()) + rounds["stage"].nunique()
    df, x, y = len(points) - num_levels - 1, points["x"], points["y"]
    squares, span_s = float((x**2).sum()), float(began_s.max())
    if df < 1 or not squares or not span_s:
        return None
    slope = float((x * y).sum()) / squares
    error = math.sqrt(float(((y - slope * x) ** 2).sum()) / df / squares)
    half = float(intervals.t_quantile(df)) * error
    ratio, low, high = (math.exp(end * span_s) for end in (slope, slope - half, slope + half))
    return Drift(
        ratio=ratio,
        low=low,
        high=high,
        p_value=float(intervals.two_sided_p(slope / error, df)) if error else float(slope == 0),
        num_configs=cells["config"].nunique(),
        num_runs=len(runs),
        span_s=span_s,
    )


def interference_effect(trials: pd.DataFrame, sweep: SweepRecord) -> Interference | None:
    """Return the effect of co-location on the speed of this sweep's trials.

    Caches and the memory's bandwidth are shared by all cores. The model: the logarithm of a run's
    speed is its config's in that round, plus an effect of co-location that is the same for all
    configs, plus an error. So the effect is the mean difference between a config's co-located and
    isolated run of one round, which follow each other. Only the rounds of the interference check
    count (:mod:`orchestrator.search.stages.interference`): its configs were not chosen for speed,
    and the fastest of many looks slower when it is run again.

    None if fewer than two rounds have a config both ways. A round with a disturbed run
    is left out if :data:`MIN_CLEAN` are clean.
    """
    rule = rule_of(sweep)
    if rule.speed_column not in trials.columns or "isolation" not in trials.columns:
        return None
    done = trials[trials["state"] == TrialState.COMPLETED]
    done = done.assign(**{CO_LOCATION: co_location_of(done)})
    runs = done[(done["stage"] == Stage.PROBE) & (done[rule.speed_column] > 0)]
    # Without other trials on the node (they failed or started too late) a run was isolated.
    is_alone = numbers_of(runs, "metrics.others_cores") < MIN_OTHERS
    is_co_located = (runs[CO_LOCATION] == CO_LOCATED) & ~is_alone
    runs = runs[(runs[CO_LOCATION] == ISOLATED) | is_co_located]
    if runs.empty:
        return None
    effects, are_clean = _differences(runs, rule)
    used = effects[are_clean] if are_clean.sum() >= MIN_CLEAN else effects
    if len(used) < 2:
        return None
    ratio, low, high = map(math.exp, intervals.mean_interval(np.asarray(used, dtype=np.float64)))
    trained = done[done["stage"] == Stage.TRAIN]
    is_isolated = bool((trained[CO_LOCATION] == ISOLATED).any())
    return Interference(
        ratio=ratio,
        low=low,
        high=high,
        num_configs=used.index.get_level_values("config").nunique(),
        num_runs=2 * len(used),
        tie_margin=rule.tie_margin,
        acted_on=is_isolated and sweep.isolation != Isolation.EXCLUSIVE,
    )


def _differences(runs: pd.DataFrame, rule: Rule) -> "tuple[pd.Series[float], pd.Series[bool]]":
    """Return each config's log speed co-located less isolated, and if both runs were clean.

    A row for each round and kind of processor that has both, indexed by ``config`` and more.
    """
    # If interference was found, the two ways are separate groups; here they are compared.
    ids = pooling.config_ids(runs.drop(columns=GROUP, errors="ignore"))
    logs = rule.speed.sign * np.log(runs[rule.speed_column])
    keys = [ids, runs["repeat"], texts_of(runs, "tags.cpu_model")]
    speeds = pd.DataFrame({"log": logs, "load": pooling.disturbed(runs).astype("float64")})
    # Background trials have their own numbers, so that no isolated run matches theirs.
    means = speeds.groupby([*keys, runs[CO_LOCATION]]).mean()
    both = means["log"].unstack().reindex(columns=[ISOLATED, CO_LOCATED]).dropna()
    load = means["load"].unstack().reindex(both.index).max(axis="columns")
    return both[CO_LOCATED] - both[ISOLATED], load == 0
