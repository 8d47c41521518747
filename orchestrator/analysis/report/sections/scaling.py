"""Over one knob: what more ranks, GPUs or samples a step save and cost; speeds with ceilings."""

import html
from typing import Final

import pandas as pd

from orchestrator.analysis.columns import TableError, params_of, rows_of
from orchestrator.analysis.knobs.scaling import scaling, target_of, turning_point
from orchestrator.analysis.report import tables
from orchestrator.analysis.report.drawing import Colour, Figure, axis, bars
from orchestrator.analysis.report.view import View
from orchestrator.analysis.rule import SPEED, TIME
from orchestrator.analysis.wording import interval_text, short, shown

KNOBS: Final = ("nodes", "gpus", "num_gpus", "ranks", "batch_size")
"""Knobs by which a training grows; the first that varies has the section."""

_CEILING: Final = "ceiling_samples_per_s"
_FAMILIES: Final = (
    (Colour.GREEN, "circle"),
    (Colour.BLUE, "square"),
    (Colour.AMBER, "diamond"),
    (Colour.MUTED, "triangle-up"),
)
"""Colour and symbol of each family of configs."""
MAX_FAMILIES: Final = len(_FAMILIES)


def scaling_of(view: View) -> tables.Section | None:
    """Return the section on the first of :data:`KNOBS` that varies; None if none got there."""
    configs, curves = view.all_configs, view.tables.whole_curves
    varied = [k for k in KNOBS if f"params.{k}" in configs and configs[f"params.{k}"].nunique() > 1]
    if not varied or view.rule.accuracy_column not in curves:
        return None
    knob, metric = varied[0], view.rule.accuracy.metric
    target = target_of(None, view.tables, "scaling")
    try:
        rows = scaling(view.tables, knob, best=True)
    except TableError:  # a knob of texts, or no speeds
        return None
    if rows[TIME].notna().sum() < 2:
        return None
    figures = ("device_s", "energy_j", "cost", metric)
    rows = rows.assign(**{f"metrics.{name}": rows[name] for name in figures[:3]})
    records, time = rows.to_dict("records"), TIME.removeprefix("metrics.")
    leading, rest = tables.knob_columns(view, records)
    cells = dict([*leading, *rest])
    names = [knob, *(n for n in cells if n != knob and rows[f"params.{n}"].nunique(False) > 1)]
    knobs = [(name, cells[name]) for name in names]
    table = tables.table_of(
        records,
        [
            *knobs[: tables.MAX_KNOBS],
            *tables.figure_columns([time]),
            (tables.INTERVAL, lambda row: tables.Cell(interval_text(row, time))),
            *tables.figure_columns(tables.measured(rows, figures)),
            ("the step pays", lambda row: tables.Cell(row["pays"])),
            *knobs[tables.MAX_KNOBS :],
        ],
        num_rest=max(len(knobs) - tables.MAX_KNOBS, 0),
    )
    return tables.Section(
        "scaling",
        f"time to {metric} {shown(metric, target)} by {knob}",
        level=3,
        lines=(_point_text(rows, knob),),
        table=table,
        notes=(_HOW.format(knob=knob),),
        figures=(scaling_figure(view, rows, TIME),),
    )


_HOW: Final = (
    "each row is the config with this {knob} that got there first of those tried; a device is a "
    "GPU or, without any, a core. A step pays if it saves a larger share of the time than it adds "
    "to the device-seconds"
)


def _point_text(rows: pd.DataFrame, knob: str) -> str:
    """Return from which value on no step pays, as far as that is known."""
    values, point, last = rows[f"params.{knob}"], turning_point(rows), rows.iloc[-1]
    largest = f"{knob}={short(values.iloc[-1])}"
    if point is None:
        return f"no step up to {largest} is shown to cost more than it saves"
    own = rows[values == point].iloc[0]
    text = f"from {knob}={short(own[f'params.{knob}'])} on, each step costs more than it saves"
    if pd.isna(last[TIME]):
        return f"{text}: {largest} did not get there"
    faster, dearer = own[TIME] / last[TIME], last["device_s"] / own["device_s"]
    return f"{text}: {largest} is {faster:.2f}x as fast for {dearer:.2f}x the device-seconds"


def scaling_figure(view: View, rows: pd.DataFrame, on: str = SPEED) -> Figure:
    """Draw the speeds of each family of configs over the knob in which they differ.

    The recommended config's family comes first, then the baseline's, then the largest.

    Args:
        view: The run.
        rows: From ``an.scaling``: the knob's column comes first, ``family`` numbers the families.
        on: Column of the speed; or of the time, of the config of each value that got there first.
    """
    column = str(rows.columns[0])
    knob = column.removeprefix("params.")
    singled = [config for config in (view.findings.config, view.sweep.baseline) if config]
    leading = [family for c in singled for family in rows.loc[rows_of(rows, c), "family"].tolist()]
    every = list(dict.fromkeys([*leading, *rows["family"].value_counts(sort=True).index]))
    families = every[:MAX_FAMILIES]
    drawn = rows[rows["family"].isin(families)]
    first = drawn.drop_duplicates("family").set_index("family")
    telling = [c for c in params_of(first) if c != column and first[c].nunique(dropna=False) > 1]
    left_out = len(every) - len(families)
    others = f" {left_out} other sets of such configs are not drawn." if left_out else ""
    caption = (
        f"Configs that differ in {knob} alone, with 95 % intervals. Dotted: the slower of loader "
        f"alone and model alone.{others}"
    )
    place, title = f"scaling-{knob}", "samples a second"
    hover = "%{y:,.0f} samples/s %{customdata}"
    if on != SPEED:
        place, caption = f"{place}-time", "With 95 % intervals."
        title, hover = "time to it (s)", "%{y:.4g} s"
    figure = Figure(place, drawn, caption, height=400, hovermode="closest")
    for family, (colour, symbol) in zip(families, _FAMILIES, strict=False):
        own = drawn[drawn["family"] == family].sort_values(column)
        words = [f"{c.removeprefix('params.')}={short(first.at[family, c])}" for c in telling]
        name = html.escape(" ".join(words) or "measured")
        measured, known = own[own[on].notna()], own[own[_CEILING].notna() & (on == SPEED)]
        figure.add(
            "scatter",
            x=measured[column],
            y=measured[on],
            mode="lines+markers",
            name=name,
            showlegend=True,
            line={"color": colour},
            marker={"color": colour, "symbol": symbol, "size": 9},
            error_y=bars(measured, (on, f"{on}_low", f"{on}_high"), colour),
            customdata=measured["speedup"].map("{:.2f}x".format, na_action="ignore").fillna(""),
            hovertemplate=f"{name}<br>{hover}<extra></extra>",
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
    figure.axes(axis(knob, tickvals=ticks), axis(title, rangemode="tozero"))
    return figure
