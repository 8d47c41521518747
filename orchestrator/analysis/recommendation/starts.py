"""The start of a training, set-up and warm-up, and after how many epochs a longer one pays."""

import math
from typing import Any, Final, NamedTuple

import pandas as pd

from orchestrator.analysis.columns import Config, config_of, rows_of
from orchestrator.analysis.statistics.against_best import against_best
from orchestrator.analysis.statistics.starts import one_offs
from orchestrator.analysis.tables.run_tables import RunTables

OF_EPOCHS: Final = ("samples_per_s", "epoch_s")
"""Speeds that a start is no part of."""
NOISE_ERRORS: Final = 3.0
"""Standard errors that a difference between starts must exceed."""
ASSUMED_SPREAD: Final = 1.0
"""Spread of a start between runs while none was repeated, as a multiple of the shortest. Warm-ups
of one config in five runs of products_loader took 0.3 to 1.4 s."""


class BreakEven(NamedTuple):
    """A config and one that starts sooner, by seconds; after how many epochs the first is ahead."""

    config: Config
    other: Config
    excess_s: float
    epochs: float


def split_by_pay(configs: pd.DataFrame, tables: RunTables) -> tuple[pd.DataFrame, BreakEven | None]:
    """Return the configs with a start that pays, ranked anew, and the fastest of the others.

    A start does not pay where a slower config ends its training sooner by more than a tie and the
    noise of starts. The fastest of the others is None unless its epochs are shorter than those of
    the config that ends soonest.
    """
    known = _with_starts(configs, tables)
    if known is None:
        return configs, None
    table, noise_s = known
    table = table.sort_values("epoch_s", ascending=False)
    whole_s = table["start_s"] + tables.sweep.budget.epochs * table["epoch_s"]
    is_late = whole_s * (1 - tables.rule.tie_margin) - noise_s > whole_s.cummin().shift()
    late, kept = table[is_late], table[~is_late]
    if late.empty:
        return configs, None
    soonest = kept.iloc[int(whole_s[~is_late].argmin())]
    kept = against_best(configs[configs.index.isin(kept.index)], tables.rule)
    unpaid = _compared(late.iloc[-1], soonest, tables)
    return kept, unpaid if math.isfinite(unpaid.epochs) else None


def break_even(tables: RunTables, config: Config) -> BreakEven | None:
    """Return when a config is ahead of the baseline; None where it does not start later."""
    known = _with_starts(tables.searched_configs(), tables)
    if known is None:
        return None
    own, its = (known[0][rows_of(known[0], which)] for which in (config, tables.sweep.baseline))
    if own.empty or its.empty:
        return None
    found = _compared(own.iloc[0], its.iloc[0], tables)
    return found if found.excess_s > known[1] else None


def _compared(late: "pd.Series[Any]", soon: "pd.Series[Any]", tables: RunTables) -> BreakEven:
    excess_s, saved_s = late["start_s"] - soon["start_s"], soon["epoch_s"] - late["epoch_s"]
    config, other = (config_of(each.to_dict(), tables.sweep) for each in (late, soon))
    epochs = excess_s / saved_s if saved_s > 0 else math.inf
    return BreakEven(config, other, float(excess_s), float(epochs))


def _with_starts(configs: pd.DataFrame, tables: RunTables) -> tuple[pd.DataFrame, float] | None:
    """Return the configs with ``start_s`` and ``epoch_s``; the difference of starts by noise.

    None where the speed or the budget is not one of epochs, or no start is known.
    """
    rule = tables.rule
    is_of_epochs = rule.speed.metric in OF_EPOCHS and tables.sweep.budget.steps is None
    if not is_of_epochs or configs.empty or "metrics.epoch_s" not in configs:
        return None
    ids = configs["timed_ids"].explode()
    of_trial = one_offs(tables.trials).sum(axis=1, min_count=1)
    of_config = of_trial.reindex(ids).set_axis(ids.index).groupby(level=0)
    start_s, counts = of_config.median(), of_config.count()
    if start_s.isna().all():
        return None
    df, spread = (counts - 1).clip(lower=0), ASSUMED_SPREAD * float(start_s.min())
    if df.any():
        spread = math.sqrt((of_config.var().fillna(0.0) * df).sum() / df.sum())
    fastest = configs.iloc[int((rule.speed.sign * configs[rule.speed_column]).argmax())]
    ratios = rule.ratios(configs[rule.speed_column], fastest[rule.speed_column])
    table = configs.assign(start_s=start_s, epoch_s=fastest["metrics.epoch_s"] / ratios)
    return table, NOISE_ERRORS * spread * math.sqrt(2 / max(float(counts.median()), 1.0))
