"""Where the time goes: steps by phase, ceilings and gains, and the time to an accuracy."""

import html
import math
import textwrap
from functools import partial
from typing import Final

import pandas as pd

from orchestrator.analysis.report import tables
from orchestrator.analysis.report.drawing import PHASES, Figure, axis, rows_axis
from orchestrator.analysis.report.view import View, are_marked, limited
from orchestrator.analysis.rule import SPEED
from orchestrator.analysis.statistics.by_config import COMPUTE, LOADER, Gain, gains_of
from orchestrator.analysis.statistics.curves import accuracy_asked
from orchestrator.analysis.statistics.intervals import is_narrow
from orchestrator.analysis.wording import shown
from orchestrator.formats import percent

MAX_ROWS: Final = 16
"""Configs in each figure and table."""

WORTH: Final = 1.05
"""A smaller gain is called none."""
MOST_TIMES: Final = 10.0
"""Larger gains are not distinguished: all of the time goes to one part."""

_STEP, _FORWARD = "metrics.step_ms", "metrics.forward_ms"
_LONGEST_LINE: Final = 56
_PHASES: Final = (
    "Mean time of the steady steps by phase, for as many samples each; the slower the config the "
    "longer its bar. Starts of epochs are part of it only where epochs are too short for a steady "
    "state; evaluation never is."
)


def _fastest(view: View, needed: list[str]) -> tuple[pd.DataFrame, int]:
    """Return some configs that have all these columns, the fastest first, and how many have."""
    if not set(needed) <= set(view.configs.columns):
        return view.configs.iloc[:0], 0
    known = view.configs.dropna(subset=needed).sort_values(SPEED, ascending=False, kind="stable")
    return limited(known, MAX_ROWS, are_marked(known)), len(known)


def ceilings_of(view: View) -> tables.Section | None:
    """Return the ceilings of the main group's configs; None if none was measured."""
    chosen, num_known = _fastest(view, [SPEED, LOADER, COMPUTE])
    if chosen.empty:
        return None
    speeds = {"samples_per_s": SPEED, "loader alone": LOADER, "model alone": COMPUTE}
    names = {title: column.removeprefix("metrics.") for title, column in speeds.items()}
    table = tables.table_of_configs(
        view,
        chosen.assign(gain=[gain_text(gain) for gain in gains_of(view.trials, chosen)]),
        [
            *((title, partial(tables.figure_of, metric=name)) for title, name in names.items()),
            tables.text_column("bound by", "tags.bound"),
            tables.text_column("to gain", "gain"),
        ],
        num_all=num_known,
    )
    return tables.Section("ceilings", "What bounds each config", table=table)


def gain_text(gain: Gain) -> str:
    """Return ``4.12x (3.94x to 4.31x) if the loader were free``, as far as that is known."""
    if math.isnan(gain.low):
        return "not known: no config ran twice" if gain.ratio >= WORTH else "next to nothing"
    if not is_narrow(gain.low, gain.high) or (gain.low < 1 and gain.high >= WORTH**2):
        return "not known: its runs' ceilings differ too much"
    if gain.low < 1 or gain.ratio < WORTH:
        return "next to nothing"
    if gain.low > MOST_TIMES:
        return f"over {MOST_TIMES:.0f}x if {gain.part} were free: it takes nearly all of the time"
    return f"{gain.ratio:.2f}x ({gain.low:.2f}x to {gain.high:.2f}x) if {gain.part} were free"


def steps_of(view: View) -> tables.Section:
    """Return the section on the time of a step.

    Steps of different batch sizes differ in time for that reason alone, so the bars show the
    time of the same number of samples.
    """
    name, title = "steps", "Where the time goes"
    rows, _ = _fastest(view, [_STEP, _FORWARD, SPEED])
    if rows.empty:
        return tables.Section(name, title, missing="the phases of a step were not measured")
    parts, names = phase_times(rows), [_name_of(row) for row in rows.to_dict("records")]
    table = parts.add_suffix("_ms_per_1000_samples")
    table.insert(0, "config", rows["label"])
    left_out = len(view.configs) - len(rows)
    caption = _PHASES + (f" {left_out} other configs are not drawn." if left_out else "")
    height = 110 + (36 if any("<br>" in name for name in names) else 27) * len(rows)
    look = {"barmode": "stack", "bargap": 0.35, "height": height}
    figure = Figure("step-times", table, caption, legend={"traceorder": "normal"}, **look)
    for phase, colour in PHASES.items():
        if parts[phase].notna().any():
            shares = parts[phase] / parts.sum(axis=1)
            figure.add(
                "bar",
                y=names,
                x=parts[phase].tolist(),
                name=phase,
                orientation="h",
                marker={"color": colour, "line": {"width": 0}},
                customdata=[percent(share) for share in shares],
                hovertemplate=f"{phase}: %{{x:.3g}} ms, %{{customdata}} of the step<extra></extra>",
            )
    figure.axes(axis("time per 1,000 samples (ms)", rangemode="tozero"), rows_axis(names))
    return tables.Section(name, title, figures=(figure,))


def phase_times(rows: pd.DataFrame) -> pd.DataFrame:
    """Return milliseconds per 1,000 samples by phase; ``other`` is the rest of the step."""
    samples_per_step = rows[SPEED] * rows[_STEP] / 1000
    names = {f"metrics.{phase}_ms": phase for phase in PHASES if phase != "other"}
    parts = rows.reindex(columns=list(names)).rename(columns=names).astype("float64")
    # Transfers may overlap with compute, so that the phases can exceed the step.
    parts["other"] = (rows[_STEP] - parts.sum(axis=1)).clip(lower=0)
    return parts.mul(1000 / samples_per_step, axis=0)


def _name_of(row: tables.Row) -> str:
    role = tables.role_of(row)
    text = f"{role}: {row['label']}" if role else str(row["label"])
    lines = textwrap.wrap(
        text, _LONGEST_LINE, max_lines=2, break_long_words=False, break_on_hyphens=False
    )
    return "<br>".join(map(html.escape, lines))


def times_of(view: View) -> tables.Section | None:
    """Return the times of the main group's configs; None if no curve has any."""
    metric, column = view.rule.accuracy.metric, view.rule.accuracy_column
    configs, curves = view.configs, view.tables.whole_curves
    if column not in curves or configs.empty:
        return None
    target = accuracy_asked(configs, view.rule)
    known = configs.drop(columns="num_runs").join(view.tables.times_to(target, configs))
    if known["reached_s"].isna().all():
        return None
    known = known[known["trained_s"].notna()].sort_values(
        ["reached_s", column], ascending=[True, view.rule.accuracy.sign < 0], kind="stable"
    )
    singled = known["is_recommended"] | known["is_baseline"]
    table = tables.table_of_configs(
        view,
        limited(known, MAX_ROWS, singled),
        [
            ("time to it (s)", _reached_cell),
            ("runs there", lambda row: tables.Cell(f"{row['num_reached']} of {row['num_runs']}")),
            ("trained for (s)", lambda row: tables.figure_cell("train_s", row["trained_s"])),
        ],
        num_all=len(known),
    )
    title = f"time to {metric} {shown(metric, target)}"
    line = f"that is the {metric} the rule asks for; {view.tables.time_counts}"
    return tables.Section("time-to-accuracy", title, level=3, lines=(line,), table=table)


def _reached_cell(row: tables.Row) -> tables.Cell:
    if not pd.isna(row["reached_s"]):
        return tables.figure_cell("train_s", row["reached_s"])
    return tables.Cell("by fewer than half" if row["num_reached"] else "never")
