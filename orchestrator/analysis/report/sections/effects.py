"""Effect of each knob by matched pairs, configs that differ in it alone, in words and figures."""

import html
import math
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import pandas as pd

from orchestrator.analysis.comparable import ALL
from orchestrator.analysis.knobs.effects import effects
from orchestrator.analysis.knobs.figures import Kind, Verdict, is_negligible
from orchestrator.analysis.recommendation.front import SIGN_AMONG, sign_of
from orchestrator.analysis.report.drawing import Colour, Figure, axis, bars, rows_axis
from orchestrator.analysis.report.tables import INTERVAL, Cell, Row, Section, Table
from orchestrator.analysis.report.view import View
from orchestrator.analysis.rule import Rule
from orchestrator.analysis.statistics.matched_pairs import Basis
from orchestrator.analysis.wording import is_share, short, shown_difference, signed
from orchestrator.formats import counted, percent
from orchestrator.metric_table import unit_of
from orchestrator.metrics import is_accuracy
from orchestrator.trial import LOAD

MAX_ROWS: Final = 24
"""Rows of each figure."""
NONE: Final = "not known"

_MODEL: Final = (
    "model: no two configs differ in this knob alone, so that its effect is a term of an additive "
    "model of all configs, whose residual is the noise: a line over a number, from the lower to "
    "the upper quartile of what was tried, or a step from one value to another"
)
_WITHOUT_PAIR: Final = {
    Verdict.NO_PAIR: "no two configs differ in one of these knobs alone, so that what it does to "
    "{metrics} is not known: {knobs}",
    Verdict.SAME_RUNS: "configs that differ in one of these knobs alone have the same runs for "
    "{metrics}, since by its role it does not change that: {knobs}",
}


def effects_of(view: View) -> Section:
    """Return the section on the knobs."""
    name, title, found = "effects", "What each knob does", main_effects(view)
    if found.empty:
        return Section(name, title, missing=_why_none(view))
    rows = _shown(found)
    records = rows.to_dict("records")
    drawn: dict[str, list[Row]] = {}
    for row in (row for row in records if not is_too_wide(row)):
        drawn.setdefault(row["metric"], []).append(row)
    notes = legend_of(records) + [_MODEL] * bool((rows["basis"] == Basis.MODEL).any())
    for verdict, text in _WITHOUT_PAIR.items():
        if len(some := found[found["verdict"] == verdict]):
            knobs, metrics = (", ".join(some[name].unique()) for name in ("knob", "metric"))
            notes.append(text.format(knobs=knobs, metrics=metrics))
    if left_out := int(found["effect"].notna().sum()) - len(rows):
        notes.append(f"{counted(left_out, 'other row')}: an.effects(run) has them all")
    if rows.empty:
        return Section(name, title, missing="; ".join(notes))
    return Section(
        name,
        title,
        table=Table(
            head=("knob", "change", "of", "effect", INTERVAL, "pairs", "verdict"),
            rows=tuple(_cells(row, view.rule) for row in records),
        ),
        notes=tuple(notes),
        figures=tuple(
            forest("knob", f"effects-{metric}", own, list(map(_label, own)), view.rule)
            for metric, own in drawn.items()
        ),
    )


def main_effects(view: View) -> pd.DataFrame:
    """Return the effects of the main group, by role: rows of ``an.effects(run)``."""
    found = effects(view.tables)
    return found[found["group"].isin([view.tables.main_group, ALL])]


def _shown(found: pd.DataFrame) -> pd.DataFrame:
    """Return the rows to show, knob by knob, those with a verdict and the largest effects first."""
    found = found[found["effect"].notna()]
    first = found.groupby(["knob", "metric"], sort=False)["reference"].transform("first")
    rows = found[found["reference"].astype("str") == first.astype("str")]
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
    return order.groupby("metric", sort=False).head(MAX_ROWS)[found.columns]


def _change_text(row: Row) -> str:
    return f"{short(row['reference'])} → {short(row['value'])}"


def _label(row: Row) -> str:
    return f"{row['knob']} {_change_text(row)}"


def _cells(row: Row, rule: Rule) -> tuple[Cell, ...]:
    effect, ends, verdict = effect_cells(row, rule)
    evidence = "model" if row["basis"] == Basis.MODEL else f"{row['num_pairs']:,}"
    knob = map(Cell, (row["knob"], _change_text(row), row["metric"]))
    return (*knob, effect, ends, Cell(evidence, row["num_pairs"]), verdict)


def _why_none(view: View) -> str:
    if view.all_configs.empty:
        return "no config completed: nothing can be said of knobs, steps and curves"
    if len(view.all_configs) < 2:
        return "a single config completed: there is nothing to compare it with"
    metrics = dict.fromkeys([view.rule.speed.metric, view.rule.accuracy.metric])
    return f"no knob varied that changes {' or '.join(metrics)} by its role"


def forest(of: str, name: str, rows: Sequence[Row], labels: Sequence[str], rule: Rule) -> Figure:
    """Draw the effects of knobs or steps on a figure, a line a row, with their intervals."""
    own, metric = pd.DataFrame(rows), str(rows[0]["metric"])
    is_ratio = bool((own["kind"] == Kind.RATIO).all())
    scale = 1.0 if is_ratio or not is_share(metric) else 100.0
    names = np.array([html.escape(label) for label in labels])
    outcomes = np.array([OUTCOMES.index(outcome_of(row, rule)) for row in rows])
    caption = f"Each {of}'s effect on {metric}, with its 95 % interval where there is one."
    look = {"height": 130 + 26 * len(own), "showlegend": True}
    figure = Figure(name, own.drop(columns="group"), caption, **look)
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
                text=[
                    f"{effect_text(row)} ({ends_text(row) or 'no interval'})"
                    for row in some.to_dict("records")
                ],
                hovertemplate="%{y}<br>%{text}<extra>" + word + "</extra>",
            )
    figure.line(1.0 if is_ratio else 0.0, along="y", dash="solid")
    title = f"{metric}, times as much" if is_ratio else f"{metric}, more"
    unit = " (points)" if scale > 1 else ""
    kind_of_axis = "log" if is_ratio else "linear"
    figure.axes(axis(f"{title}{unit}", type=kind_of_axis), rows_axis(names.tolist()))
    return figure


# -- an effect in words and figures


class Outcome(NamedTuple):
    """One of the few possible results: a character for it, colour and plotly's name of its mark."""

    symbol: str
    colour: str
    marker: str


BETTER: Final = Outcome("▲", Colour.GREEN, "triangle-up")
WORSE: Final = Outcome("▼", Colour.AMBER, "triangle-down")
ALIKE: Final = Outcome("=", Colour.MUTED, "square")
OPEN: Final = Outcome("?", Colour.FAINT, "circle-open")
OUTCOMES: Final = (BETTER, WORSE, ALIKE, OPEN)

_WORDS: Final = {
    "fast": ("faster", "slower"),
    "accurate": ("more accurate", "less accurate"),
    "good": ("better", "worse"),
}


def outcome_of(row: Row, rule: Rule) -> Outcome:
    """Return the result of a row of effects: better, worse, alike within the margin, or open."""
    if row["verdict"] in (Verdict.HIGHER, Verdict.LOWER):
        is_up = row["verdict"] == Verdict.HIGHER
        return BETTER if is_up == (rule.objective_of(row["metric"]).sign > 0) else WORSE
    return ALIKE if is_negligible(row, rule) else OPEN


def word_of(outcome: Outcome, metric: str, rule: Rule) -> str:
    """Return ``▲ faster``, ``= as fast within 2 %``, ``? not decided``."""
    if outcome is OPEN:
        return f"{outcome.symbol} not decided"
    is_speed = metric == rule.speed.metric
    quality = rule.fast[0] if is_speed else "accurate" if is_accuracy(metric) else "good"
    if outcome is not ALIKE:
        return f"{outcome.symbol} {_WORDS[quality][outcome is WORSE]}"
    margin = rule.margin_of(metric)
    text = percent(margin) if is_speed else shown_difference(metric, margin)
    return f"{outcome.symbol} as {quality}{f' within {text}' if margin else ''}"


def effect_text(row: Row) -> str:
    """Return ``1.26x``, ``+0.35 points`` or ``-0.12 GiB``; ``not known`` for none."""
    metric, value = row["metric"], float(row["effect"])
    if math.isnan(value):
        return NONE
    if row["kind"] == Kind.RATIO:
        return f"{value:.2f}x" if value < 100 else f"{value:,.0f}x"
    unit = "points" if is_share(metric) else unit_of(metric)
    return f"{signed(metric, value)} {unit}".rstrip()


def ends_text(row: Row) -> str:
    """Return ``1.15 to 1.38`` without the unit, or "" if the interval is not known."""
    ends = [float(row[end]) for end in ("low", "high")]
    if any(map(math.isnan, ends)):
        return ""
    is_ratio = row["kind"] == Kind.RATIO
    return " to ".join(f"{end:.2f}" if is_ratio else signed(row["metric"], end) for end in ends)


def effect_cells(row: Row | None, rule: Rule) -> tuple[Cell, Cell, Cell]:
    """Return a row's effect, its interval and its verdict, each as far as it is known.

    A sign marks an effect with a config that was not itself measured.
    """
    if row is None or row["verdict"] == Verdict.SAME_RUNS:
        return Cell("none, by its role" if row else NONE), Cell(""), Cell("")
    ends, effect = ends_text(row), Cell(NONE)
    if not is_too_wide(row):
        effect = Cell(f"{effect_text(row)}{sign_of(row)}", number=float(row["effect"]))
        ends = ends or (NONE if sign_of(row) else f"{NONE}: no repeats")
    verdict = word_of(outcome_of(row, rule), row["metric"], rule)
    return effect, Cell(ends or "too wide to tell"), Cell(verdict)


def legend_of(rows: Sequence[Row]) -> list[str]:
    """Return the meaning of that sign, if any row has it, and how many rest on a busy machine."""
    legend = [SIGN_AMONG] * any(map(sign_of, rows))
    if disturbed := sum(bool(row[LOAD]) for row in rows):
        legend.append(f"other load disturbed runs of {disturbed} of these {len(rows)}")
    return legend


def is_too_wide(row: Row) -> bool:
    """Return True if the noise is known, and too large for the effect to be informative."""
    return math.isnan(float(row["low"])) and row["basis"] != Basis.UNKNOWN
