"""Effects with their intervals, a line a row: what is shown lies beside the line of no effect."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping
from typing import Any, Final

import pandas as pd

from orchestrator.analysis.knobs.figures import Kind
from orchestrator.analysis.report.figures import Drawing, Figure, rows_axis
from orchestrator.analysis.report.sections.knobs.outcomes import (
    ALIKE,
    BETTER,
    OPEN,
    WORSE,
    Outcome,
    effect_text,
    ends_text,
    outcome_of,
    word_of,
)
from orchestrator.analysis.report.style import MUTED, axis
from orchestrator.analysis.report.view import View
from orchestrator.analysis.wording import is_share, short
from orchestrator.formats import counted

_MAX_TICKS: Final = 6
_STEPS: Final[tuple[tuple[float, ...], ...]] = (
    tuple(round(0.5 + 0.01 * step, 2) for step in range(100)),
    tuple(round(0.5 + 0.02 * step, 2) for step in range(60)),
    tuple(round(0.5 + 0.05 * step, 2) for step in range(30)),
    tuple(round(0.5 + 0.1 * step, 1) for step in range(20)),
    (0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0),
    (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0),
    (0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0),
    (1.0,),
)
"""Ticks of an axis of ratios, the closest first: the first that are few are taken."""


def change_text(row: Mapping[Any, Any]) -> str:
    """Return ``0 → 3``."""
    return f"{short(row['reference'])} → {short(row['value'])}"


def forest(view: View, rows: pd.DataFrame, metric: str) -> Figure:
    """Draw the effects on one figure with their intervals, a line a row.

    Args:
        view: The run.
        rows: Of :func:`main_effects`.
        metric: The figure.
    """
    own = rows[rows["metric"] == metric]
    is_ratio = bool((own["kind"] == Kind.RATIO).all())
    scale = 1.0 if is_ratio or not is_share(metric) else 100.0
    labels = [f"{row['knob']} {change_text(row)}" for row in own.to_dict("records")]
    outcomes = [outcome_of(row, view.rule) for row in own.to_dict("records")]
    figure = Drawing(height=130 + 26 * len(own), showlegend=True)
    for outcome in (BETTER, WORSE, ALIKE, OPEN):
        places = [place for place, one in enumerate(outcomes) if one is outcome]
        if places:
            some, word = own.iloc[places], word_of(outcome, metric, view.rule)
            names = [html.escape(labels[place]) for place in places]
            _add_marks(figure, some, names, word, scale, outcome)
    figure.line(1.0 if is_ratio else 0.0, along="y", color=MUTED, width=1)
    title = f"{metric}, times as much" if is_ratio else f"{metric}, more"
    unit = " (points)" if scale > 1 else ""
    scales = {"type": "log", **_ticks(own)} if is_ratio else {"type": "linear"}
    names = [html.escape(label) for label in labels]
    figure.axes(axis(f"{title}{unit}", **scales), rows_axis(names))
    return Figure(
        name=f"effects-{metric.replace('_', '-')}",
        drawing=figure,
        table=own.drop(columns="group"),
        caption=f"Each knob's effect on {metric}, with its 95 % interval. A mark without a bar has "
        "no interval.",
        label=_label(own, labels, view, metric),
    )


def _add_marks(
    figure: Drawing,
    rows: pd.DataFrame,
    names: list[str],
    word: str,
    scale: float,
    outcome: Outcome,
) -> None:
    ends = {
        "array": ((rows["high"] - rows["effect"]).fillna(0) * scale).tolist(),
        "arrayminus": ((rows["effect"] - rows["low"]).fillna(0) * scale).tolist(),
    }
    texts = [
        f"{effect_text(row['kind'], row['metric'], row['effect'])} "
        f"({ends_text(row['kind'], row['metric'], row['low'], row['high']) or 'no interval'}), "
        f"{counted(row['num_pairs'], 'pair')}"
        for row in rows.to_dict("records")
    ]
    bars = {"type": "data", "symmetric": False, "thickness": 1.5, "width": 4, **ends}
    figure.add(
        "scatter",
        x=(rows["effect"] * scale).tolist(),
        y=names,
        mode="markers",
        name=word,
        marker={"color": outcome.colour, "symbol": outcome.marker, "size": 11},
        error_x={**bars, "color": outcome.colour},
        text=texts,
        hovertemplate="%{y}<br>%{text}<extra>" + word + "</extra>",
    )


def _ticks(rows: pd.DataFrame) -> dict[str, Any]:
    """Return ticks of a logarithmic axis of ratios: few round ones within their range."""
    values = pd.concat([rows[name] for name in ("effect", "low", "high")]).dropna()
    low, high = min(float(values.min()), 1.0), max(float(values.max()), 1.0)
    pad = 1.02 * (high / low) ** 0.04
    low, high = low / pad, high * pad
    for steps in _STEPS:
        ticks = [step for step in steps if low <= step <= high]
        if len(ticks) <= _MAX_TICKS:
            break
    ends = [math.log10(low), math.log10(high)]
    return {"tickvals": ticks, "ticktext": [f"{tick:g}x" for tick in ticks], "range": ends}


def _label(rows: pd.DataFrame, labels: list[str], view: View, metric: str) -> str:
    row = rows.iloc[0].to_dict()
    return (
        f"The effect of each knob on {metric}; the first is {labels[0]}: "
        f"{effect_text(row['kind'], metric, row['effect'])}, "
        f"{word_of(outcome_of(row, view.rule), metric, view.rule)[2:]}."
    )
