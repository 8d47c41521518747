"""Effect of each knob, by matched pairs: configs that differ in this knob alone."""

from __future__ import annotations

from functools import partial
from typing import Final

import numpy as np
import pandas as pd

from orchestrator.analysis.columns import params_of
from orchestrator.analysis.comparable import ALL
from orchestrator.analysis.knobs.effects import Verdict, knob_effects
from orchestrator.analysis.knobs.figures import Kind
from orchestrator.analysis.report.sections.knobs.forest import change_text, forest
from orchestrator.analysis.report.sections.knobs.outcomes import (
    effect_cell,
    ends_text,
    is_too_wide,
    legend_of,
    outcome_of,
    quality_of,
    why,
    word_of,
)
from orchestrator.analysis.report.sections.section import Section
from orchestrator.analysis.report.tables import Cell, Table
from orchestrator.analysis.report.view import View
from orchestrator.analysis.rule_words import learned_word
from orchestrator.formats import counted

MAX_ROWS: Final = 24

_TITLE: Final = "What each knob does"
_HOW: Final = (
    "a pair is two configs that differ in this knob alone; the effect is the mean over the pairs, "
    "geometric where it is a ratio",
    "systems knobs are looked at on the speed, learning knobs on what was learned, the others on "
    "both: by its role a knob changes nothing else",
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
    notes = [*legend_of(rows), *_without_pairs(effects), *_left_out(left_out)]
    if rows.empty:
        return section(missing="; ".join(notes))
    drawn = _drawn(rows)
    figures = [forest(view, drawn, metric) for metric in drawn["metric"].unique()]
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
    """Return the rows that the section draws of a table of effects."""
    main = effects["group"].isin([view.tables.main_group, ALL])
    return _drawn(_shown(effects[main & (effects["num_pairs"] > 0)])[0])


def _drawn(rows: pd.DataFrame) -> pd.DataFrame:
    are_hidden = [is_too_wide(row) for row in rows.to_dict("records")]
    return rows[~pd.Series(are_hidden, index=rows.index, dtype="bool")]


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


def _without_pairs(effects: pd.DataFrame) -> list[str]:
    """Return sentences on the knobs of which nothing can be said, and why."""
    texts = {
        Verdict.NO_PAIR: "no two configs differ in {knobs} alone, so that what it does to {metric} "
        "is not known",
        Verdict.SAME_RUNS: "configs that differ in {knobs} alone have the same runs for {metric}: "
        "by its role a knob like this does not change it",
    }
    sentences = []
    for verdict, text in texts.items():
        rows = effects[effects["verdict"] == verdict]
        for metric, some in rows.groupby("metric", sort=False):
            sentences.append(text.format(knobs=" alone or in ".join(some["knob"]), metric=metric))
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
    return f"no knob varied that changes the {figure} or the {learned_word(view.rule)} by its role"
