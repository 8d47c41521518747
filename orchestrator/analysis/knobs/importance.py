"""Importance of the knobs for a good figure, by PED-ANOVA."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from orchestrator.analysis.knobs.effects import MAX_VALUES
from orchestrator.analysis.knobs.figures import Figures
from orchestrator.analysis.statistics.matched_pairs import Rows
from orchestrator.formats import counted

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

MIN_CONFIGS: Final = 50
"""With fewer, PED-ANOVA's best tenth has fewer configs than the five it requires."""
MAX_CONFIGS: Final = 10_000
BEST: Final = 0.1
"""Share of the configs that count as good: Optuna's default."""
_WIDE: Final = 20.0

COLUMNS: Final = (
    "knob", "importance", "metric", "num_configs", "composed", "contaminated", "group",
)  # fmt: skip


def importance_in(asked: Sequence[Figures]) -> pd.DataFrame:
    """Return the table of :func:`orchestrator.analysis.importance` for the first figure.

    The others are of other groups: their speeds are not comparable.
    """
    if note := _none_since(asked):
        table = pd.DataFrame(columns=list(COLUMNS))
    else:
        figures, rows = asked[0], _sample(asked[0])
        shares = _ped_anova(figures, rows)
        table = pd.DataFrame(
            {
                "knob": list(shares),
                "importance": list(shares.values()),
                "metric": figures.metric,
                "num_configs": len(rows),
                "composed": bool(figures.composed[rows].any()),
                "contaminated": bool(figures.contaminated[rows].any()),
                "group": figures.group,
            }
        )
        note = f"of {len(rows):,} configs of {int(figures.known.sum()):,}"
    table.attrs["note"] = note
    return table


def _rows(figures: Figures) -> Rows:
    """Return the configs with a figure: those of clean runs if they are enough."""
    clean = np.flatnonzero(figures.known & ~figures.contaminated)
    return clean if len(clean) >= MIN_CONFIGS else np.flatnonzero(figures.known)


def _none_since(asked: Sequence[Figures]) -> str:
    """Return why there is no importance; "" if there is one."""
    if not asked:
        return "too few: no config completed"
    figures, rows = asked[0], _rows(asked[0])
    if len(rows) < MIN_CONFIGS:
        have = counted(len(rows), "config")
        return f"too few: {have} with {figures.metric}, {MIN_CONFIGS} are needed"
    if not figures.knobs:
        return "no knob varies"
    figure = figures.sign * figures.levels[rows]
    num_better = int((figure > figure.min()).sum())
    if num_better < BEST * len(rows):
        return f"{len(rows) - num_better} of {len(rows)} configs have the same {figures.metric}"
    return ""


def _sample(figures: Figures) -> Rows:
    """Return at most :data:`MAX_CONFIGS` rows: those of the smallest keys, in their order.

    Keys are random sums with a fixed seed, so that the sample does not depend on the table's order.
    """
    rows = _rows(figures)
    order = np.argsort(figures.points.keys[rows], kind="stable")
    return rows[order[:MAX_CONFIGS]]


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
