"""Interference: the speed of co-located trials over that of isolated ones.

Caches and the memory's bandwidth are shared by all cores. The model: the logarithm of a run's
speed is its config's own in that round, plus an effect of co-location that is the same for all
configs, plus an error. So the effect is the mean of the differences between a config's co-located
and isolated run of one round, which follow each other. Only the rounds of the interference check
count (:mod:`orchestrator.search.stages.interference`). Its configs are not chosen for their
speed: the fastest of many looks slower when it is run again, co-located or not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd

from orchestrator.analysis.comparable import (
    CO_LOCATED,
    CO_LOCATION,
    GROUP,
    ISOLATED,
    co_location_of,
    hardware_of,
)
from orchestrator.analysis.rule import Rule, rule_of
from orchestrator.analysis.statistics.intervals import is_narrow, mean_interval
from orchestrator.analysis.statistics.pooling import config_ids, contaminated
from orchestrator.analysis.wording import MOST_FACTOR
from orchestrator.formats import counted, percent
from orchestrator.storage.sweep_record import SweepRecord
from orchestrator.trial import Isolation, Stage, TrialState

_OTHERS: Final = "metrics.others_cores"
MIN_OTHERS: Final = 0.5
"""Least mean number of cores of other trials over a run for it to count as co-located."""
MIN_CLEAN: Final = 3
"""With this many clean differences, those with a contaminated run are left out."""


@dataclass(frozen=True, kw_only=True)
class Interference:
    """Effect of background trials on the speed of co-located ones.

    Attributes:
        ratio: Speed co-located over speed isolated; less than 1 if co-located is slower.
        low: Lower end of its 95 % interval.
        high: Upper end.
        num_configs: Configs that were run both isolated and co-located.
        num_runs: Number of their runs, half of them isolated.
        tie_margin: Smallest difference of practical importance, as a share of the speed.
        acted_on: True if the sweep ran its trials isolated from then on.
    """

    ratio: float
    low: float
    high: float
    num_configs: int
    num_runs: int
    tie_margin: float
    acted_on: bool = False

    @property
    def is_known(self) -> bool:
        """Return True if the interval shows how much co-located trials lose."""
        return is_narrow(self.low, self.high)

    @property
    def is_shown(self) -> bool:
        """Return True if the difference exceeds the noise and the margin of a tie."""
        is_large = abs(math.log(self.ratio)) > -math.log(1 - self.tie_margin)
        return is_large and (self.high < 1 or self.low > 1)

    @property
    def text(self) -> str:
        """The effect in a sentence."""
        runs = counted(self.num_runs, "run")
        way = "slower" if self.ratio < 1 else "faster"
        if not self.is_known:
            return (
                "how much slower co-located trials are than isolated ones is not known: the "
                f"interval over {runs} spans more than a factor of {MOST_FACTOR:g}"
            )
        basis = (
            f"{percent(self.ratio, digits=1)} of the speed isolated, 95 % interval "
            f"{percent(self.low, digits=1)} to {percent(self.high, digits=1)}; "
            f"{counted(self.num_configs, 'config')} both ways, {runs}"
        )
        if not self.is_shown:
            half = math.log(self.high / self.low) / 2
            smallest = percent(max(-math.expm1(-half), self.tie_margin), digits=1)
            return (
                "interference is not shown; an effect under "
                f"{smallest} would not have been seen ({basis})"
            )
        size = percent(abs(self.ratio - 1), digits=1)
        effect = f"co-located trials are {size} {way} than isolated ones ({basis})"
        return f"{effect}; the sweep ran isolated from then on" if self.acted_on else effect

    def to_json(self) -> dict[str, Any]:
        """Return the fields as ``recommended.json`` has them."""
        figures = {"ratio_to_isolated": self.ratio, "low": self.low, "high": self.high}
        return {
            **(figures if self.is_known else dict.fromkeys(figures)),
            "is_shown": self.is_shown,
            "acted_on": self.acted_on,
            "num_configs": self.num_configs,
            "num_runs": self.num_runs,
            "text": self.text,
        }


def interference_effect(trials: pd.DataFrame, sweep: SweepRecord) -> Interference | None:
    """Return the effect of co-location on the speed of this sweep's trials.

    None if fewer than two rounds have a config both ways. A round with a contaminated run
    is left out if :data:`MIN_CLEAN` are clean.

    Raises:
        SweepError: The sweep's objectives state no rule.
    """
    rule = rule_of(sweep)
    if rule.speed_column not in trials.columns or "isolation" not in trials.columns:
        return None
    differences = _differences(_compared(trials, rule), sweep, rule)
    clean = differences[~differences["contaminated"]]
    used = clean if len(clean) >= MIN_CLEAN else differences
    if len(used) < 2:
        return None
    ratio, low, high = map(math.exp, mean_interval(used["effect"].to_numpy()))
    trained = trials[(trials["stage"] == Stage.TRAIN) & (trials["state"] == TrialState.COMPLETED)]
    is_isolated = bool((co_location_of(trained) == ISOLATED).any())
    return Interference(
        ratio=ratio,
        low=low,
        high=high,
        num_configs=used.index.get_level_values("config").nunique(),
        num_runs=2 * len(used),
        tie_margin=rule.tie_margin,
        acted_on=is_isolated and sweep.isolation != Isolation.EXCLUSIVE,
    )


def _compared(trials: pd.DataFrame, rule: Rule) -> pd.DataFrame:
    """Return the completed runs of the check with the co-location that was requested."""
    done = trials[(trials["state"] == TrialState.COMPLETED) & (trials["stage"] == Stage.PROBE)]
    done = done.assign(**{CO_LOCATION: co_location_of(done)})
    done = done[done[CO_LOCATION].isin([ISOLATED, CO_LOCATED]) & (done[rule.speed_column] > 0)]
    return done[(done[CO_LOCATION] == ISOLATED) | _had_others(done)]


def _had_others(runs: pd.DataFrame) -> pd.Series[bool]:
    """Return True for runs with other trials on the node.

    Background trials may have failed, found no room, or started too late: such a run was in effect
    isolated.
    """
    if _OTHERS not in runs.columns:
        return pd.Series(True, index=runs.index)
    return ~(runs[_OTHERS] < MIN_OTHERS)


def _differences(runs: pd.DataFrame, sweep: SweepRecord, rule: Rule) -> pd.DataFrame:
    """Return the difference between each config's co-located and isolated run of each round.

    Both runs are of one kind of hardware. Indexed by ``config`` and more; columns ``effect``, the
    difference of the logarithms of speed, and ``contaminated``, True if one of the two is.
    """
    # If interference was found, the two ways are separate groups; here they are compared.
    ids = config_ids(runs.drop(columns=GROUP, errors="ignore"))
    logs = rule.speed.sign * np.log(runs[rule.speed_column])
    speeds = pd.DataFrame({"log": logs, "contaminated": contaminated(runs)})
    keys = [ids, runs["repeat"], hardware_of(runs, sweep.nodes).rename("hardware")]
    if "tags.cpu_model" in runs.columns:
        keys.append(runs["tags.cpu_model"].fillna(""))
    isolated, co_located = (
        speeds[runs[CO_LOCATION] == way].groupby(keys).agg({"log": "mean", "contaminated": "any"})
        for way in (ISOLATED, CO_LOCATED)
    )
    # Background trials have their own numbers, so that no isolated run matches theirs.
    both = isolated.merge(co_located, left_index=True, right_index=True, suffixes=("_0", "_1"))
    effect = both["log_1"] - both["log_0"]
    either = both["contaminated_0"] | both["contaminated_1"]
    return pd.DataFrame({"effect": effect, "contaminated": either})
