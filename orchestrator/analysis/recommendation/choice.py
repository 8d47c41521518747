"""The config to use, from the searching runs and what the confirm stage makes of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from orchestrator.analysis.columns import Config, config_of, rows_of
from orchestrator.analysis.comparable import GROUP
from orchestrator.analysis.recommendation.cost import cost_of
from orchestrator.analysis.recommendation.finalists import FasterFinalist, faster_finalist
from orchestrator.analysis.recommendation.selection import Selection, select
from orchestrator.analysis.recommendation.speedup import Speedup, speed_up
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.rules import RuleKind


@dataclass(frozen=True, kw_only=True)
class Choice:
    """The config to use, and the way to it.

    Attributes:
        selection: The choice of the searching runs.
        config: The config to use.
        row: Its row among the configs that were searched.
        speedup: Over the baseline.
        finalist: Another finalist than the selected config that took its place, or None.
        slower: The speed-up of what would have been chosen, where the confirm runs show it to be
            slower than the baseline; None otherwise.
        rejected: The config that the baseline took the place of; None where it took none.
        against: The speed-up of ``rejected`` over the baseline.
    """

    selection: Selection
    config: Config
    row: Mapping[Any, Any]
    speedup: Speedup
    finalist: FasterFinalist | None = None
    slower: Speedup | None = None
    rejected: Config | None = None
    against: Speedup | None = None

    @property
    def tied(self) -> tuple[Config, ...]:
        """Configs that are as fast by the searching runs, as long as their choice stands."""
        return () if self.finalist or self.rejected else self.selection.tied

    @property
    def unresolved(self) -> tuple[Config, ...]:
        """Configs that more repeats could show to be as fast."""
        return () if self.rejected else self.selection.unresolved


def choose(tables: RunTables) -> Choice | None:
    """Choose the config to use; None where the searching runs name none.

    The runs of stage ``train`` select; the runs of stage ``confirm`` may prefer another finalist.
    Where these show the config to be slower than the baseline, or as fast within the margin of a
    tie and not cheaper, and the baseline holds the rule's conditions, the baseline is chosen; only
    by ``fastest_within``, to which speed comes first.

    Raises:
        SweepError: The sweep's objectives state no rule.
    """
    selection = select(tables)
    if selection.config is None or selection.row is None:
        return None
    finalist = faster_finalist(selection, tables)
    config, row = (
        (selection.config, selection.row) if finalist is None else (finalist.config, finalist.row)
    )
    choice = Choice(
        selection=selection,
        config=config,
        row=row,
        speedup=speed_up(tables, config),
        finalist=finalist,
    )
    is_open = choice.speedup.is_slower or choice.speedup.is_tie
    return _or_baseline(choice, tables) if is_open else choice


def _or_baseline(choice: Choice, tables: RunTables) -> Choice:
    """Choose the baseline instead, where it holds the rule's conditions and is not dearer."""
    configs, rule = tables.configs[tables.configs[GROUP] == tables.main_group], tables.rule
    is_slower = choice.speedup.is_slower
    if is_slower:
        choice = replace(choice, slower=choice.speedup)
    if rule.how.kind is not RuleKind.FASTEST_WITHIN:
        return choice
    accurate = configs[rule.acceptable(configs)]
    rows = accurate[rows_of(accurate, tables.sweep.baseline)].to_dict("records")
    if not rows:
        return choice
    if not is_slower and _is_cheaper(choice.row, rows[0], tables):
        return choice
    config = config_of(rows[0], tables.sweep)
    return replace(
        choice,
        config=config,
        row=rows[0],
        speedup=speed_up(tables, config),
        rejected=choice.config,
        against=choice.speedup,
    )


def _is_cheaper(row: Mapping[Any, Any], baseline: Mapping[Any, Any], tables: RunTables) -> bool:
    ours, theirs = (cost_of(each, tables.rule, tables.sweep) for each in (row, baseline))
    return ours < theirs
