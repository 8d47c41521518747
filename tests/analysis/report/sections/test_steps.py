"""Where a step's time goes."""

from __future__ import annotations

import pytest

from analysis.report.sections.steps import MAX_BARS, phase_times, step_times
from analysis.report.view import View


def test_phases_add_up_to_the_time_of_as_many_samples(view: View) -> None:
    rows = view.trials[view.trials["state"] == "completed"]
    parts = phase_times(rows)
    assert parts.sum(axis=1).tolist() == pytest.approx(
        (1e6 / rows["metrics.samples_per_s"]).tolist(), rel=1e-6
    )


def test_the_recommended_config_and_the_baseline_are_among_the_bars(view: View) -> None:
    figure = step_times(view)
    assert figure is not None
    names = list(figure.data[0].y)
    assert len(names) == MAX_BARS
    assert sum("(recommended)" in name for name in names) == 1
    assert sum("(baseline)" in name for name in names) == 1
