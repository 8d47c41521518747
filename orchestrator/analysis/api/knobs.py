"""Effects of the knobs: matched pairs, two knobs together, importance."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from orchestrator.analysis.api.checks import (
    Source,
    checked_trials,
    column_named,
    run_of,
)
from orchestrator.analysis.columns import metrics_of
from orchestrator.analysis.knobs.effects import effects_in, interactions_in
from orchestrator.analysis.knobs.figures import Figures
from orchestrator.analysis.knobs.importance import importance_in
from orchestrator.analysis.knobs.of_run import figures_by_role
from orchestrator.analysis.tables.run_tables import RunTables


def effects(source: Source, on: str | None = None, *, run: RunTables | None = None) -> pd.DataFrame:
    """Return each knob's effect on a figure, by matched pairs: configs that differ in it alone.

    Pairs are within one group of comparable rows. For speeds, pairs with a contaminated run count
    only if there is no other; for what was learned they always do. A factored search's configs
    count by the runs from which their figures are composed: none twice.

    Args:
        source: A run; or rows of its ``trials``, with ``run``.
        on: The figure, such as ``samples_per_s``, for all knobs. None: the speed for ``systems``
            knobs, the accuracy for ``learning`` knobs and the two for ``both``.
        run: The run of a frame: its baseline is the reference.

    Returns:
        One row a knob, pair of values and figure. ``reference`` and ``value``, the baseline's first
        if it was tried; ``kind`` ``ratio`` (for speeds and times: value over reference) or
        ``difference`` (for shares and what was learned, in their own unit); ``effect``, the mean
        over ``num_pairs`` pairs, between ``smallest`` and ``largest``; ``low`` and ``high``, its
        95 % interval, and ``basis``, its source. Without repeats a single pair has none.
        ``verdict`` is ``higher``, ``lower``, ``equal in every pair``, ``not decided`` or ``no
        pair``, by ``p``, which is corrected for all rows of the frame. ``composed``: a config was
        not itself measured. ``contaminated``: no pair has clean runs alone.

    Raises:
        TableError: The figure is unknown, or a frame lacks a needed column or has a trial twice.
        SweepError: The sweep's objectives state no rule.

    Source: :mod:`orchestrator.analysis.statistics.matched_pairs`: t intervals over pairs with the
    noise of repeats pooled in; Holm, Scandinavian Journal of Statistics 6, 1979.
    """
    return effects_in(_asked(source, on, run, "effects"))


def interactions(
    source: Source, on: str | None = None, *, run: RunTables | None = None
) -> pd.DataFrame:
    """Return the joint effect of two knobs beyond the effect of each.

    From complete 2 x 2 blocks only: four configs that differ in the two knobs alone.

    Args:
        source: As :func:`effects` takes it.
        on: The figure, for all knobs. None: the speed for two knobs that change it by their roles,
            the accuracy for two that change the accuracy.
        run: As for :func:`effects`.

    Returns:
        One row two knobs, a value of each with its reference, and figure. ``effect`` is a ratio
        of ratios over ``num_blocks`` blocks: the change from both, over the product of the changes
        from each alone. For shares and what was learned it is a difference of differences. 1, or
        0: neither changes the other's effect. The other columns are those of :func:`effects`. Two
        knobs without a block have one row, ``not tried together``, with the options of the config
        with both changed, ``to_try``.

    Raises:
        TableError: As :func:`effects`.

    Source: contrasts of a factorial design (Box, Hunter and Hunter, "Statistics for
    Experimenters", 2nd edition 2005, chapter 5); intervals as :func:`effects`.
    """
    return interactions_in(_asked(source, on, run, "interactions"))


def importance(
    source: Source, on: str | None = None, *, run: RunTables | None = None
) -> pd.DataFrame:
    """Return how much each knob matters for being among the best tenth of the configs.

    Importances are shares of 1. They show neither direction nor confidence, and they mix knobs
    that vary together, unlike :func:`effects`. At most 10,000 configs count, always the same.

    Args:
        source: As for :func:`effects`.
        on: The figure. None: the sweep's first objective.
        run: As for :func:`effects`.

    Returns:
        ``knob, importance, metric, num_configs, composed, contaminated, group``, the most important
        first, for the main group. Empty if fewer than 50 configs have the figure;
        ``attrs["note"]`` states this.

    Raises:
        TableError: As :func:`effects`.

    Source: Watanabe, Bansal and Hutter, "PED-ANOVA", IJCAI 2023, as implemented in Optuna.
    """
    on = on or run_of(source, run, "importance").rule.speed.metric
    return importance_in(_asked(source, on, run, "importance"))


def _asked(source: Source, on: str | None, run: RunTables | None, function: str) -> list[Figures]:
    """Return the figures of a run, or of one made of some of its trials."""
    tables = run_of(source, run, function)
    if isinstance(source, pd.DataFrame):
        tables = replace(tables, trials=checked_trials(source, tables, function))
    if on is not None:
        on = on.removeprefix("metrics.")
        column_named(tables.grouped[metrics_of(tables.grouped)], on, function)
    return figures_by_role(tables, on)
