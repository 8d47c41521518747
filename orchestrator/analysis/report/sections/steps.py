"""Time of a step by phase, config by config."""

from __future__ import annotations

import html
import textwrap
from typing import Final

import pandas as pd

from orchestrator.analysis.report.drawing import PHASES, Drawing, Figure, axis, rows_axis
from orchestrator.analysis.report.tables import Row, Section, role_of
from orchestrator.analysis.report.view import View
from orchestrator.formats import percent

MAX_BARS: Final = 16
_SPEED: Final = "metrics.samples_per_s"
_NEEDED: Final = ["metrics.step_ms", "metrics.forward_ms", _SPEED]
_LONGEST_LINE: Final = 56

CAPTION: Final = (
    "Mean time of the steady steps by phase, for as many samples each; the slower the config the "
    "longer its bar. Starts of epochs are part of it only where epochs are too short for a steady "
    "state; evaluation never is."
)


def steps_of(view: View) -> Section:
    """Return the section on the time of a step.

    Steps of different batch sizes differ in time for that reason alone, so the bars show the
    time of the same number of samples.
    """
    name, title, configs = "steps", "Where the time goes", view.configs
    known = configs.iloc[:0]
    if set(_NEEDED) <= set(configs.columns):
        known = configs.dropna(subset=_NEEDED)
    if known.empty:
        return Section(name=name, title=title, missing="the phases of a step were not measured")
    rows = view.singled_first(known, _SPEED).head(MAX_BARS)
    rows = rows.sort_values(_SPEED, ascending=False, kind="stable")
    return Section(name=name, title=title, figures=(_figure(rows, len(configs) - len(rows)),))


def _figure(rows: pd.DataFrame, left_out: int) -> Figure:
    parts = phase_times(rows)
    names = [_name(row) for row in rows.to_dict("records")]
    height = 110 + (36 if any("<br>" in name for name in names) else 27) * len(rows)
    figure = Drawing(barmode="stack", bargap=0.35, height=height, legend={"traceorder": "normal"})
    for phase, colour in PHASES.items():
        if parts[phase].isna().all():
            continue
        share = parts[phase] / parts.sum(axis=1)
        figure.add(
            "bar",
            y=names,
            x=parts[phase].tolist(),
            name=phase,
            orientation="h",
            marker={"color": colour, "line": {"width": 0}},
            customdata=[percent(part) for part in share],
            hovertemplate=f"{phase}: %{{x:.3g}} ms, %{{customdata}} of the step<extra></extra>",
        )
    figure.axes(axis("time per 1,000 samples (ms)", rangemode="tozero"), rows_axis(names))
    table = parts.add_suffix("_ms_per_1000_samples")
    table.insert(0, "config", rows["label"])
    return Figure(
        name="step-times",
        drawing=figure,
        table=table,
        caption=CAPTION + (f" {left_out} other configs are not drawn." if left_out else ""),
        label="Time per 1,000 samples by phase of a step, a bar a config, the fastest first.",
    )


def phase_times(rows: pd.DataFrame) -> pd.DataFrame:
    """Return milliseconds per 1,000 samples by phase; ``other`` is the rest of the step."""
    samples_per_step = rows[_SPEED] * rows["metrics.step_ms"] / 1000
    named = [phase for phase in PHASES if phase != "other"]
    parts = pd.DataFrame(
        {phase: rows.get(f"metrics.{phase}_ms", pd.Series(dtype=float)) for phase in named},
        index=rows.index,
    )
    # Transfers may overlap with compute, so that the phases can exceed the step.
    parts["other"] = (rows["metrics.step_ms"] - parts.sum(axis=1)).clip(lower=0)
    return parts.mul(1000 / samples_per_step, axis=0)


def _name(row: Row) -> str:
    role = role_of(row)
    text = f"{row['label']} ({role})" if role else str(row["label"])
    lines = textwrap.wrap(text, _LONGEST_LINE, break_long_words=False, break_on_hyphens=False)
    return "<br>".join(map(html.escape, lines))
