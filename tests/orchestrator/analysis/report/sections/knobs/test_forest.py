"""Effects with their intervals, drawn."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from orchestrator.analysis.report.sections.knobs.effects import effects_of, main_effects
from orchestrator.analysis.report.sections.knobs.forest import forest
from orchestrator.analysis.report.view import View


def test_the_figure_has_a_mark_a_row_with_its_interval(view: View) -> None:
    section = effects_of(view)
    assert section.table is not None
    assert len(section.table.rows) == sum(len(figure.table) for figure in section.figures)
    speeds, accuracies = section.figures
    assert (speeds.name, accuracies.name) == ("effects-samples-per-s", "effects-val-acc")
    found = main_effects(view)
    (faster, slower) = speeds.figure.data
    assert (faster.name, slower.name) == ("▲ faster", "▼ slower")
    place = list(faster.y).index("num_workers 0 → 3")
    (expected,) = found[(found["knob"] == "num_workers") & (found["value"] == 3)].to_dict("records")
    assert faster.x[place] == pytest.approx(expected["effect"])
    assert faster.x[place] + faster.error_x.array[place] == pytest.approx(expected["high"])


@pytest.mark.parametrize("factor", [1.005, 1.03, 1.3, 2.0, 9.0, 300.0])
def test_the_axis_of_ratios_has_few_ticks_and_all_marks(factor: float, view: View) -> None:
    row = {"knob": "num_workers", "reference": 0, "value": 3, "metric": "samples_per_s",
           "kind": "ratio", "effect": factor, "low": factor / 1.001, "high": factor * 1.001,
           "p": 0.001, "verdict": "higher", "num_pairs": 2, "smallest": factor, "largest": factor,
           "basis": "repeats and pairs", "composed": False, "group": "all"}  # fmt: skip
    axis = forest(view, pd.DataFrame([row]), "samples_per_s").figure.layout.xaxis
    low, high = axis.range
    assert low < math.log10(row["low"]) < math.log10(row["high"]) < high  # type: ignore[arg-type]
    assert 1 <= len(axis.tickvals) <= 6
    assert 1.0 in axis.tickvals


def test_an_effect_without_an_interval_has_a_mark_without_a_bar(view: View) -> None:
    rows = main_effects(view).head(1).assign(low=math.nan, high=math.nan, verdict="not decided")
    (trace,) = forest(view, rows, "samples_per_s").figure.data
    assert (list(trace.error_x.array), list(trace.error_x.arrayminus)) == ([0.0], [0.0])
    assert "no interval" in trace.text[0]
