"""What trials that run beside others lose: configs that were run both ways, compared.

The shared caches and the memory's bandwidth are nobody's own. The model: the logarithm of a
run's speed is the config's own, plus an effect of company that is the same for all configs,
plus an error whose variance is pooled over the runs of one config under one condition. The
effect is the mean over configs of the difference between the two conditions. This holds where
the configs were not chosen for their speed under one of the conditions: the fastest of many
looks slower when it is run again, whatever the company.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from analysis.comparable import COMPANY, GROUP, company_of
from analysis.intervals import t_quantile
from analysis.pooling import config_ids, counting, speed_cells
from analysis.rule import Rule, rule_of
from analysis.wording import counted, percent
from orchestrator.sweep import Isolation
from orchestrator.trial import Stage, TrialState


@dataclass(frozen=True, kw_only=True)
class Company:
    """How fast trials are beside others, over how fast they are alone.

    Attributes:
        ratio: Of the two; less than 1 where company makes them slower.
        low: Lower end of its 95 % interval.
        high: Upper end.
        num_configs: Configs that were run both ways.
        num_runs: Runs of them.
        tie_margin: A smaller difference is none for any practical purpose.
        acted_on: Whether the sweep measured alone from then on.
    """

    ratio: float
    low: float
    high: float
    num_configs: int
    num_runs: int
    tie_margin: float
    acted_on: bool = False

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
        rests = (
            f"{percent(self.ratio, digits=1)} of the speed alone, 95 % interval "
            f"{percent(self.low, digits=1)} to {percent(self.high, digits=1)}; "
            f"{counted(self.num_configs, 'config')} both ways, {counted(self.num_runs, 'run')}"
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
            "num_configs": self.num_configs,
            "num_runs": self.num_runs,
            "text": self.text,
        }


def company_effect(trials: pd.DataFrame, sweep: Mapping[str, Any]) -> Company | None:
    """What company does to the speed of this sweep's trials.

    None where no config was run both ways, or nothing was run twice either way. Confirm
    runs are left out: what was selected for its speed looks slower when it is run again.

    Raises:
        SweepError: The sweep's objectives state no rule.
    """
    rule = rule_of(sweep)
    if rule.speed_column not in trials.columns or "isolation" not in trials.columns:
        return None
    done = trials[(trials["state"] == TrialState.COMPLETED) & (trials["stage"] != Stage.CONFIRM)]
    done = done.assign(**{COMPANY: company_of(done)})
    done = done[(done[COMPANY] != "") & (done[rule.speed_column] > 0)]
    # Where company tells, the two ways are groups of their own; here they are compared.
    keys = [config_ids(done.drop(columns=GROUP, errors="ignore")), done[COMPANY]]
    done = done[counting(done, keys)]
    keys = [key[done.index] for key in keys]
    cells = speed_cells(done, keys, rule.speed.metric) if len(done) else pd.DataFrame()
    both = _both_ways(cells)
    return None if both.empty else _compared(both, cells, done, rule, sweep)


def _both_ways(cells: pd.DataFrame) -> pd.DataFrame:
    """Mean log speed and number of runs by config, ``(alone, beside)`` side by side."""
    if cells.empty:
        return cells
    wide = pd.DataFrame(cells[["mean", "num"]].unstack(COMPANY))
    sides = {"alone", "beside others"}
    return wide.dropna() if sides <= set(cells.index.get_level_values(COMPANY)) else wide.iloc[:0]


def _compared(
    both: pd.DataFrame,
    cells: pd.DataFrame,
    done: pd.DataFrame,
    rule: Rule,
    sweep: Mapping[str, Any],
) -> Company | None:
    of_both = cells[cells.index.get_level_values(0).isin(both.index)]
    repeated = of_both[of_both["num"] > 1]
    df = float((repeated["num"] - 1).sum())
    if df == 0:
        return None
    variance = np.average(repeated["variance"], weights=repeated["num"] - 1)
    mean, num = both["mean"], both["num"]
    effect = rule.speed.sign * float((mean["beside others"] - mean["alone"]).mean())
    error = math.sqrt(variance * float((1 / num).to_numpy().sum())) / len(both)
    half = float(t_quantile(np.array([df]))[0]) * error
    alone = done[(done["stage"] == Stage.TRAIN) & (done[COMPANY] == "alone")]
    return Company(
        ratio=math.exp(effect),
        low=math.exp(effect - half),
        high=math.exp(effect + half),
        num_configs=len(both),
        num_runs=int(num.to_numpy().sum()),
        tie_margin=rule.tie_margin,
        acted_on=len(alone) > 0 and sweep.get("isolation") != str(Isolation.EXCLUSIVE),
    )
