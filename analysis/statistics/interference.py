"""What trials that run beside others lose: configs that were run both ways in turn, compared.

The shared caches and the memory's bandwidth are nobody's own. The model: the logarithm of a
run's speed is the config's own in that round, plus an effect of company that is the same for
all configs, plus an error. So the effect is the mean of the differences of a config's two ways
within a round, whose runs follow each other: what the machine does over minutes is in both.
Only rounds of this check count (:mod:`orchestrator.search.stages.interference`). Its configs are
not chosen for their speed; the fastest of many looks slower when it is run again, whatever the
company.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd

from analysis.comparable import ALONE, BESIDE, COMPANY, GROUP, company_of, hardware_of
from analysis.rule import Rule, rule_of
from analysis.statistics.intervals import t_quantile
from analysis.statistics.pooling import config_ids, contaminated, were_interleaved
from analysis.wording import counted, percent
from orchestrator.storage.sweep_record import SweepRecord
from orchestrator.trial import Isolation, Stage, TrialState

_HOW: Final = {"log": "mean", "disturbed": "any", "interleaved": "all"}
"""How runs of one config, round and way are taken together."""
_OTHERS: Final = "metrics.others_cores"
MIN_OTHERS: Final = 0.5
"""Cores that others must have had meanwhile, in the mean, for a row to be beside others."""
MIN_CLEAN: Final = 3
"""Differences that must be left for those with a contaminated run not to count."""


@dataclass(frozen=True, kw_only=True)
class Company:
    """How fast trials are beside others, over how fast they are alone.

    Attributes:
        ratio: Of the two; less than 1 where company makes them slower.
        low: Lower end of its 95 % interval.
        high: Upper end.
        num_configs: Configs that were run both ways.
        num_runs: Runs of them, half of them alone.
        tie_margin: A smaller difference is none for any practical purpose.
        acted_on: Whether the sweep measured alone from then on.
        interleaved: Whether the runs of a round took turns.
    """

    ratio: float
    low: float
    high: float
    num_configs: int
    num_runs: int
    tie_margin: float
    acted_on: bool = False
    interleaved: bool = False

    @property
    def is_shown(self) -> bool:
        """Whether the difference is more than noise, and than the margin of a tie."""
        is_large = abs(math.log(self.ratio)) > -math.log(1 - self.tie_margin)
        return is_large and (self.high < 1 or self.low > 1)

    @property
    def smallest_seen(self) -> float:
        """The least share of the speed that company must have cost to be shown."""
        half = math.log(self.high / self.low) / 2
        return max(-math.expm1(-half), self.tie_margin)

    @property
    def text(self) -> str:
        """The difference in a sentence."""
        way = "slower" if self.ratio < 1 else "faster"
        size = percent(abs(self.ratio - 1), digits=1)
        ways = "both ways in turns" if self.interleaved else "both ways"
        rests = (
            f"{percent(self.ratio, digits=1)} of the speed alone, 95 % interval "
            f"{percent(self.low, digits=1)} to {percent(self.high, digits=1)}; "
            f"{counted(self.num_configs, 'config')} {ways}, {counted(self.num_runs, 'run')}"
        )
        if not self.is_shown:
            seen = percent(self.smallest_seen, digits=1)
            return (
                "company is not shown to change the speed of trials; an effect under "
                f"{seen} would not have been seen ({rests})"
            )
        said = f"trials beside others are {size} {way} than alone ({rests})"
        return f"{said}; the sweep measured alone from then on" if self.acted_on else said

    def to_json(self) -> dict[str, Any]:
        """As ``recommended.json`` holds it."""
        return {
            "ratio_to_alone": self.ratio,
            "low": self.low,
            "high": self.high,
            "is_shown": self.is_shown,
            "acted_on": self.acted_on,
            "interleaved": self.interleaved,
            "num_configs": self.num_configs,
            "num_runs": self.num_runs,
            "text": self.text,
        }


def company_effect(trials: pd.DataFrame, sweep: SweepRecord) -> Company | None:
    """What company does to the speed of this sweep's trials.

    None where fewer than two rounds have a config both ways. A round with a contaminated run
    is left out where :data:`MIN_CLEAN` are clean.

    Raises:
        SweepError: The sweep's objectives state no rule.
    """
    rule = rule_of(sweep)
    if rule.speed_column not in trials.columns or "isolation" not in trials.columns:
        return None
    done = trials[(trials["state"] == TrialState.COMPLETED) & (trials["stage"] == Stage.PROBE)]
    done = done.assign(**{COMPANY: company_of(done)})
    done = done[~_was_left(done)]
    done = done[(done[COMPANY] != "") & (done[rule.speed_column] > 0)]
    both = _both_ways(done, sweep, rule)
    clean = both[~both["disturbed"]]
    counted_on = clean if len(clean) >= MIN_CLEAN else both
    if len(counted_on) < 2:
        return None
    effects = counted_on["effect"].to_numpy(dtype=np.float64)
    error = effects.std(ddof=1) / math.sqrt(len(effects))
    half = float(t_quantile(np.array([len(effects) - 1.0]))[0]) * error
    trained = trials[(trials["stage"] == Stage.TRAIN) & (trials["state"] == TrialState.COMPLETED)]
    isolated = trained[company_of(trained) == ALONE]
    return Company(
        ratio=math.exp(effects.mean()),
        low=math.exp(effects.mean() - half),
        high=math.exp(effects.mean() + half),
        num_configs=counted_on.index.get_level_values("config").nunique(),
        num_runs=2 * len(counted_on),
        tie_margin=rule.tie_margin,
        acted_on=len(isolated) > 0 and sweep.isolation != Isolation.EXCLUSIVE,
        interleaved=bool(counted_on["interleaved"].all()),
    )


def _was_left(done: pd.DataFrame) -> pd.Series[bool]:
    """Rows that were to be beside others, whose company was gone for most of the time."""
    if _OTHERS not in done.columns:
        return pd.Series(False, index=done.index)
    return (done[COMPANY] == BESIDE) & (done[_OTHERS] < MIN_OTHERS)


def _both_ways(done: pd.DataFrame, sweep: SweepRecord, rule: Rule) -> pd.DataFrame:
    """What company does in each round of each config that was run both ways in it.

    Both are of one kind of hardware. Indexed by ``config`` and more; columns ``effect``, the
    difference of the logarithms of speed, whether a run of the two was ``disturbed``, and whether
    all took turns (``interleaved``).
    """
    # Where company tells, the two ways are groups of their own; here they are compared.
    ids = config_ids(done.drop(columns=GROUP, errors="ignore"))
    runs = pd.DataFrame(
        {
            "log": rule.speed.sign * np.log(done[rule.speed_column]),
            "disturbed": contaminated(done),
            "interleaved": were_interleaved(done),
        }
    )
    keys = [ids, done["repeat"], hardware_of(done, sweep.nodes).rename("hardware")]
    if "tags.cpu_model" in done.columns:
        keys.append(done["tags.cpu_model"].fillna(""))
    isolated, beside = (
        runs[done[COMPANY] == way].groupby(keys).agg(_HOW) for way in (ALONE, BESIDE)
    )
    both = isolated.merge(beside, left_index=True, right_index=True, suffixes=("_alone", "_beside"))
    return pd.DataFrame(
        {
            "effect": both["log_beside"] - both["log_alone"],
            "disturbed": both["disturbed_alone"] | both["disturbed_beside"],
            "interleaved": both["interleaved_alone"] & both["interleaved_beside"],
        }
    )
