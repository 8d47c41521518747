"""Ranges of the pictures' axes: what matters is in sight first, the rest on demand."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pandas as pd

from orchestrator.analysis.report.view import View
from orchestrator.analysis.rule import best_of, column_of, limit_of
from orchestrator.metrics import Objective

_LOG_FROM_RATIO: Final = 20.0
_PADDING: Final = 0.06
_BELOW: Final = 0.12
"""Room beyond the limit, as a share of the range that is shown."""

Range = list[float]


def shown_range(view: View, other: Objective) -> Range | None:
    """Return the figures to be shown: one diverged config must not flatten the rest."""
    values = view.all_configs[column_of(other)].dropna()
    if values.empty:
        return None
    sign, best = other.sign, best_of(other, values)
    behind = sign * (best - values)
    depth = max(20 * abs(best - limit_of(other, values)), 2.5 * float(behind.median()))
    if behind.max() <= 1.2 * depth:
        return None
    return sorted([float(best - sign * depth), float(best + sign * 0.06 * depth)])


def range_from_limit(view: View, other: Objective) -> Range | None:
    """Return a range of a condition's figures with its limit as the edge; None for all of them.

    The baseline and the recommended config stay in sight, wherever they are. Of a figure that is
    no condition the limit is the end of :func:`shown_range`.
    """
    column, sign = column_of(other), other.sign
    drawn = pd.concat([view.by_selecting_runs, view.by_confirm_runs], ignore_index=True)
    limit, values = limit_in(view, other), drawn[column].dropna()
    if values.empty:
        return None
    if limit is None:
        around = shown_range(view, other)
        if around is None:
            return None
        limit = around[0] if sign > 0 else around[1]
    marked = drawn["is_baseline"] | drawn["is_recommended"]
    end_of_bar = drawn.get(f"{column}_{'high' if sign > 0 else 'low'}", values).dropna()
    seen = [values[marked.loc[values.index]], values, end_of_bar]
    low = float((sign * pd.concat([seen[0], pd.Series([limit])])).min())
    high = float((sign * pd.concat(seen)).max())
    depth = (high - low) or abs(high) * _PADDING or 1.0
    low, high = low - _BELOW * depth, high + _PADDING * depth
    if float((sign * values).min()) >= low:
        return None
    return sorted([sign * low, sign * high])


def limit_in(view: View, other: Objective) -> float | None:
    """Return the worst figure that is recommended; None where the figure is no condition."""
    limits = view.rule.limits(view.all_configs) if len(view.all_configs) else {}
    limit = limits.get(other.metric)
    return None if limit is None or pd.isna(limit) else float(limit)


def are_hidden(configs: pd.DataFrame, column: str, shown: Range | None) -> pd.Series[bool]:
    """Return True for the configs whose figure lies outside a range."""
    values = configs.get(column, pd.Series(np.nan, index=configs.index))
    low, high = shown or (-np.inf, np.inf)
    return (values < low) | (values > high)


def speed_axis(rows: pd.DataFrame, column: str, hidden: pd.Series[bool]) -> dict[str, Any]:
    """Return scale and range, by the configs in sight: others must not press them together.

    Args:
        rows: The configs that are drawn.
        column: Their figure along the axis.
        hidden: Those out of sight.
    """
    seen = rows[~hidden]
    ends_of_bars = [seen.get(f"{column}_{end}", seen[column]) for end in ("low", "high")]
    values = pd.concat([seen[column], *ends_of_bars]).dropna()
    spread = len(values) > 1 and values.min() > 0 and values.max() / values.min() > _LOG_FROM_RATIO
    scale = "log" if spread else "linear"
    if not hidden.any() or values.empty:
        return {"type": scale}
    low, high = float(values.min()), float(values.max())
    ends = np.log10([low, high]) if spread else np.array([low, high])
    pad = _PADDING * float(ends[1] - ends[0] or abs(ends[1]) or 1.0)
    return {"type": scale, "range": [float(ends[0]) - pad, float(ends[1]) + pad]}
