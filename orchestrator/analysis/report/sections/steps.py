"""Time of a step by phase, config by config."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import Any, Final

import pandas as pd

from orchestrator.analysis.report.figures import Drawing, Figure, rows_axis
from orchestrator.analysis.report.sections.section import Section
from orchestrator.analysis.report.style import PHASES, axis
from orchestrator.analysis.report.view import View
from orchestrator.formats import percent

MAX_BARS: Final = 16

CAPTION: Final = (
    "Mean time of the steady steps by phase, for as many samples each; the slower the config the "
    "longer its bar. Starts of epochs are part of it only where epochs are too short for a steady "
    "state; evaluation never is."
)

_LONGEST_LINE: Final = 56


def steps_of(view: View) -> Section:
    """Return the section on the time of a step."""
    figure = step_times(view)
    return Section(
        name="steps",
        title="Where the time goes",
        missing="" if figure else "the phases of a step were not measured",
        figures=(figure,) if figure else (),
    )


def step_times(view: View) -> Figure | None:
    """Draw the time per 1,000 samples by phase; None where no config's phases were measured.

    Steps of different batch sizes take different times for that reason alone, so that
    the bars show the time of as many samples each.
    """
    rows = _chosen(view)
    if rows.empty:
        return None
    parts = phase_times(rows)
    names = [_name(row) for row in rows.to_dict("records")]
    row_height = 36 if any("<br>" in name for name in names) else 27
    height = 110 + row_height * len(rows)
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
    left_out = len(view.configs) - len(rows)
    return Figure(
        name="step-times",
        drawing=figure,
        table=parts.add_suffix("_ms_per_1000_samples").assign(config=rows["label"])[
            ["config", *(f"{phase}_ms_per_1000_samples" for phase in PHASES)]
        ],
        caption=CAPTION + (f" {left_out} other configs are not drawn." if left_out else ""),
        label="Time per 1,000 samples by phase of a step, a bar a config, the fastest first.",
    )


def phase_times(rows: pd.DataFrame) -> pd.DataFrame:
    """Return milliseconds per 1,000 samples by phase; ``other`` is the rest of the step."""
    samples_per_step = rows["metrics.samples_per_s"] * rows["metrics.step_ms"] / 1000
    named = [phase for phase in PHASES if phase != "other"]
    parts = pd.DataFrame(
        {phase: rows.get(f"metrics.{phase}_ms", pd.Series(dtype=float)) for phase in named},
        index=rows.index,
    )
    # Transfers may overlap with compute, so that the phases can exceed the step.
    parts["other"] = (rows["metrics.step_ms"] - parts.sum(axis=1)).clip(lower=0)
    return parts.mul(1000 / samples_per_step, axis=0)


def _chosen(view: View) -> pd.DataFrame:
    """Return the configs singled out elsewhere, then the fastest, up to :data:`MAX_BARS`."""
    configs = view.configs
    needed = {"metrics.step_ms", "metrics.forward_ms", "metrics.samples_per_s"}
    if not needed <= set(configs.columns):
        return configs.iloc[:0]
    rows = configs.dropna(subset=sorted(needed))
    marked = rows["is_recommended"] | rows["is_baseline"] | rows["on_front"]
    first = rows.assign(marked=marked).sort_values(
        ["marked", "metrics.samples_per_s"], ascending=False, kind="stable"
    )
    return first.head(MAX_BARS).sort_values("metrics.samples_per_s", ascending=False, kind="stable")


def _name(row: Mapping[Any, Any]) -> str:
    marks = [word for word in ("recommended", "baseline") if row[f"is_{word}"]]
    return _folded(f"{row['label']} ({', '.join(marks)})" if marks else str(row["label"]))


def _folded(text: str) -> str:
    """Return two lines where it is too long for the margin, broken between two words."""
    if len(text) <= _LONGEST_LINE:
        return html.escape(text)
    words = text.split(" ")
    at = min(range(1, len(words)), key=lambda n: abs(len(" ".join(words[:n])) - len(text) / 2))
    return "<br>".join(html.escape(" ".join(part)) for part in (words[:at], words[at:]))
