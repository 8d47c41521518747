"""The config to use, from the selection and the confirm runs of its finalists."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from orchestrator.analysis.columns import Config, config_of, rows_of
from orchestrator.analysis.comparable import GROUP
from orchestrator.analysis.recommendation.selection import Selection, select
from orchestrator.analysis.recommendation.speedup import Speedup, pair_up, speed_up
from orchestrator.analysis.rule import cost_of_row
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.rules import RuleKind
from orchestrator.space.configs import same_config


def finalists(selection: Selection, *, most: int) -> tuple[Config, ...]:
    """Return the selected config and, the fastest first, others that may be as good."""
    if selection.config is None:
        return ()
    return (selection.config, *selection.contenders)[:most]


def is_decided(tables: RunTables, config: Mapping[str, Any]) -> bool:
    """Return True if the confirm runs show its factor over the baseline, or a tie.

    For the baseline: if they do so for each of its contenders.
    """
    is_baseline = same_config(config, tables.sweep.baseline)
    others = tables.compared if is_baseline else [config]
    return all(speed_up(tables, other).is_decided for other in others)


def _faster_finalist(
    selection: Selection, selected: Config, tables: RunTables
) -> tuple[Config, Mapping[Any, Any], Speedup] | None:
    """Return the fastest finalist that undisturbed rounds show to be faster than the selected one.

    With its row among the searched configs and its speed over the selected one's. The level of each
    comparison is shared out over the finalists. None if there is no such finalist.
    """
    faster = [
        (config, over)
        for config in tables.compared
        if not same_config(selected, config)
        and (over := pair_up(tables, config, selected)).is_shown
    ]
    if not faster:
        return None
    config, over = max(faster, key=lambda one: one[1].ratio or 0.0)
    configs = tables.configs[tables.configs[GROUP] == tables.main_group]
    rows = configs[rows_of(configs, config)].to_dict("records")
    if not rows or config not in selection.contenders:
        return None
    return config, rows[0], over


@dataclass(frozen=True, kw_only=True)
class Choice:
    """The config to use, and the way to it.

    Attributes:
        selection: The choice of the searching runs.
        config: The config to use.
        row: Its row among the configs that were searched.
        speedup: Over the baseline.
        finalist: The speed of ``config`` over the selected one's, if it is another finalist.
        rejected: The config that the baseline replaces, or None.
        against: The speed-up of ``rejected`` over the baseline.
    """

    selection: Selection
    config: Config
    row: Mapping[Any, Any]
    speedup: Speedup
    finalist: Speedup | None = None
    rejected: Config | None = None
    against: Speedup | None = None

    @property
    def is_slower(self) -> bool:
        """True if the confirm runs show the choice before the baseline's turn to be slower."""
        return (self.against or self.speedup).is_slower

    @property
    def tied(self) -> tuple[Config, ...]:
        """Configs that are as fast by the searching runs, as long as their choice stands."""
        return () if self.finalist or self.rejected else self.selection.tied

    @property
    def unresolved(self) -> tuple[Config, ...]:
        """Configs that more repeats could show to be as fast."""
        return () if self.rejected else self.selection.unresolved


def choose(tables: RunTables, selection: Selection | None = None) -> Choice | None:
    """Choose the config to use; None where the searching runs name none.

    The runs of stage ``train`` select; the runs of stage ``confirm`` may prefer another finalist.
    If these show the config to be slower than the baseline, or as fast within the margin of a tie
    and not cheaper, and the baseline meets the rule's conditions, the baseline is chosen; only by
    ``fastest_within``.

    Args:
        tables: The run.
        selection: The choice of its searching runs, where it is known already.
    """
    selection = selection or select(tables)
    if selection.config is None or selection.row is None:
        return None
    finalist = _faster_finalist(selection, selection.config, tables)
    config, row, over = finalist or (selection.config, selection.row, None)
    choice = Choice(
        selection=selection, config=config, row=row, speedup=speed_up(tables, config), finalist=over
    )
    is_open = choice.speedup.is_slower or choice.speedup.is_tie
    return _or_baseline(choice, tables) if is_open else choice


def _or_baseline(choice: Choice, tables: RunTables) -> Choice:
    """Choose the baseline instead, if it meets the rule's conditions and is not dearer."""
    configs, rule = tables.configs[tables.configs[GROUP] == tables.main_group], tables.rule
    if rule.how.kind is not RuleKind.FASTEST_WITHIN:
        return choice
    accurate = configs[rule.acceptable(configs)]
    rows = accurate[rows_of(accurate, tables.sweep.baseline)].to_dict("records")
    if not rows:
        return choice
    ours, theirs = (cost_of_row(row, tables.sweep) for row in (choice.row, rows[0]))
    if not choice.is_slower and ours < theirs:
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
