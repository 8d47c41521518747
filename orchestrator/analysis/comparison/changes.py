"""Changes from one run to another, each against a tolerance, and the verdict on all of them.

The speed and the accuracy of each config are tested, and of all configs of a stage together. A
change is shown where its interval lies beyond the tolerance. These are many tests: Holm's
correction over all of them together keeps the chance of any false regression at 2.5 %, and that of
any false improvement as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from orchestrator.analysis.comparison.estimates import (
    SIGNIFICANCE,
    Estimates,
    Stages,
    median_interval,
    median_of,
)
from orchestrator.analysis.statistics.intervals import Floats, t_quantile
from orchestrator.analysis.statistics.matched_pairs import holm

TOLERANCE: Final = 0.03
"""Share of the speed by which a config may be slower before that is a regression."""

TOGETHER: Final = -1
"""In the column ``row``: all configs of the stage together."""

_TESTED: Final = ("change", "low", "high", "p_worse", "p_better")


class Verdict(StrEnum):
    """Result of the comparison of two runs, in the words that are shown."""

    REGRESSION = "regression"
    IMPROVEMENT = "improvement"
    WITHIN = "no change beyond the tolerance"
    NOT_DECIDED = "not decided"


@dataclass(frozen=True, kw_only=True)
class Tested:
    """Changes tested against a limit, an entry each.

    Attributes:
        change: Logarithms of ratios, or differences.
        low: Lower ends of their 95 % intervals; NaN where it is not known.
        high: Upper ends.
        p_worse: How likely so bad a change is where there is none beyond the limit; NaN where the
            error is not known.
        p_better: The same of so good a change.
        num_configs: Configs that each of them is of.
    """

    change: Floats
    low: Floats
    high: Floats
    p_worse: Floats
    p_better: Floats
    num_configs: int = 1


@dataclass(frozen=True, kw_only=True)
class Figure:
    """Changes of one figure from one run to the other, better being larger.

    Attributes:
        metric: Its name.
        is_ratio: True where the changes are logarithms of ratios, False where they are differences.
        limits: Change of each row that is tolerated, either way, on the scale of the changes.
        rows: Change of each config and stage; NaN where the figure was not measured.
        own: The same beyond what the others of the stage did; None where a figure does not depend
            on the host, so that this is no question.
        together: Change of all configs of each stage; see :func:`together`.
    """

    metric: str
    is_ratio: bool
    limits: Floats
    rows: Estimates
    own: Estimates | None
    together: Mapping[str, Tested]


def against(changes: Estimates, limits: Floats | float, *, num_configs: int = 1) -> Tested:
    """Return each change with its 95 % interval and its one-sided p values."""
    from scipy.special import stdtr

    logs = changes.logs
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.sqrt(changes.variances)
        half = t_quantile(changes.df) * error
        return Tested(
            change=logs,
            low=logs - half,
            high=logs + half,
            p_worse=stdtr(changes.df, (logs + limits) / error),
            p_better=stdtr(changes.df, (limits - logs) / error),
            num_configs=num_configs,
        )


def together(rows: Estimates, limits: Floats) -> Tested:
    """Return the median of several changes, tested.

    Where the error of any is known those alone count, else the order of the changes, by a sign
    test.
    """
    limit = float(np.median(limits))
    known = rows.known
    if len(known):
        return against(median_of(known), limit, num_configs=len(known))
    from scipy.special import bdtr

    logs, count = rows.logs, len(rows)
    low, high = median_interval(logs)
    return Tested(
        change=np.array([np.median(logs)]),
        low=np.array([low]),
        high=np.array([high]),
        p_worse=np.array([bdtr(float((logs >= -limit).sum()), count, 0.5)]),
        p_better=np.array([bdtr(float((logs <= limit).sum()), count, 0.5)]),
        num_configs=count,
    )


def together_by_stage(rows: Estimates, stages: Stages, limits: Floats) -> dict[str, Tested]:
    """Return :func:`together` for each stage whose rows have the figure."""
    measured = ~np.isnan(rows.logs)
    return {
        str(stage): together(rows[here], limits[here])
        for stage in dict.fromkeys(stages)
        if (here := (stages == stage) & measured).any()
    }


def judged(figures: Sequence[Figure], stages: Stages) -> pd.DataFrame:
    """Return every change with its verdict.

    Args:
        figures: What was compared.
        stages: Stage of each row.

    Returns:
        One row a figure, stage and config, and one for its configs together: ``stage, metric,
        row`` (:data:`TOGETHER` for the latter), ``num_configs``, ``is_ratio``; the ``change`` with
        its interval ``low, high`` and the tolerated ``limit_low, limit_high``: ratios second over
        first, or differences, better being larger; ``p_worse, p_better`` after Holm's correction;
        the ``verdict``.
    """
    parts = [part for figure in figures for part in _parts(figure, stages)]
    cells = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    cells |= {name: holm(cells[name]) for name in ("p_worse", "p_better")}
    limits = cells.pop("limit")
    is_within = (cells["low"] >= -limits) & (cells["high"] <= limits)
    shown = [cells[p] < SIGNIFICANCE / 2 for p in ("p_worse", "p_better")]
    names = [str(v) for v in (Verdict.REGRESSION, Verdict.IMPROVEMENT, Verdict.WITHIN)]
    verdicts = np.select([*shown, is_within], names, default=str(Verdict.NOT_DECIDED))
    cells |= {"verdict": verdicts.astype(np.object_), "limit_low": -limits, "limit_high": limits}
    for name in ("change", "low", "high", "limit_low", "limit_high"):
        cells[name] = np.where(cells["is_ratio"], np.exp(cells[name]), cells[name])
    return pd.DataFrame(cells)


def _parts(figure: Figure, stages: Stages) -> Iterator[dict[str, npt.NDArray[Any]]]:
    """Yield the columns of what all configs of a stage did, then of each config alone.

    A config that is the only one of its stage is all of them.
    """
    rows = against(figure.rows, figure.limits)
    if figure.own is not None:
        # A config is slower only where it is so beyond what the host did to all of them.
        own = against(figure.own, 0.0)
        rows = replace(
            rows,
            p_worse=np.maximum(rows.p_worse, own.p_worse),
            p_better=np.maximum(rows.p_better, own.p_better),
        )
    measured = ~np.isnan(rows.change)
    for stage, of_all in figure.together.items():
        here = np.flatnonzero((stages == stage) & measured)
        same = {"stage": stage, "metric": figure.metric, "is_ratio": figure.is_ratio}
        whole = {name: getattr(of_all, name) for name in _TESTED}
        limit, num = np.array([np.median(figure.limits[here])]), of_all.num_configs
        yield _columns(same | {"num_configs": num}, whole | {"limit": limit}, np.array([TOGETHER]))
        if len(here) > 1:
            each = {name: getattr(rows, name)[here] for name in _TESTED}
            limits = figure.limits[here]
            yield _columns(same | {"num_configs": 1}, each | {"limit": limits}, here)


def _columns(
    same: Mapping[str, Any], cells: dict[str, Floats], rows: npt.NDArray[np.intp]
) -> dict[str, npt.NDArray[Any]]:
    kinds = {name: np.object_ if isinstance(value, str) else None for name, value in same.items()}
    repeated = {n: np.full(len(rows), value, dtype=kinds[n]) for n, value in same.items()}
    return {**repeated, "row": rows, **cells}


def verdict_of(changes: pd.DataFrame) -> Verdict:
    """Return the verdict on all changes together: a regression before anything else."""
    verdicts = set(changes["verdict"])
    for verdict in (Verdict.REGRESSION, Verdict.IMPROVEMENT, Verdict.NOT_DECIDED):
        if verdict in verdicts:
            return verdict
    return Verdict.WITHIN
