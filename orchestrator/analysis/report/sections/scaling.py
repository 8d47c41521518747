"""Speed over a knob: configs that differ in it alone, beside what their ceilings allow."""

from __future__ import annotations

import html
from collections.abc import Hashable
from typing import Any, Final

import pandas as pd

from orchestrator.analysis.columns import config_of, params_of, rows_of
from orchestrator.analysis.report.figures import Drawing, Figure
from orchestrator.analysis.report.style import AMBER, BLUE, GREEN, MUTED, axis
from orchestrator.analysis.report.view import View
from orchestrator.analysis.wording import short
from orchestrator.formats import counted

MAX_FAMILIES: Final = 4
SPEED: Final = "metrics.samples_per_s"
CEILING: Final = "ceiling_samples_per_s"
_COLOURS: Final = (GREEN, BLUE, AMBER, MUTED)
_SYMBOLS: Final = ("circle", "square", "diamond", "triangle-up")


def scaling_figure(view: View, rows: pd.DataFrame) -> Figure:
    """Draw the speeds of each family of configs over the knob that they differ in.

    Args:
        view: The run.
        rows: Of ``an.scaling``: the knob's column comes first, ``family`` numbers the families.
    """
    column = str(rows.columns[0])
    knob = column.removeprefix("params.")
    kept = _families(view, rows)
    names = _names(view, rows[rows["family"].isin(kept)], column)
    figure = Drawing(height=400, hovermode="closest")
    for place, family in enumerate(kept):
        own = rows[rows["family"] == family].sort_values(column)
        style = {"colour": _COLOURS[place], "symbol": _SYMBOLS[place], "name": names[family]}
        _add_family(figure, own, column, **style)
    ticks = sorted(rows[column].dropna().unique().tolist())
    figure.axes(axis(knob, tickvals=ticks), axis("samples a second", rangemode="tozero"))
    left_out = rows["family"].nunique() - len(kept)
    others = f" {left_out} other sets of such configs are not drawn." if left_out else ""
    return Figure(
        name=f"scaling-{knob.replace('_', '-')}",
        drawing=figure,
        table=rows[rows["family"].isin(kept)],
        caption=f"Configs that differ in {knob} alone, with 95 % intervals. Dotted: the slower of "
        f"loader alone and model alone.{others}",
        label=f"Speed over {knob}, {counted(len(kept), 'line')} of configs alike but for it.",
    )


def _add_family(
    figure: Drawing, rows: pd.DataFrame, column: str, *, colour: str, symbol: str, name: str
) -> None:
    measured = rows[rows[SPEED].notna()]
    ends = {
        "array": (measured[f"{SPEED}_high"] - measured[SPEED]).fillna(0).tolist(),
        "arrayminus": (measured[SPEED] - measured[f"{SPEED}_low"]).fillna(0).tolist(),
    }
    texts = [_text(row) for row in measured.to_dict("records")]
    figure.add(
        "scatter",
        x=measured[column].tolist(),
        y=measured[SPEED].tolist(),
        mode="lines+markers",
        name=name,
        showlegend=True,
        line={"color": colour},
        marker={"color": colour, "symbol": symbol, "size": 9},
        error_y={"type": "data", "symmetric": False, "color": colour, "width": 4, **ends},
        text=texts,
        hovertemplate=f"{name}<br>%{{text}}<extra></extra>",
    )
    known = rows[rows[CEILING].notna()]
    if known.empty:
        return
    figure.add(
        "scatter",
        x=known[column].tolist(),
        y=known[CEILING].tolist(),
        mode="lines",
        name=f"ceiling: {name}",
        showlegend=False,
        line={"color": colour, "dash": "dot", "width": 1},
        hovertemplate=f"ceiling: %{{y:,.0f}} samples/s<extra>{name}</extra>",
    )


def _text(row: dict[Hashable, Any]) -> str:
    speed = f"{row[SPEED]:,.0f} samples/s"
    if pd.isna(row["speedup"]):
        return speed
    efficiency = "" if pd.isna(row["efficiency"]) else f", efficiency {row['efficiency']:.0%}"
    return f"{speed}, {row['speedup']:.2f}x{efficiency}"


def _families(view: View, rows: pd.DataFrame) -> list[Hashable]:
    """Return the families to draw: the recommended config's, the baseline's, then the largest."""
    config = view.findings.config
    first = rows.loc[rows_of(rows, config), "family"].tolist() if config else []
    first += rows.loc[rows_of(rows, view.sweep.baseline), "family"].tolist()
    sizes = rows["family"].value_counts(sort=True)
    return list(dict.fromkeys([*first, *sizes.index]))[:MAX_FAMILIES]


def _names(view: View, rows: pd.DataFrame, column: str) -> dict[Hashable, str]:
    """Return a name for each family: the knobs that tell the drawn ones apart."""
    first = rows.drop_duplicates("family")
    telling = [
        name.removeprefix("params.")
        for name in params_of(first)
        if name != column and first[name].nunique(dropna=False) > 1
    ]
    names = {}
    for row in first.to_dict("records"):
        config = config_of(row, view.sweep)
        text = " ".join(f"{name}={short(config[name])}" for name in telling)
        names[row["family"]] = html.escape(text or "measured")
    return names
