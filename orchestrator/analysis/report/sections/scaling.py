"""Speed over a knob: configs that differ in it alone, with the limits from their ceilings."""

from __future__ import annotations

import html
from collections.abc import Hashable
from typing import Any, Final

import pandas as pd

from orchestrator.analysis.columns import config_of, params_of, rows_of
from orchestrator.analysis.report.drawing import (
    AMBER,
    BLUE,
    GREEN,
    MUTED,
    Drawing,
    Figure,
    axis,
    bars,
)
from orchestrator.analysis.report.view import View
from orchestrator.analysis.wording import short
from orchestrator.formats import counted

_SPEED: Final = "metrics.samples_per_s"
_CEILING: Final = "ceiling_samples_per_s"
_STYLES: Final = (
    (GREEN, "circle"), (BLUE, "square"), (AMBER, "diamond"), (MUTED, "triangle-up"),
)  # fmt: skip
"""Colour and symbol of each family."""
MAX_FAMILIES: Final = len(_STYLES)


def scaling_figure(view: View, rows: pd.DataFrame) -> Figure:
    """Draw the speeds of each family of configs over the knob in which they differ.

    Args:
        view: The run.
        rows: From ``an.scaling``: the knob's column comes first, ``family`` numbers the families.
    """
    column = str(rows.columns[0])
    knob, families = column.removeprefix("params."), _families(view, rows)
    drawn = rows[rows["family"].isin(families)]
    names = _names(view, drawn, column)
    figure = Drawing(height=400, hovermode="closest")
    for family, (colour, symbol) in zip(families, _STYLES, strict=False):
        own, name = drawn[drawn["family"] == family].sort_values(column), names[family]
        measured, known = own[own[_SPEED].notna()], own[own[_CEILING].notna()]
        figure.add(
            "scatter",
            x=measured[column].tolist(),
            y=measured[_SPEED].tolist(),
            mode="lines+markers",
            name=name,
            showlegend=True,
            line={"color": colour},
            marker={"color": colour, "symbol": symbol, "size": 9},
            error_y=bars(measured, (_SPEED, f"{_SPEED}_low", f"{_SPEED}_high"), colour),
            text=[_text(row) for row in measured.to_dict("records")],
            hovertemplate=f"{name}<br>%{{text}}<extra></extra>",
        )
        if len(known):
            figure.add(
                "scatter",
                x=known[column].tolist(),
                y=known[_CEILING].tolist(),
                mode="lines",
                name=f"ceiling: {name}",
                showlegend=False,
                line={"color": colour, "dash": "dot", "width": 1},
                hovertemplate=f"ceiling: %{{y:,.0f}} samples/s<extra>{name}</extra>",
            )
    ticks = sorted(rows[column].dropna().unique().tolist())
    figure.axes(axis(knob, tickvals=ticks), axis("samples a second", rangemode="tozero"))
    left_out = rows["family"].nunique() - len(families)
    others = f" {left_out} other sets of such configs are not drawn." if left_out else ""
    return Figure(
        name=f"scaling-{knob.replace('_', '-')}",
        drawing=figure,
        table=drawn,
        caption=f"Configs that differ in {knob} alone, with 95 % intervals. Dotted: the slower of "
        f"loader alone and model alone.{others}",
        label=f"Speed over {knob}, {counted(len(families), 'line')} of configs alike but for it.",
    )


def _text(row: dict[Hashable, Any]) -> str:
    speed = f"{row[_SPEED]:,.0f} samples/s"
    if pd.isna(row["speedup"]):
        return speed
    efficiency = "" if pd.isna(row["efficiency"]) else f", efficiency {row['efficiency']:.0%}"
    return f"{speed}, {row['speedup']:.2f}x{efficiency}"


def _families(view: View, rows: pd.DataFrame) -> list[Hashable]:
    """Return the families to draw: the recommended config's, the baseline's, then the largest."""
    singled = [config for config in (view.findings.config, view.sweep.baseline) if config]
    first = [family for c in singled for family in rows.loc[rows_of(rows, c), "family"].tolist()]
    sizes = rows["family"].value_counts(sort=True)
    return list(dict.fromkeys([*first, *sizes.index]))[:MAX_FAMILIES]


def _names(view: View, rows: pd.DataFrame, column: str) -> dict[Hashable, str]:
    """Return a name for each family: the knobs that distinguish the drawn families."""
    first = rows.drop_duplicates("family")
    telling = [c for c in params_of(first) if c != column and first[c].nunique(dropna=False) > 1]
    names = {}
    for row in first.to_dict("records"):
        config = config_of(row, view.sweep)
        knobs = [name.removeprefix("params.") for name in telling]
        text = " ".join(f"{name}={short(config[name])}" for name in knobs)
        names[row["family"]] = html.escape(text or "measured")
    return names
