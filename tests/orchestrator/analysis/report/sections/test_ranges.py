"""Ranges of the pictures' axes."""

from __future__ import annotations

import pandas as pd

from orchestrator.analysis.report.sections.ranges import are_hidden, range_from_limit, speed_axis
from orchestrator.metrics import maximize
from tests.orchestrator.analysis.made_runs import MadeRun, config
from tests.orchestrator.analysis.report.pages import view_of_run

NONE_HIDDEN = pd.Series([False, False])


def test_speeds_far_apart_have_a_logarithmic_axis() -> None:
    speeds = pd.DataFrame({"speed": [1.0, 100.0]})
    assert speed_axis(speeds, "speed", NONE_HIDDEN) == {"type": "log"}
    assert speed_axis(speeds + 10, "speed", NONE_HIDDEN) == {"type": "linear"}
    assert speed_axis(speeds - 1, "speed", NONE_HIDDEN) == {"type": "linear"}, "0 has no logarithm"


def test_the_axis_ends_where_what_is_in_sight_ends() -> None:
    speeds = pd.DataFrame({"speed": [10.0, 20.0, 1000.0], "speed_high": [11.0, 22.0, 1100.0]})
    axis = speed_axis(speeds, "speed", pd.Series([False, False, True]))
    low, high = axis["range"]
    assert axis["type"] == "linear"
    assert low < 10 < 22 < high < 24


def test_a_figure_that_is_missing_is_not_hidden() -> None:
    rows = pd.DataFrame({"accuracy": [0.1, 0.9, float("nan")]})
    assert are_hidden(rows, "accuracy", [0.5, 1.0]).tolist() == [True, False, False]
    assert not are_hidden(rows, "accuracy", None).any()
    assert not are_hidden(rows, "other", [0.5, 1.0]).any()


def test_one_config_has_all_of_its_axis() -> None:
    run = MadeRun()
    run.add(config())
    assert range_from_limit(view_of_run(run), maximize("val_acc")) is None
