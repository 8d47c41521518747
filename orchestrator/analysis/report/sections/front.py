"""The front: its pictures, the table of its configs, and how the verdicts are judged."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

import pandas as pd

from orchestrator.analysis.columns import text_of
from orchestrator.analysis.comparable import GROUP
from orchestrator.analysis.composition.compose import COMPOSED
from orchestrator.analysis.recommendation.front import (
    MEASURED_IN,
    SIGN,
    measured_runs_text,
    sign_of,
)
from orchestrator.analysis.report.sections.scatter import scatter_figures
from orchestrator.analysis.report.tables import (
    INTERVAL,
    Cell,
    Row,
    Section,
    Table,
    figure_of,
    measured,
    table_of_configs,
)
from orchestrator.analysis.report.view import View, are_marked
from orchestrator.analysis.statistics.against_best import Verdict
from orchestrator.analysis.statistics.intervals import is_narrow
from orchestrator.analysis.wording import held_by, interval_text, learned_word
from orchestrator.formats import counted, percent
from orchestrator.metrics import is_accuracy
from orchestrator.trial import Stage, TrialState

MAX_ROWS: Final = 40

_WORDS: Final = (
    "best: the highest figure; tied: shown to be as fast within the margin; worse: shown to be "
    "slower; unresolved: neither is shown, and more runs of it and of the best would tell",
    "with 95 % confidence the best config is not called worse and each ratio to it lies in its "
    "interval; of configs that are equally good one may be called worse more often than in 5 % of "
    "sweeps",
)


def front_of(view: View) -> Iterator[Section]:
    """Yield the pictures, the table, and a table for each group that is not ranked with these."""
    first = "speed" if view.rule.is_of_speed else view.rule.speed.metric
    others = ["accuracy" if is_accuracy(o.metric) else o.metric for o in view.beside_speed]
    title = f"{first} against {' and '.join(others)}" if others else first
    table = front_table(view, view.shown)
    nothing = "" if table.rows else "no config completed with every objective measured"
    figures = tuple(scatter_figures(view))
    yield Section("speed", title, missing=nothing, figures=figures)
    if table.rows:
        notes = (
            "with the recommended settings, the baseline, and the configs that are not shown to be "
            "worse than the best; a row in grey is not on the front",
            *_composed_notes(view),
        )
        yield Section(
            "front",
            "The front",
            level=3,
            table=table,
            notes=notes,
            folded=(("How this is judged, and how much of it is noise", tuple(_judged(view))),),
        )
    why = (
        "these trials ran on hardware, devices or versions that differ from those above. Their "
        "speeds are not ranked with the others, and nothing is recommended from them"
    )
    for n, (name, configs) in enumerate(view.others.items(), start=1):
        if n == 1:
            yield Section("others", "Under other conditions", lines=(why,))
        yield Section(f"others-{n}", name, level=3, table=front_table(view, configs))


def front_table(view: View, configs: pd.DataFrame) -> Table:
    """Return the front, the marked configs and those that may be the best, fastest first."""
    contenders = configs["verdict"].isin([Verdict.BEST, Verdict.TIED, Verdict.UNRESOLVED])
    marked, speed = are_marked(configs), view.objectives[0]
    keep = configs[marked | contenders].assign(marked=marked)
    metric, order = speed.metric, f"metrics.{speed.metric}"
    up = speed.sign < 0
    rows = keep.sort_values(["marked", order], ascending=[False, up], kind="stable").head(MAX_ROWS)
    rows = rows.sort_values(order, ascending=up, kind="stable")
    columns: list[tuple[str, Callable[[Row], Cell]]] = [
        (metric, lambda row: figure_of(row, metric, _sign_of_speed(row))),
        (INTERVAL, lambda row: Cell(interval_text(row, metric))),
    ]
    for name in measured(rows, [o.metric for o in view.objectives[1:]]):
        columns.append((name, lambda row, name=name: figure_of(row, name, sign_of(row))))  # type: ignore[misc]
        if measured(rows, [f"{name}_low"]):
            columns.append((INTERVAL, lambda row, name=name: Cell(interval_text(row, name))))  # type: ignore[misc]
    columns += [
        ("against the best", lambda row: _verdict_cell(row, view)),
        ("ratio to the best", _ratio_cell),
        ("runs", lambda row: Cell(_runs(row, view), number=float(row["num_runs"]))),
    ]
    if measured(rows, ["epoch_s"]):
        columns.append(("epoch_s", lambda row: figure_of(row, "epoch_s", sign_of(row))))
    if "tags.bound" in rows and (rows["tags.bound"].map(text_of) != "").any():
        columns.append(("bound by", lambda row: Cell(text_of(row["tags.bound"]))))
    table = table_of_configs(view, rows, columns, num_all=len(keep))
    marks = [
        mark or ("" if on_front else "off")
        for mark, on_front in zip(table.marks, rows["on_front"], strict=True)
    ]
    return replace(table, marks=tuple(marks), sortable=True)


def _verdict_cell(row: Row, view: View) -> Cell:
    """Return a config's verdict in its colour; empty if it is not ranked.

    If a recommended config is tied, the cell has the margin, which it is shown to be within.
    """
    verdict, rule = text_of(row.get("verdict")), view.rule
    if row.get("is_recommended") and verdict == Verdict.TIED:
        return Cell(
            f"within {percent(rule.tie_margin)} of the {rule.fast[2]}", style="verdict tied"
        )
    return Cell(verdict, style=f"verdict {verdict}" if verdict else "")


def _ratio_cell(row: Row) -> Cell:
    """Return the ratio to the best with its interval, if that is narrow enough to give a figure."""
    ratio, low, high = (row.get(f"ratio_{end}", float("nan")) for end in ("to_best", "low", "high"))
    if pd.isna(ratio):
        return Cell("")
    ends = f" ({low:.3f} to {high:.3f})" if is_narrow(low, high) and low < high else ""
    return Cell(f"{ratio:.3f}{ends}" if ends or pd.isna(low) else "", number=float(ratio))


def _runs(row: Row, view: View) -> str:
    """Return the runs of a config; for a factored search its probes and its curves."""
    if row.get(MEASURED_IN) == Stage.CONFIRM or not view.num_candidates:
        return measured_runs_text(row, learned_word(view.rule))
    return f"{counted(row['num_runs'], 'probe')}, {counted(row['num_all_runs'], 'curve')}"


def _sign_of_speed(row: Row) -> str:
    return "" if row.get(MEASURED_IN) == Stage.CONFIRM else sign_of(row)


def _judged(view: View) -> Iterator[str]:
    """Yield the number of verdicts, the meaning of the words, and the noise if it is known."""
    numbers, tables = view.configs["verdict"].value_counts(), view.tables
    pool, noise = tables.pool, tables.noise_floor
    counts = [f"{numbers[verdict]} {verdict}" for verdict in Verdict if verdict in numbers]
    ranked = int((view.configs["verdict"] != "").sum())
    yield (
        f"of {counted(view.num_configs, 'completed config')} {ranked} {held_by(view.rule)} to be "
        f"ranked: {', '.join(counts)}; a tie is a ratio within {percent(view.rule.tie_margin)}"
    )
    yield from _WORDS
    yield "no config was run twice: repeats would tell the spread" if pool is None else pool.text
    if noise is not None:
        yield noise.repeats_text


def _composed_notes(view: View) -> Iterator[str]:
    """Yield the sign's meaning and how many configs have figures; nothing if all were trained."""
    if not view.num_candidates:
        return
    learned, stopped = learned_word(view.rule), view.tables.composed(TrialState.STOPPED)
    num_stopped = int((stopped[GROUP] == view.tables.main_group).sum())
    left = view.num_candidates - view.num_configs - num_stopped
    if view.configs[COMPOSED].any():
        yield (
            f"{SIGN} composed: speed from probes of the config's setting, {learned} from curves "
            "with its learning knobs; the config itself was not both trained and probed. A claimed "
            "speed-up rests on confirm runs alone"
        )
    yield (
        f"of {counted(view.num_candidates, 'config')} {view.num_configs:,} have a speed and a "
        f"final {learned}; the curves of {num_stopped:,} were stopped early; {left:,} cannot run "
        "here or were left out"
    )
