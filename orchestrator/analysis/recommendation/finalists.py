"""The finalists in the confirm stage: is it decided, and is another one faster?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from orchestrator.analysis.columns import Config, configs_of, params_of, rows_of, same_config
from orchestrator.analysis.comparable import GROUP
from orchestrator.analysis.recommendation.pairs import Pairs, in_rounds, pair_up
from orchestrator.analysis.recommendation.selection import Selection
from orchestrator.analysis.recommendation.speedup import speed_up
from orchestrator.analysis.tables.run_tables import RunTables


@dataclass(frozen=True, kw_only=True)
class FasterFinalist:
    """A finalist that the confirm runs show to be faster than the selected config.

    Attributes:
        config: The finalist.
        row: Its row among the configs that were searched.
        pairs: Its speed over the selected config's.
    """

    config: Config
    row: Mapping[Any, Any]
    pairs: Pairs


def finalists(selection: Selection, *, most: int) -> tuple[Config, ...]:
    """Return the selected config and, the fastest first, others that may be as good."""
    if selection.config is None:
        return ()
    return (selection.config, *selection.contenders)[:most]


def is_decided(tables: RunTables, config: Mapping[str, Any]) -> bool:
    """Return True if the confirm runs tell its factor over the baseline, or show a tie.

    Where the config is the baseline: if they do so for each of its contenders.
    """
    is_baseline = same_config(config, tables.sweep.baseline)
    others = confirmed_configs(tables) if is_baseline else [config]
    return all(speed_up(tables, other).is_decided for other in others)


def faster_finalist(selection: Selection, tables: RunTables) -> FasterFinalist | None:
    """Return the fastest finalist that undisturbed rounds show to be faster than the selected one.

    The level of each comparison is shared out over the finalists, so that the fastest of
    several is not taken for more than it is. None where there is none.
    """
    selected = selection.config
    if selected is None:
        return None
    compared = [
        (config, pair_up(tables, config, selected))
        for config in confirmed_configs(tables)
        if not same_config(selected, config)
    ]
    faster = [
        (config, pairs)
        for config, pairs in compared
        if pairs.interval.low > 1 and not pairs.num_contaminated
    ]
    if not faster:
        return None
    config, pairs = max(faster, key=lambda pair: pair[1].interval.centre)
    configs = tables.configs[tables.configs[GROUP] == tables.main_group]
    rows = configs[rows_of(configs, config)].to_dict("records")
    if not rows or config not in selection.contenders:
        return None
    return FasterFinalist(config=config, row=rows[0], pairs=pairs)


def confirmed_configs(tables: RunTables) -> list[Config]:
    """Return the configs that the rounds of the confirm stage compare, the baseline left out."""
    confirm = in_rounds(tables.confirm_rows)
    configs = configs_of(confirm.drop_duplicates(params_of(confirm)), tables.sweep)
    return [config for config in configs if not same_config(config, tables.sweep.baseline)]
