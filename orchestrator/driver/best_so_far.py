"""The best configs of a sweep so far, by the code of the recommendation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from orchestrator.metrics import Goal, Objective
from orchestrator.storage.history import SweepHistory
from orchestrator.tracking.console.view import Best, BestSoFar

if TYPE_CHECKING:
    import pandas as pd

    from orchestrator.analysis.tables.run_tables import RunTables

_TITLES = {"samples_per_s": "fastest", "val_acc": "most accurate"}


def best_so_far(history: SweepHistory, candidates: pd.DataFrame | None = None) -> BestSoFar:
    """Return what the report would recommend now, and the best config by each objective.

    The analysis is imported on first use, since it takes a second.

    Args:
        history: The sweep so far.
        candidates: The configs of a factored search, which are composed; None for another search.
    """
    from orchestrator.analysis.columns import rows_of
    from orchestrator.analysis.recommendation.front import front_table, main_front
    from orchestrator.analysis.tables.run_tables import RunTables
    from orchestrator.storage.tables import trials_of

    tables = RunTables(trials=trials_of(history), sweep=history.sweep)
    if candidates is not None:
        tables = replace(tables, candidates=candidates)
    configs = tables.configs[tables.configs["group"] == tables.main_group]
    leaders: dict[str, Best] = {}
    for leader in _leaders(tables, configs):
        leaders.setdefault(repr(leader.config), leader)
    baseline = configs[rows_of(configs, history.sweep.baseline)]
    speeds = baseline["metrics.samples_per_s"].dropna()
    return BestSoFar(
        leaders=tuple(leaders.values()),
        baseline=None if speeds.empty else float(speeds.iloc[0]),
        num_front=len(main_front(front_table(tables))),
    )


def _leaders(tables: RunTables, configs: pd.DataFrame) -> Iterator[Best]:
    from orchestrator.analysis.recommendation.choice import choose

    choice = choose(tables)
    if choice is not None:
        yield _best("recommended", choice.row, tables)
    for objective in tables.rule.directions:
        column = f"metrics.{objective.metric}"
        values = objective.sign * configs[column].dropna()
        if not values.empty:
            row = configs.iloc[configs.index.get_loc(values.idxmax())].to_dict()
            yield _best(_title(objective), row, tables)


def _title(objective: Objective) -> str:
    best = f"best {objective.metric}"
    return _TITLES.get(objective.metric, best) if objective.goal is Goal.MAXIMIZE else best


def _best(title: str, row: Mapping[Any, Any], tables: RunTables) -> Best:
    from orchestrator.analysis.columns import config_of

    prefix = "metrics."
    return Best(
        title=title,
        config=config_of(row, tables.sweep),
        figures={
            name.removeprefix(prefix): float(cell)
            for name, cell in row.items()
            if str(name).startswith(prefix) and cell == cell
        },
    )
