"""Where a step's time goes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.analysis.report.sections.steps import MAX_BARS, phase_times, steps_of
from orchestrator.analysis.report.view import View


def test_phases_add_up_to_the_time_of_as_many_samples(view: View) -> None:
    rows = view.trials[view.trials["state"] == "completed"]
    parts = phase_times(rows)
    assert parts.sum(axis=1).tolist() == pytest.approx(
        (1e6 / rows["metrics.samples_per_s"]).tolist(), rel=1e-6
    )


def test_the_recommended_config_and_the_baseline_are_among_the_bars(view: View) -> None:
    (drawn,) = steps_of(view).figures
    names = list(drawn.figure.data[0].y)
    assert len(names) == len(drawn.table) == MAX_BARS
    assert sum("(recommended)" in name for name in names) == 1
    assert sum("(baseline)" in name for name in names) == 1
    assert drawn.caption.endswith("8 other configs are not drawn.")
    waits = next(trace for trace in drawn.figure.data if trace.name == "wait")
    assert drawn.table["wait_ms_per_1000_samples"].tolist() == list(waits.x)


def test_without_phases_a_sentence_says_so(view: View) -> None:
    section = steps_of(replace(view, configs=view.configs.drop(columns="metrics.forward_ms")))
    assert (section.figures, section.missing) == ((), "the phases of a step were not measured")
