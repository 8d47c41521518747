"""Composed figures on the page: their sign, its legend, and what confirm runs say of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from orchestrator.analysis.columns import config_of
from orchestrator.analysis.composition.compose import COMPOSED, TRAIN_S, errors
from orchestrator.analysis.composition.parts import WALL
from orchestrator.analysis.recommendation.front import SIGN
from orchestrator.analysis.report.sections.section import Section
from orchestrator.analysis.report.tables import Cell, Table, figure_cell
from orchestrator.analysis.report.view import View
from orchestrator.analysis.rule import column_of
from orchestrator.analysis.rule_words import learned_word
from orchestrator.analysis.wording import MOST_FACTOR, format_config, is_share
from orchestrator.formats import counted, percent


def composed_of(view: View) -> Section | None:
    """Return the composed figures beside measured ones; None where no config has both."""
    rows = _table_rows(view) if view.num_candidates else ()
    if not rows:
        return None
    head = ("config", "figure", "composed", "measured", "difference")
    how = (
        "composed figures of the configs that were confirmed, beside those of their confirm runs, "
        "which selected nothing"
    )
    return Section(
        name="composed",
        title="Composed against measured",
        lines=tuple(filter(None, (how, _errors(view.measured)))),
        table=Table(head=head, rows=rows, marks=("",) * len(rows)),
    )


def composed_notes(view: View) -> tuple[str, ...]:
    """Return the sign's meaning and how many configs have figures; () where all were trained."""
    return tuple(filter(None, (_legend(view), _counts(view)))) if view.num_candidates else ()


def _legend(view: View) -> str:
    configs = view.configs[view.configs[COMPOSED].astype("bool")]
    if configs.empty:
        return ""
    probes, curves = (_range(configs[name]) for name in ("num_runs", "num_all_runs"))
    return (
        f"{SIGN} composed: speed from {probes} of the config's setting, {learned_word(view.rule)} "
        f"from {curves} with its learning knobs; the config itself was not both trained and "
        "probed. Times are composed of these for all configs. A claimed speed-up rests on confirm "
        "runs alone"
    )


def _range(counts: pd.Series[Any]) -> str:
    low, high = int(counts.min()), int(counts.max())
    noun = {"num_runs": "probe", "num_all_runs": "curve"}[str(counts.name)]
    return counted(low, noun) if low == high else f"{low} to {counted(high, noun)}"


def _counts(view: View) -> str:
    known, stopped = view.num_configs, view.num_stopped
    left = view.num_candidates - known - stopped
    text = (
        f"of {counted(view.num_candidates, 'config')} {known:,} have a speed and a final "
        f"{learned_word(view.rule)}"
    )
    if stopped:
        text += (
            f"; the curves of {stopped:,} were stopped early, so that these are neither on the "
            "front nor recommended"
        )
    return f"{text}; {left:,} cannot run here or were left out" if left > 0 else text


def _errors(measured: pd.DataFrame) -> str:
    parts = []
    for name, words in ((TRAIN_S, "training time"), (WALL, "whole time")):
        relative = errors(measured, name).abs()
        if len(relative) and relative.median() >= MOST_FACTOR - 1:
            parts.append(f"{words}: not to be gone by, off by a factor of {MOST_FACTOR:g} and more")
        elif len(relative):
            parts.append(
                f"{words}: median error {percent(float(relative.median()), digits=1)} over "
                f"{counted(len(relative), 'config')}"
            )
    return "; ".join(parts)


def _table_rows(view: View) -> tuple[tuple[Cell, ...], ...]:
    named = [(column_of(o), o.metric) for o in (view.rule.speed, view.rule.accuracy)]
    figures = dict([*named, (TRAIN_S, "train_s"), (WALL, "wall_s")])
    return tuple(
        _row(row, column, metric, view)
        for row in view.measured.to_dict("records")
        for column, metric in figures.items()
        if not pd.isna(row.get(f"{column}_composed")) and not pd.isna(row.get(f"{column}_measured"))
    )


def _row(row: Mapping[Any, Any], column: str, metric: str, view: View) -> tuple[Cell, ...]:
    composed, measured = (float(row[f"{column}_{end}"]) for end in ("composed", "measured"))
    return (
        Cell(text=format_config(config_of(row, view.sweep), view.sweep)),
        Cell(text="whole time" if column == WALL else metric),
        figure_cell("train_s" if column == WALL else metric, composed),
        figure_cell("train_s" if column == WALL else metric, measured),
        _difference(metric, composed, measured),
    )


def _difference(metric: str, composed: float, measured: float) -> Cell:
    if is_share(metric):
        points = 100 * (composed - measured)
        return Cell(text=f"{points:+.2f} points", number=points)
    if not measured:
        return Cell(text="")
    relative = composed / measured - 1
    return Cell(text=f"{100 * relative:+.1f} %", number=relative)
