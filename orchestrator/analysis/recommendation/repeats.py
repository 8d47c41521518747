"""Configs to run once more, so that the best is told from the others."""

from __future__ import annotations

import pandas as pd

from orchestrator.analysis.columns import Config, configs_of
from orchestrator.analysis.statistics.against_best import (
    Verdict,
    against_best,
    presumably_apart,
    runs_to_resolve,
)
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.rules import RuleKind
from orchestrator.search.stages.repeats import MAX_CONTENDERS


def to_repeat(tables: RunTables, *, max_runs: int) -> tuple[Config, ...]:
    """Return the best config and the nearest of those that it is not told from.

    From the searching runs alone. Where nothing was run twice, configs that the presumed
    noise may explain are named, so that the noise becomes known. Where it is known, a config
    that would take more than ``max_runs`` to be told from the best is left out: it is so
    near that nothing hangs on it. A knee, weights or a function do not take the fastest: for them
    none is named.

    Args:
        tables: The run so far.
        max_runs: Runs that a config has at most.

    Returns:
        Empty where nothing is to be run again.

    Raises:
        SweepError: The sweep's objectives state no rule.
    """
    if tables.rule.how.kind is not RuleKind.FASTEST_WITHIN:
        return ()
    configs = against_best(tables.searched_configs(), tables.rule)
    ranked = configs[configs["verdict"] != ""]
    is_open = ranked["verdict"] == Verdict.UNRESOLVED
    if ranked["variance"].notna().any():
        is_open &= runs_to_resolve(ranked, tables.rule, max_runs=max_runs).notna()
    else:
        is_open &= ~presumably_apart(ranked["ratio_to_best"])
    contenders = ranked[is_open].sort_values("ratio_to_best", ascending=False, kind="stable")
    named = pd.concat([ranked[ranked["verdict"] == Verdict.BEST], contenders.head(MAX_CONTENDERS)])
    if len(named) < 2:
        return ()
    return tuple(configs_of(named[named["num_runs"] < max_runs], tables.sweep))
