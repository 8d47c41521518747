"""Importance of the knobs for a good figure, by PED-ANOVA."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd

from orchestrator.analysis.knobs.effects import MAX_VALUES
from orchestrator.analysis.knobs.figures import Figures
from orchestrator.analysis.statistics.matched_pairs import Floats, Rows
from orchestrator.formats import counted

if TYPE_CHECKING:
    from optuna import Study
    from optuna.distributions import BaseDistribution

MIN_CONFIGS: Final = 50
"""With fewer, the best tenth that PED-ANOVA looks at are fewer than the five it asks for."""
MAX_CONFIGS: Final = 10_000
BEST: Final = 0.1
"""Share of the configs that count as good: Optuna's default."""
_WIDE: Final = 20.0

COLUMNS: Final = (
    "knob",
    "importance",
    "metric",
    "num_configs",
    "composed",
    "contaminated",
    "group",
)


def importance_in(asked: Sequence[Figures]) -> pd.DataFrame:
    """Return the importance of each varied knob for being among the best tenth of the configs.

    Of the first group alone: speeds of another one are not comparable.

    PED-ANOVA as Optuna has it (Watanabe, Bansal and Hutter, "PED-ANOVA: Efficiently quantifying
    hyperparameter importance in arbitrary subspaces", IJCAI 2023), of at most
    :data:`MAX_CONFIGS` configs, always the same. Importances are shares of 1. They tell
    neither a direction nor how sure they are, and of two knobs that vary together they cannot
    tell which one matters.

    Returns:
        ``knob, importance, metric, num_configs, composed, contaminated, group``, the most important
        first. Empty below :data:`MIN_CONFIGS` configs; ``attrs["note"]`` says so.
    """
    return importances_in([asked])[0]


def importances_in(asked: Sequence[Sequence[Figures]]) -> list[pd.DataFrame]:
    """Return :func:`importance_in` of each of several figures; of one set of configs one study."""
    tables: list[pd.DataFrame] = []
    cells: dict[str, list[Any]] | None = None
    for groups in asked:
        if note := _none_since(groups):
            tables.append(pd.DataFrame(columns=list(COLUMNS)))
            tables[-1].attrs["note"] = note
            continue
        figures, rows = groups[0], _sample(groups[0])
        now = {name: _cells(figures, name, rows) for name in figures.knobs}
        if now != cells:
            cells, study = now, _study(now)
        tables.append(_table(figures, rows, _ped_anova(study, _to_minimise(figures, rows))))
    return tables


def _table(figures: Figures, rows: Rows, shares: Mapping[str, float]) -> pd.DataFrame:
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
    table.attrs["note"] = f"of {len(rows):,} configs of {int(figures.known.sum()):,}"
    return table


def _rows(figures: Figures) -> Rows:
    """Return the configs with a figure: those of clean runs where they are enough."""
    clean = np.flatnonzero(figures.known & ~figures.contaminated)
    return clean if len(clean) >= MIN_CONFIGS else np.flatnonzero(figures.known)


def _none_since(asked: Sequence[Figures]) -> str:
    """Return why there is no importance; "" where there is one."""
    if not asked:
        return "too few: no config completed"
    figures, rows = asked[0], _rows(asked[0])
    if len(rows) < MIN_CONFIGS:
        have = f"{counted(len(rows), 'config')} {'has' if len(rows) == 1 else 'have'}"
        return f"too few: {have} {figures.metric}, {MIN_CONFIGS} are needed"
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


def _study(cells: Mapping[str, list[Any]]) -> Study:
    """Return a study whose trials are configs, in their order; what they showed is not in it."""
    import optuna

    distributions = {name: _distribution(values) for name, values in cells.items()}
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        study = optuna.create_study()
    finally:
        optuna.logging.set_verbosity(verbosity)
    configs = (
        dict(zip(cells, values, strict=True)) for values in zip(*cells.values(), strict=True)
    )
    study.add_trials(
        optuna.create_trial(params=config, distributions=distributions, value=0.0)
        for config in configs
    )
    return study


def _ped_anova(study: Study, figures: Floats) -> dict[str, float]:
    from optuna.importance import PedAnovaImportanceEvaluator, get_param_importances

    with warnings.catch_warnings():  # it says that lower figures are better, which these are
        warnings.simplefilter("ignore", UserWarning)
        return get_param_importances(
            study,
            evaluator=PedAnovaImportanceEvaluator(target_quantile=BEST),
            target=lambda trial: float(figures[trial.number]),
        )


def _to_minimise(figures: Figures, rows: Rows) -> Floats:
    return -figures.sign * figures.levels[rows]


def _cells(figures: Figures, name: str, rows: Rows) -> list[Any]:
    values = figures.points.values[name]
    return [values[code] for code in figures.points.codes[name][rows].tolist()]


def _distribution(values: list[Any]) -> BaseDistribution:
    """Return the distribution of a knob: a range where it has more values than may be listed."""
    from optuna.distributions import CategoricalDistribution, FloatDistribution

    distinct = sorted(set(values), key=lambda value: (str(type(value)), value))
    is_number = all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in distinct)
    if len(distinct) <= MAX_VALUES or not is_number:
        return CategoricalDistribution(distinct)
    low, high = float(distinct[0]), float(distinct[-1])
    return FloatDistribution(low, high, log=low > 0 and high / low > _WIDE)
