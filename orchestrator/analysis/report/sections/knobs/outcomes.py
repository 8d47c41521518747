"""Effect of a knob in a word with a symbol, and as figures with an interval."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import pandas as pd

from orchestrator.analysis.knobs.effects import Verdict
from orchestrator.analysis.knobs.figures import Kind
from orchestrator.analysis.recommendation.front import SIGN, sign_of
from orchestrator.analysis.report.drawing import AMBER, FAINT, GREEN, MUTED
from orchestrator.analysis.report.tables import Cell
from orchestrator.analysis.rule import Rule
from orchestrator.analysis.statistics.matched_pairs import Basis, Mean
from orchestrator.analysis.wording import is_share, shown_difference
from orchestrator.formats import percent
from orchestrator.metric_table import unit_of
from orchestrator.metrics import Goal, Objective, is_accuracy

NONE: Final = "not known"


class Outcome(NamedTuple):
    """One of the few possible results: a character for it, colour and plotly's name of its mark."""

    symbol: str
    colour: str
    marker: str


BETTER: Final = Outcome("▲", GREEN, "triangle-up")
WORSE: Final = Outcome("▼", AMBER, "triangle-down")
ALIKE: Final = Outcome("=", MUTED, "square")
OPEN: Final = Outcome("?", FAINT, "circle-open")
OUTCOMES: Final = (BETTER, WORSE, ALIKE, OPEN)

_WORDS: Final = {
    "fast": ("faster", "slower"),
    "accurate": ("more accurate", "less accurate"),
    "good": ("better", "worse"),
}


def outcome_of(row: Mapping[Any, Any], rule: Rule) -> Outcome:
    """Return the result of a row of effects: better, worse, alike within the margin, or open."""
    objective = _objective_of(str(row["metric"]), rule)
    if row["verdict"] in (Verdict.HIGHER, Verdict.LOWER):
        is_up = row["verdict"] == Verdict.HIGHER
        return BETTER if is_up == (objective.goal is Goal.MAXIMIZE) else WORSE
    if row["verdict"] == Verdict.EQUAL or _is_within(row, objective, rule):
        return ALIKE
    return OPEN


def word_of(outcome: Outcome, metric: str, rule: Rule) -> str:
    """Return ``▲ faster``, ``= as fast within 2 %``, ``? not decided``."""
    if outcome is OPEN:
        return f"{outcome.symbol} not decided"
    quality = "accurate" if is_accuracy(metric) else "good"
    if metric == rule.speed.metric:
        quality = rule.fast[0]
    if outcome is ALIKE:
        margin = _margin_of(_objective_of(metric, rule), rule)
        is_speed = metric == rule.speed.metric
        text = percent(margin) if is_speed else shown_difference(metric, margin)
        return f"{outcome.symbol} as {quality}{f' within {text}' if margin else ''}"
    return f"{outcome.symbol} {_WORDS[quality][outcome is WORSE]}"


def _objective_of(metric: str, rule: Rule) -> Objective:
    """Return the objective of a figure; one to maximise if the rule has none."""
    known = {o.metric: o for o in (*rule.objectives, rule.accuracy)}
    return known.get(metric, Objective(metric, Goal.MAXIMIZE))


def _margin_of(objective: Objective, rule: Rule) -> float:
    """Return the largest negligible difference: a share of ratios, or in the figure's unit."""
    if objective.metric == rule.speed.metric:
        return rule.tie_margin
    return 0.0 if objective.relative else objective.tolerance or 0.0


def _is_within(row: Mapping[Any, Any], objective: Objective, rule: Rule) -> bool:
    """Return True if the interval is within the margin, which is of the same kind as it."""
    margin, low, high = _margin_of(objective, rule), float(row["low"]), float(row["high"])
    if row["kind"] == Kind.RATIO:
        return bool(margin) and low >= 1 / (1 + margin) and high <= 1 + margin
    # The margin of the speed is a share; no difference is compared with it.
    is_own = objective.metric != rule.speed.metric and bool(margin)
    return is_own and low >= -margin and high <= margin


def effect_text(row: Mapping[Any, Any]) -> str:
    """Return ``1.26x``, ``+0.35 points`` or ``-0.12 GiB``; ``not known`` for none."""
    metric, value = row["metric"], float(row["effect"])
    if math.isnan(value):
        return NONE
    if row["kind"] == Kind.RATIO:
        return f"{value:.2f}x" if value < 100 else f"{value:,.0f}x"
    if is_share(metric):
        return f"{100 * value:+.2f} points"
    return f"{value:+.3g} {unit_of(metric)}".rstrip()


def ends_text(row: Mapping[Any, Any]) -> str:
    """Return ``1.15 to 1.38`` without the unit, or "" if the interval is not known."""
    low, high = float(row["low"]), float(row["high"])
    if math.isnan(low) or math.isnan(high):
        return ""
    if row["kind"] == Kind.RATIO:
        return f"{low:.2f} to {high:.2f}"
    scale, digits = (100, "+.2f") if is_share(row["metric"]) else (1, "+.3g")
    return f"{scale * low:{digits}} to {scale * high:{digits}}"


def row_of(mean: Mean, kind: Kind, metric: str) -> dict[str, Any]:
    """Return a mean as a row of effects, its verdict by its own interval alone."""
    nothing, verdict = (1.0 if kind is Kind.RATIO else 0.0), Verdict.OPEN
    if mean.low > nothing:
        verdict = Verdict.HIGHER
    elif mean.high < nothing:
        verdict = Verdict.LOWER
    return {**vars(mean), "metric": metric, "kind": str(kind), "verdict": str(verdict)}


def effect_cells(row: Mapping[Any, Any], rule: Rule) -> tuple[Cell, Cell, Cell]:
    """Return a row's effect, its interval and its verdict, each as far as it is known.

    A sign marks an effect with a config that was not itself measured.
    """
    ends, effect = ends_text(row), Cell(NONE)
    if not is_too_wide(row):
        effect = Cell(f"{effect_text(row)}{sign_of(row)}", number=float(row["effect"]))
        ends = ends or ("not known" if row["composed"] else "not known: no repeats")
    verdict = word_of(outcome_of(row, rule), row["metric"], rule)
    return effect, Cell(ends or "too wide to tell"), Cell(verdict)


def legend_of(rows: pd.DataFrame) -> list[str]:
    """Return the meaning of that sign, if any row has it, and how many rest on a busy machine."""
    legend = []
    if rows["composed"].any():
        legend.append(f"{SIGN} composed: a config among them was not itself trained and probed")
    if "contaminated" in rows and (disturbed := int(rows["contaminated"].sum())):
        legend.append(f"other load disturbed runs of {disturbed} of these {len(rows)}")
    return legend


def is_too_wide(row: Mapping[Any, Any]) -> bool:
    """Return True if the noise is known, and too large for the effect to be informative."""
    return math.isnan(float(row["low"])) and row["basis"] != Basis.UNKNOWN
