"""What the confirm stage says of the finalists: is it decided, and is another one faster?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from analysis.columns import Config, as_plain, configs_of, params_of, rows_of
from analysis.comparable import with_groups
from analysis.recommendation.selection import Selection
from analysis.recommendation.speedup import Pairs, confirm_level, paired_ratios, speed_up
from analysis.rule import Rule
from analysis.statistics.by_config import by_config
from analysis.statistics.intervals import Interval, log_interval
from analysis.wording import label
from orchestrator.trial import Stage


def finalists(selection: Selection, *, most: int) -> tuple[Config, ...]:
    """The selected config and, the fastest first, others that may be as good."""
    if selection.config is None:
        return ()
    return (selection.config, *selection.contenders)[:most]


def is_decided(
    trials: pd.DataFrame, config: Mapping[str, Any], sweep: Mapping[str, Any], rule: Rule
) -> bool:
    """Whether the confirm runs tell the config from the baseline, or that they are as fast.

    Where the config is the baseline: whether they do so for each of its rivals.
    """
    trials = with_groups(trials, sweep)
    others = [config] if not _is_baseline(config, sweep) else _confirmed(trials, sweep)
    return all(speed_up(trials, other, sweep, rule).is_decided for other in others)


def faster_finalist(
    selection: Selection, trials: pd.DataFrame, sweep: Mapping[str, Any]
) -> Selection:
    """The selection, or another finalist that the confirm runs show to be faster than it.

    The level of each comparison is shared out over the finalists, so that the fastest of
    several is not taken for more than it is.
    """
    selected, rule = selection.config, selection.rule
    if selected is None:
        return selection
    found: list[tuple[Interval, Pairs, Config]] = []
    for config in _confirmed(trials, sweep):
        if any(as_plain(selected.get(name)) != value for name, value in config.items()):
            pairs = paired_ratios(trials, config, selected, rule)
            level = confirm_level(trials, sweep, len(pairs.ratios))
            interval = log_interval(pairs.ratios.to_numpy(dtype="float64"), level=level)
            found.append((interval, pairs, config))
    faster = [one for one in found if one[0].is_known and one[0].low > 1]
    if not faster:
        return selection
    interval, pairs, config = max(faster, key=lambda one: one[0].centre)
    searched = by_config(trials, stage=Stage.TRAIN, speed=rule.speed.metric)
    rows = searched[rows_of(searched, config)].to_dict("records")
    if not rows or config not in selection.contenders:
        return selection
    return replace(
        selection,
        config=config,
        row=rows[0],
        why=f"the fastest of the finalists: {interval.centre:.2f}x the speed of "
        f"{label(selected, sweep)}, which was selected before, 95 % interval {interval.low:.2f}x "
        f"to {interval.high:.2f}x over {pairs.words}",
        tied=(),
    )


def _is_baseline(config: Mapping[str, Any], sweep: Mapping[str, Any]) -> bool:
    baseline = sweep["baseline"]
    return all(as_plain(config.get(name)) == as_plain(value) for name, value in baseline.items())


def _confirmed(trials: pd.DataFrame, sweep: Mapping[str, Any]) -> list[Config]:
    """The configs of the confirm stage, the baseline left out."""
    confirm = trials[trials["stage"] == Stage.CONFIRM].drop_duplicates(params_of(trials))
    configs = configs_of(confirm, sweep)
    return [config for config in configs if not _is_baseline(config, sweep)]
