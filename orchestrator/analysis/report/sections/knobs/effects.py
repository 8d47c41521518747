"""Effect of each knob by matched pairs, configs that differ in it alone; and its importance."""

from __future__ import annotations

import html
from typing import Final

import numpy as np
import pandas as pd

from orchestrator.analysis.comparable import ALL
from orchestrator.analysis.knobs.effects import Verdict, effects_in
from orchestrator.analysis.knobs.figures import Kind
from orchestrator.analysis.knobs.importance import importance_in
from orchestrator.analysis.knobs.of_run import figures_by_role, figures_of
from orchestrator.analysis.report.drawing import (
    AMBER,
    BLUE,
    Drawing,
    Figure,
    axis,
    bars,
    rows_axis,
)
from orchestrator.analysis.report.sections.knobs.outcomes import (
    OUTCOMES,
    effect_cells,
    effect_text,
    ends_text,
    is_too_wide,
    legend_of,
    outcome_of,
    word_of,
)
from orchestrator.analysis.report.tables import (
    INTERVAL,
    Cell,
    Row,
    Section,
    Table,
    count_cell,
    measured,
)
from orchestrator.analysis.report.view import View
from orchestrator.analysis.wording import is_share, short
from orchestrator.formats import counted

MAX_ROWS: Final = 24
_MAX_BARS: Final = 15

_HOW: Final = (
    "a pair is two configs that differ in this knob alone; the effect is the mean over the pairs, "
    "geometric where it is a ratio",
    "systems knobs are looked at on the speed, learning knobs on what was learned, the others on "
    "both: by its role a knob changes nothing else",
    "the interval holds the effect in 95 % of cases; it rests on the repeats of the configs and on "
    "how much the pairs differ",
    "a verdict other than 'not decided' holds for all rows together at 95 % (Holm's method)",
    "'as fast within' a margin: the whole interval lies within it",
    "what two knobs bring together: an.interactions(run)",
)
_WITHOUT_PAIR: Final = {
    Verdict.NO_PAIR: "no two configs differ in {knobs} alone, so that what it does to {metric} is "
    "not known",
    Verdict.SAME_RUNS: "configs that differ in {knobs} alone have the same runs for {metric}: by "
    "its role a knob like this does not change it",
}


def effects_of(view: View) -> Section:
    """Return the section on the knobs."""
    name, title, effects = "effects", "What each knob does", main_effects(view)
    if effects.empty:
        return Section(name, title, missing=_why_none(view))
    with_pairs = effects[effects["num_pairs"] > 0]
    rows = _shown(with_pairs)
    notes = legend_of(rows)
    for verdict, text in _WITHOUT_PAIR.items():
        for metric, some in effects[effects["verdict"] == verdict].groupby("metric", sort=False):
            notes.append(text.format(knobs=" alone or in ".join(some["knob"]), metric=metric))
    if left_out := len(with_pairs) - len(rows):
        notes.append(f"{counted(left_out, 'other pair')} of values: an.effects(run) has them all")
    if rows.empty:
        return Section(name, title, missing="; ".join(notes))
    drawn = _drawn(rows)
    return Section(
        name,
        title,
        table=_table(rows, view),
        notes=tuple(notes),
        figures=tuple(forest(view, drawn, metric) for metric in drawn["metric"].unique()),
        folded=(("how these are made", _HOW),),
    )


def main_effects(view: View) -> pd.DataFrame:
    """Return the effects of the main group, by role: the rows of ``an.effects(run)``."""
    effects = effects_in(figures_by_role(view.tables))
    return effects[effects["group"].isin([view.tables.main_group, ALL])]


def main_rows(effects: pd.DataFrame, view: View) -> pd.DataFrame:
    """Return the rows that the section draws of a table of effects."""
    main = effects["group"].isin([view.tables.main_group, ALL])
    return _drawn(_shown(effects[main & (effects["num_pairs"] > 0)]))


def _drawn(rows: pd.DataFrame) -> pd.DataFrame:
    are_hidden = [is_too_wide(row) for row in rows.to_dict("records")]
    return rows[~pd.Series(are_hidden, index=rows.index, dtype="bool")]


def _shown(effects: pd.DataFrame) -> pd.DataFrame:
    """Return the rows to show, knob by knob, those with a verdict and the largest effects first."""
    first = effects.groupby(["knob", "metric"], sort=False)["reference"].transform("first")
    rows = effects[effects["reference"].astype("str") == first.astype("str")]
    values = rows["effect"].to_numpy(dtype=np.float64)
    logs = np.log(values.clip(min=1e-9))
    size = np.abs(np.where(rows["kind"] == Kind.RATIO, logs, values))
    rows = rows.assign(size=size, sure=rows["verdict"].isin([Verdict.HIGHER, Verdict.LOWER]))
    of_knob = rows.groupby(["metric", "knob"], sort=False)
    order = rows.assign(
        place=pd.factorize(rows["metric"])[0],
        any_sure=of_knob["sure"].transform("max"),
        largest=of_knob["size"].transform("max"),
    ).sort_values(["place", "any_sure", "largest"], ascending=[True, False, False], kind="stable")
    return order.head(MAX_ROWS)[effects.columns]


def _change_text(row: Row) -> str:
    return f"{short(row['reference'])} → {short(row['value'])}"


def _table(rows: pd.DataFrame, view: View) -> Table:
    cells = []
    for row in rows.to_dict("records"):
        effect, ends, verdict = effect_cells(row, view.rule)
        texts = (str(row["knob"]), _change_text(row), str(row["metric"]))
        knob = [Cell(text) for text in texts]
        cells.append((*knob, effect, ends, count_cell(row["num_pairs"]), verdict))
    head = ("knob", "change", "of", "effect", INTERVAL, "pairs", "verdict")
    return Table(head=head, rows=tuple(cells))


def _why_none(view: View) -> str:
    if view.all_configs.empty:
        return "no config completed: nothing can be said of knobs, steps and curves"
    if len(view.all_configs) < 2:
        return "a single config completed: there is nothing to compare it with"
    metrics = dict.fromkeys([view.rule.speed.metric, view.rule.accuracy.metric])
    return f"no knob varied that changes {' or '.join(metrics)} by its role"


def forest(view: View, rows: pd.DataFrame, metric: str) -> Figure:
    """Draw the effects on one figure with their intervals, a line a row.

    Args:
        view: The run.
        rows: From :func:`main_effects`.
        metric: The figure.
    """
    own, rule = rows[rows["metric"] == metric], view.rule
    records = own.to_dict("records")
    is_ratio = bool((own["kind"] == Kind.RATIO).all())
    scale = 1.0 if is_ratio or not is_share(metric) else 100.0
    names = np.array([html.escape(f"{row['knob']} {_change_text(row)}") for row in records])
    outcomes = np.array([OUTCOMES.index(outcome_of(row, rule)) for row in records])
    figure = Drawing(height=130 + 26 * len(own), showlegend=True)
    for kind, outcome in enumerate(OUTCOMES):
        some, word = own[outcomes == kind], word_of(outcome, metric, rule)
        if len(some):
            figure.add(
                "scatter",
                x=some["effect"] * scale,
                y=names[outcomes == kind],
                mode="markers",
                name=word,
                marker={"color": outcome.colour, "symbol": outcome.marker, "size": 11},
                error_x=bars(some, ("effect", "low", "high"), outcome.colour, scale=scale),
                text=[_hover(row) for row in some.to_dict("records")],
                hovertemplate="%{y}<br>%{text}<extra>" + word + "</extra>",
            )
    figure.line(1.0 if is_ratio else 0.0, along="y", dash="solid")
    title = f"{metric}, times as much" if is_ratio else f"{metric}, more"
    unit = " (points)" if scale > 1 else ""
    scale_of_axis = "log" if is_ratio else "linear"
    figure.axes(axis(f"{title}{unit}", type=scale_of_axis), rows_axis(names.tolist()))
    return Figure(
        name=f"effects-{metric.replace('_', '-')}",
        drawing=figure,
        table=own.drop(columns="group"),
        caption=f"Each knob's effect on {metric}, with its 95 % interval. A mark without a bar has "
        "no interval.",
    )


def _hover(row: Row) -> str:
    ends, pairs = ends_text(row) or "no interval", counted(row["num_pairs"], "pair")
    return f"{effect_text(row)} ({ends}), {pairs}"


def importance_of(view: View) -> Section:
    """Return the section on importance; with too few configs one line gives their number."""
    metrics = [view.rule.speed.metric, view.rule.accuracy.metric]
    known = measured(view.all_configs, metrics)
    tables = [importance_in(figures_of(view.tables, metric)) for metric in known]
    drawn = [table for table in tables if len(table)]
    return Section(
        "importance",
        "importance",
        missing="" if drawn else next(iter(map(_note, tables)), "no figure is known"),
        figures=(_importance_figure(drawn),) if drawn else (),
    )


def _importance_figure(tables: list[pd.DataFrame]) -> Figure:
    """Draw importances as bars, a group a knob."""
    both = pd.concat(tables, ignore_index=True)
    order = both.groupby("knob")["importance"].max().sort_values(ascending=False).index
    order = order[:_MAX_BARS]
    figure = Drawing(barmode="group", height=100 + 30 * len(order))
    for table, colour in zip(tables, (BLUE, AMBER), strict=False):
        shares = table.set_index("knob")["importance"].reindex(order).fillna(0.0)
        metric = table["metric"].iloc[0]
        figure.add(
            "bar",
            x=shares.tolist(),
            y=list(order),
            name=f"for {metric}",
            orientation="h",
            marker={"color": colour, "line": {"width": 0}},
            hovertemplate=f"%{{y}}: %{{x:.0%}} of {metric}<extra></extra>",
        )
    shares_axis = axis("share of the importance", tickformat=".0%", rangemode="tozero")
    figure.axes(shares_axis, rows_axis(list(order)))
    return Figure(
        name="importance-shares",
        drawing=figure,
        table=both[["knob", "metric", "importance", "num_configs", "composed"]],
        caption="PED-ANOVA: how much a knob matters for being among the best tenth of the configs "
        f"({'; '.join(map(_note, tables))}). It tells neither a direction nor "
        "how sure it is, and mixes knobs that vary together: the pairs above do not.",
    )


def _note(table: pd.DataFrame) -> str:
    note = str(table.attrs.get("note", "no knob varies"))
    return f"{table['metric'].iloc[0]}: {note}" if len(table) else note
