"""Speed over a knob: configs that differ in it alone, with the limits from their ceilings."""

from __future__ import annotations

import html
from collections.abc import Hashable
from typing import Final

import pandas as pd

from orchestrator.analysis.columns import params_of, rows_of
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
    first = drawn.drop_duplicates("family").set_index("family")
    telling = [c for c in params_of(first) if c != column and first[c].nunique(dropna=False) > 1]
    figure = Drawing(height=400, hovermode="closest")
    for family, (colour, symbol) in zip(families, _STYLES, strict=False):
        own = drawn[drawn["family"] == family].sort_values(column)
        words = [f"{c.removeprefix('params.')}={short(first.at[family, c])}" for c in telling]
        name = html.escape(" ".join(words) or "measured")
        measured, known = own[own[_SPEED].notna()], own[own[_CEILING].notna()]
        figure.add(
            "scatter",
            x=measured[column],
            y=measured[_SPEED],
            mode="lines+markers",
            name=name,
            showlegend=True,
            line={"color": colour},
            marker={"color": colour, "symbol": symbol, "size": 9},
            error_y=bars(measured, (_SPEED, f"{_SPEED}_low", f"{_SPEED}_high"), colour),
            customdata=measured["speedup"].map("{:.2f}x".format, na_action="ignore").fillna(""),
            hovertemplate=f"{name}<br>%{{y:,.0f}} samples/s %{{customdata}}<extra></extra>",
        )
        if len(known):
            figure.add(
                "scatter",
                x=known[column],
                y=known[_CEILING],
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
    )


def _families(view: View, rows: pd.DataFrame) -> list[Hashable]:
    """Return the families to draw: the recommended config's, the baseline's, then the largest."""
    singled = [config for config in (view.findings.config, view.sweep.baseline) if config]
    first = [family for c in singled for family in rows.loc[rows_of(rows, c), "family"].tolist()]
    sizes = rows["family"].value_counts(sort=True)
    return list(dict.fromkeys([*first, *sizes.index]))[:MAX_FAMILIES]
