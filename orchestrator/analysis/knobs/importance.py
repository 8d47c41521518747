"""Importance of the knobs for a good figure, by PED-ANOVA."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from orchestrator.analysis.columns import TableError
from orchestrator.analysis.knobs.effects import MAX_VALUES
from orchestrator.analysis.knobs.figures import Figures
from orchestrator.analysis.knobs.of_run import asked_figures
from orchestrator.analysis.statistics.matched_pairs import Rows
from orchestrator.analysis.tables.checks import Source, run_of
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.formats import counted

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

MIN_CONFIGS: Final = 50
"""With fewer, PED-ANOVA's best tenth has fewer configs than the five it requires."""
MAX_CONFIGS: Final = 10_000
BEST: Final = 0.1
"""Share of the configs that count as good: Optuna's default."""
_WIDE: Final = 20.0


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
        first, for the main group.

    Raises:
        TableError: As :func:`effects`; or fewer than 50 configs have the figure.

    Source: Watanabe, Bansal and Hutter, "PED-ANOVA", IJCAI 2023, as implemented in Optuna.
    """
    on = on or run_of(source, run, "importance").rule.speed.metric
    return importance_in(asked_figures(source, on, run, "importance"))


def importance_in(asked: Sequence[Figures]) -> pd.DataFrame:
    """Return the table of :func:`importance` for the first figure.

    The other figures are of other groups: their speeds are not comparable.
    """
    if not asked:
        raise TableError("importance: no config completed")
    figures, rows = asked[0], _rows(asked[0])
    if len(rows) < MIN_CONFIGS:
        have = f"{counted(len(rows), 'config')} with {figures.metric}"
        raise TableError(f"importance: too few: {have}, {MIN_CONFIGS} are needed")
    figure = figures.sign * figures.levels[rows]
    num_worst = int((figure == figure.min()).sum())
    if not figures.knobs or len(rows) - num_worst < BEST * len(rows):
        same = f"{num_worst} of {len(rows)} configs have the same {figures.metric}"
        raise TableError(f"importance: {same if figures.knobs else 'no knob varies'}")
    shares = _ped_anova(figures, rows)
    return pd.DataFrame({"knob": list(shares), "importance": list(shares.values())}).assign(
        metric=figures.metric,
        num_configs=len(rows),
        composed=bool(figures.composed[rows].any()),
        contaminated=bool(figures.contaminated[rows].any()),
        group=figures.group,
    )


def _rows(figures: Figures) -> Rows:
    """Return the configs with a figure: those of clean runs if they are enough.

    At most :data:`MAX_CONFIGS`: those of the smallest keys, which are random sums with a fixed
    seed, so that the sample does not depend on the table's order.
    """
    clean = np.flatnonzero(figures.known & ~figures.contaminated)
    rows = clean if len(clean) >= MIN_CONFIGS else np.flatnonzero(figures.known)
    return rows[np.argsort(figures.points.keys[rows], kind="stable")[:MAX_CONFIGS]]


def _ped_anova(figures: Figures, rows: Rows) -> dict[str, float]:
    """Return Optuna's importances of a study with the configs as trials."""
    import optuna
    from optuna.importance import PedAnovaImportanceEvaluator, get_param_importances

    cells = {
        name: [figures.points.values[name][code] for code in figures.points.codes[name][rows]]
        for name in figures.knobs
    }
    distributions = {name: _distribution(values) for name, values in cells.items()}
    to_minimise = (-figures.sign * figures.levels[rows]).tolist()
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        study = optuna.create_study()
    finally:
        optuna.logging.set_verbosity(verbosity)
    study.add_trials(
        optuna.create_trial(
            params=dict(zip(cells, config, strict=True)), distributions=distributions, value=value
        )
        for value, *config in zip(to_minimise, *cells.values(), strict=True)
    )
    evaluator = PedAnovaImportanceEvaluator(target_quantile=BEST)
    return get_param_importances(study, evaluator=evaluator)


def _distribution(values: list[Any]) -> BaseDistribution:
    """Return the distribution of a knob: a range if it has more values than may be listed."""
    from optuna.distributions import CategoricalDistribution, FloatDistribution

    distinct = sorted(set(values), key=lambda value: (str(type(value)), value))
    is_number = all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in distinct)
    if len(distinct) <= MAX_VALUES or not is_number:
        return CategoricalDistribution(distinct)
    low, high = float(distinct[0]), float(distinct[-1])
    return FloatDistribution(low, high, log=low > 0 and high / low > _WIDE)
