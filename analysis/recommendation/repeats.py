"""Which configs to run once more so that the best is told from the others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from analysis.columns import Config, configs_of
from analysis.comparable import GROUP, main_group, with_groups
from analysis.rule import rule_of
from analysis.statistics.against_best import (
    Verdict,
    against_best,
    presumably_apart,
    runs_to_resolve,
)
from analysis.statistics.by_config import by_config
from orchestrator.search.stages.repeats import MAX_CONTENDERS
from orchestrator.trial import Stage


def to_repeat(
    trials: pd.DataFrame, sweep: Mapping[str, Any], *, max_runs: int
) -> tuple[Config, ...]:
    """The best config and the nearest of those that it is not told from; empty where none is.

    From the searching runs alone. Where nothing was run twice, configs that the presumed
    noise may explain are named, so that the noise becomes known. Where it is known, a config
    that would take more than ``max_runs`` to be told from the best is left out: it is so
    near that nothing hangs on it.

    Args:
        trials: The trials table.
        sweep: What ``sweep.json`` holds.
        max_runs: Runs that a config has at most.

    Raises:
        SweepError: The sweep's objectives state no rule.
    """
    rule = rule_of(sweep)
    grouped = with_groups(trials[trials["stage"] != Stage.CONFIRM], sweep)
    configs = by_config(grouped, stage=Stage.TRAIN, speed=rule.speed.metric)
    configs = against_best(configs[configs[GROUP] == main_group(grouped, sweep)], rule)
    ranked = configs[configs["verdict"] != ""]
    is_open = ranked["verdict"] == Verdict.UNRESOLVED
    if ranked["variance"].notna().any():
        is_open &= runs_to_resolve(ranked, rule, max_runs=max_runs).notna()
    else:
        is_open &= ~presumably_apart(ranked["ratio_to_best"])
    contenders = ranked[is_open].sort_values("ratio_to_best", ascending=False, kind="stable")
    named = pd.concat([ranked[ranked["verdict"] == Verdict.BEST], contenders.head(MAX_CONTENDERS)])
    if len(named) < 2:
        return ()
    short = named[named["num_runs"] < max_runs]
    return tuple(configs_of(short, sweep))
