"""The verdict on each config against the best, and the noise that it is judged by."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pandas as pd

from orchestrator.analysis.columns import config_of
from orchestrator.analysis.report.sections.section import Section
from orchestrator.analysis.report.tables import Cell, Table, figure_cell, knob_cell, verdict_cell
from orchestrator.analysis.report.view import View
from orchestrator.analysis.rule_words import held_by, learned_word
from orchestrator.analysis.statistics.against_best import Verdict, runs_to_resolve, speed_numbers
from orchestrator.analysis.statistics.intervals import is_narrow
from orchestrator.analysis.wording import telling_knobs
from orchestrator.formats import counted, percent

MAX_ROWS: Final = 40
MAX_RUNS: Final = 10
"""More runs than these are not asked for to settle a verdict."""


_WORDS: Final = (
    "best: the highest figure",
    "tied: shown to be as fast within the margin",
    "worse: shown to be slower",
    "unresolved: neither is shown; as many runs of it and of the best as the last column says "
    "would probably tell. Where the best itself is not sure, a ratio's interval allows for that",
)


def verdicts_of(view: View) -> Section | None:
    """Return the verdicts on the main group's configs; None where none is ranked."""
    ranked = _one_a_speed(view.configs[view.configs["verdict"] != ""], view)
    if ranked.empty:
        return None
    table = _table(ranked, view)
    left = f"{table.num_left_out} more, with lower figures, are not shown"
    judged = (_counts(ranked, view), *_noise(view), *_conditions(view), *_WORDS)
    return Section(
        name="verdicts",
        title="Against the best",
        table=table,
        notes=(left,) if table.num_left_out else (),
        folded=(("How this is judged, and how much of it is noise", judged),),
    )


def _counts(ranked: pd.DataFrame, view: View) -> str:
    numbers = ranked["verdict"].value_counts()
    counts = ", ".join(f"{numbers[verdict]} {verdict}" for verdict in Verdict if verdict in numbers)
    held = held_by(view.rule)
    start = f"of {counted(view.num_configs, 'completed config')} {len(ranked)} {held} to be ranked"
    if view.num_candidates:
        start = (
            f"of {counted(view.num_configs, 'config')} with a speed and a final "
            f"{learned_word(view.rule)} those {held} to be ranked have "
            f"{counted(len(ranked), 'setting')}, one row each"
        )
    return (
        f"{start}: {counts} (a tie is a ratio within {percent(view.rule.tie_margin)}; with "
        "95 % confidence the best config is not called worse and each ratio to it lies in its "
        "interval; of configs that are equally good one may be called worse more often than in "
        "5 % of sweeps)"
    )


def _one_a_speed(ranked: pd.DataFrame, view: View) -> pd.DataFrame:
    """Return a config for each speed, the recommended one or the baseline where it has it."""
    if not view.num_candidates or ranked.empty:
        return ranked
    first = ranked.sort_values(["is_recommended", "is_baseline"], ascending=False, kind="stable")
    is_first = ~speed_numbers(first, view.rule.speed_column).duplicated()
    best = ranked["verdict"] == Verdict.BEST
    is_best = speed_numbers(ranked, view.rule.speed_column)
    same = is_best.isin(is_best[best])
    return first[is_first].assign(
        verdict=lambda rows: rows["verdict"].mask(same.reindex(rows.index), Verdict.BEST)
    )


def _noise(view: View) -> list[str]:
    noise = view.findings.noise
    spread = (
        "no config was run twice, so that the spread between fresh runs is not known and no "
        "config can be told from the best: repeats would tell"
        if view.pool is None
        else view.pool.text
    )
    if noise is None:
        return [spread, "the baseline was not repeated: there is no noise floor"]
    return [spread, f"noise floor: {noise.text}; {noise.repeats_text}"]


def _conditions(view: View) -> list[str]:
    """Return sentences on the machine's drift and on interference, where they are known."""
    effects = (view.findings.drift, view.findings.interference)
    return [effect.text for effect in effects if effect is not None]


def _table(ranked: pd.DataFrame, view: View) -> Table:
    needed = runs_to_resolve(ranked, view.rule, max_runs=MAX_RUNS)
    rows = ranked.assign(needed=needed).sort_values("ratio_to_best", ascending=False, kind="stable")
    shown_rows = rows.head(MAX_ROWS).to_dict("records")
    knobs = telling_knobs([config_of(row, view.sweep) for row in shown_rows], view.sweep)
    speed = view.rule.speed.metric
    cells = tuple(
        (
            verdict_cell(row, view.rule),
            *(knob_cell(row[f"params.{name}"]) for name in knobs),
            figure_cell(speed, row[f"metrics.{speed}"]),
            _ratio(row),
            Cell(text=_ends(row)),
            Cell(text=str(row["num_runs"]), number=float(row["num_runs"])),
            _needed(row),
        )
        for row in shown_rows
    )
    return Table(
        head=("", *knobs, speed, "ratio to the best", "95 % interval", "runs", "runs to tell"),
        rows=cells,
        marks=tuple("recommended" if row["is_recommended"] else "" for row in shown_rows),
        num_left_out=len(rows) - len(cells),
    )


def _ratio(row: Mapping[Any, Any]) -> Cell:
    """Return the ratio to the best; empty where its interval is too wide to tell one."""
    ends = row["ratio_low"], row["ratio_high"]
    text = f"{row['ratio_to_best']:.3f}" if pd.isna(ends[0]) or is_narrow(*ends) else ""
    return Cell(text=text, number=float(row["ratio_to_best"]))


def _ends(row: Mapping[Any, Any]) -> str:
    if row["verdict"] == Verdict.BEST or pd.isna(row["ratio_low"]):
        return ""
    if not is_narrow(row["ratio_low"], row["ratio_high"]):
        return "not known"
    return f"{row['ratio_low']:.3f} to {row['ratio_high']:.3f}"


def _needed(row: Mapping[Any, Any]) -> Cell:
    """Return the runs that would settle an open verdict; the best needs as many as any."""
    if pd.isna(row["needed"]):
        is_open = row["verdict"] == Verdict.UNRESOLVED
        if not is_open or pd.isna(row["df"]):
            return Cell(text="")
        return Cell(text=f"over {MAX_RUNS}", number=MAX_RUNS + 1.0)
    return Cell(text=f"{row['needed']:.0f}", number=float(row["needed"]))
