"""What each knob does, by matched pairs: configs that differ in this knob alone."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from analysis.columns import params_of
from analysis.comparable import ALL
from analysis.knobs.effects import Verdict, knob_effects
from analysis.knobs.figures import Kind
from analysis.report.figures import Figure
from analysis.report.sections.outcomes import (
    ALIKE,
    BETTER,
    OPEN,
    WORSE,
    composed_legend,
    effect_cell,
    effect_text,
    ends_text,
    outcome_of,
    quality_of,
    why,
    word_of,
)
from analysis.report.sections.section import Section, rows_axis
from analysis.report.style import MUTED, axis, layout
from analysis.report.tables import Cell, Table
from analysis.report.view import View
from analysis.wording import counted, is_share, short

MAX_ROWS: Final = 24

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

_TITLE: Final = "What each knob does"
_HOW: Final = (
    "a pair is two configs that differ in this knob alone; the effect is the mean over the pairs, "
    "geometric where it is a ratio",
    "systems knobs are looked at on the speed, learning knobs on the accuracy, the others on both: "
    "by its role a knob changes nothing else",
    "the interval holds the effect in 95 % of cases; it rests on the repeats of the configs and on "
    "how much the pairs differ",
    "a verdict other than 'not decided' holds for all rows together at 95 % (Holm's method)",
    "'as fast within' a margin: the whole interval lies within it",
)


def effects_of(view: View) -> Section:
    """Return the section on the knobs."""
    effects = main_effects(view)
    section = partial(Section, name="effects", title=_TITLE)
    if effects.empty:
        return section(missing=_why_none(view))
    rows, left_out = _shown(effects[effects["num_pairs"] > 0])
    notes = [*composed_legend(rows), *_without_pairs(effects), *_left_out(left_out)]
    if rows.empty:
        return section(missing="; ".join(notes))
    figures = [forest(view, rows, metric) for metric in rows["metric"].unique()]
    return section(
        table=_table(rows, view),
        notes=tuple(notes),
        figures=tuple(figures),
        folded=(("how these are made", _HOW),),
    )


def main_effects(view: View) -> pd.DataFrame:
    """Return the effects of the main group, by role: the rows of ``an.effects(run)``."""
    effects = knob_effects(view.tables)
    return effects[effects["group"].isin([view.tables.main_group, ALL])]


def main_rows(effects: pd.DataFrame, view: View) -> pd.DataFrame:
    """Return the rows that the section shows of a table of effects."""
    main = effects["group"].isin([view.tables.main_group, ALL])
    return _shown(effects[main & (effects["num_pairs"] > 0)])[0]


def _shown(effects: pd.DataFrame) -> tuple[pd.DataFrame, int]:
    """Return the rows to show, knob by knob, the largest effects first; and how many others."""
    first = effects.groupby(["knob", "metric"], sort=False)["reference"].transform("first")
    rows = effects[effects["reference"].astype("str") == first.astype("str")]
    nothing = np.where(rows["kind"] == Kind.RATIO, 1.0, 0.0)
    size = np.where(
        rows["kind"] == Kind.RATIO,
        np.abs(np.log(rows["effect"].clip(lower=1e-9).to_numpy(dtype=np.float64))),
        np.abs(rows["effect"].to_numpy(dtype=np.float64) - nothing),
    )
    is_shown = rows["verdict"].isin([Verdict.HIGHER, Verdict.LOWER])
    rows = rows.assign(size=size, sure=is_shown)
    of_knob = rows.groupby(["metric", "knob"], sort=False)
    order = rows.assign(
        metric_place=pd.factorize(rows["metric"])[0],
        any_sure=of_knob["sure"].transform("max"),
        largest=of_knob["size"].transform("max"),
    ).sort_values(
        ["metric_place", "any_sure", "largest"], ascending=[True, False, False], kind="stable"
    )
    kept = order.head(MAX_ROWS)
    return kept[effects.columns], len(effects) - len(kept)


def _table(rows: pd.DataFrame, view: View) -> Table:
    cells = tuple(
        (
            Cell(text=str(row["knob"])),
            Cell(text=change_text(row)),
            Cell(text=str(row["metric"])),
            effect_cell(row),
            Cell(text=ends_text(row["kind"], row["metric"], row["low"], row["high"]) or why(row)),
            Cell(text=f"{row['num_pairs']:,}", number=float(row["num_pairs"])),
            Cell(text=word_of(outcome_of(row, view.rule), row["metric"], view.rule)),
        )
        for row in rows.to_dict("records")
    )
    return Table(
        head=("knob", "change", "of", "effect", "95 % interval", "pairs", "verdict"),
        rows=cells,
        marks=("",) * len(cells),
    )


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
    figure = go.Figure(layout=layout(height=105 + 26 * len(own), showlegend=True))
    for outcome in (BETTER, WORSE, ALIKE, OPEN):
        places = [place for place, one in enumerate(outcomes) if one is outcome]
        if places:
            some, word = own.iloc[places], word_of(outcome, metric, view.rule)
            names = [html.escape(labels[place]) for place in places]
            figure.add_trace(_marks(some, names, word, scale))
            figure.data[-1].marker = {"color": outcome.colour, "symbol": outcome.marker, "size": 11}
            figure.data[-1].error_x.color = outcome.colour
    figure.add_vline(1.0 if is_ratio else 0.0, line={"color": MUTED, "width": 1}, layer="below")
    title = f"{metric}, times as much" if is_ratio else f"{metric}, more"
    unit = " (points)" if scale > 1 else ""
    figure.update_xaxes(**axis(f"{title}{unit}", type="log" if is_ratio else "linear"))
    if is_ratio:
        figure.update_xaxes(**_ticks(own))
    names = [html.escape(label) for label in labels]
    figure.update_yaxes(**rows_axis(names))
    return Figure(
        name=f"effects-{metric.replace('_', '-')}",
        figure=figure,
        table=own.drop(columns="group"),
        caption=f"Each knob's effect on {metric}, with its 95 % interval. A mark without a bar has "
        "no interval.",
        label=_label(own, labels, view, metric),
    )


def _marks(rows: pd.DataFrame, names: list[str], word: str, scale: float) -> go.Scatter:
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
    return go.Scatter(
        x=(rows["effect"] * scale).tolist(),
        y=names,
        mode="markers",
        name=word,
        error_x={"type": "data", "symmetric": False, "thickness": 1.5, "width": 4, **ends},
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


def _without_pairs(effects: pd.DataFrame) -> list[str]:
    """Return sentences on the knobs of which nothing can be said, and why."""
    texts = {
        Verdict.NO_PAIR: "no two configs differ in {knobs} alone, so that what it does to {metric} "
        "is not known",
        Verdict.SAME_RUNS: "with other values of {knobs} {metric} is composed of the same runs: "
        "by its role a knob like this does not change it",
    }
    sentences = []
    for verdict, text in texts.items():
        rows = effects[effects["verdict"] == verdict]
        for metric, some in rows.groupby("metric", sort=False):
            knobs = ", ".join(some["knob"])
            sentences.append(text.format(knobs=knobs, metric=metric))
    return sentences


def _left_out(number: int) -> list[str]:
    if not number:
        return []
    return [f"{counted(number, 'other pair')} of values: an.effects(run) has them all"]


def _why_none(view: View) -> str:
    configs = view.all_configs
    if len(configs) < 2:
        return "a single config completed: there is nothing to compare it with"
    if not any(configs[column].nunique() > 1 for column in params_of(configs)):
        return "no knob varied among the configs that completed"
    word = quality_of(view.rule.speed.metric, view.rule)
    figure = "speed" if word == "fast" else view.rule.speed.metric
    return f"no knob varied that changes the {figure} or the accuracy by its role"
