"""One figure a config."""

from __future__ import annotations

import pytest

from orchestrator.analysis.recommendation.front import MEASURED_IN, with_confirmed
from orchestrator.analysis.report.view import View
from tests.orchestrator.analysis.made_runs import ACCURACY, SPEED


def test_a_confirmed_config_has_the_figures_of_its_confirm_runs(view: View) -> None:
    for mark in ("is_baseline", "is_recommended"):
        (shown,) = view.shown[view.shown[mark]].to_dict("records")
        (confirmed,) = view.confirmed[view.confirmed[mark]].to_dict("records")
        (searching,) = view.configs[view.configs[mark]].to_dict("records")
        for column in (SPEED, f"{SPEED}_low", ACCURACY, "num_runs", "trial_ids"):
            assert shown[column] == confirmed[column]
        assert shown["verdict"] == searching["verdict"], "confirm runs select nothing"
        assert shown[MEASURED_IN] == "confirm"
    others = view.shown[MEASURED_IN] == "train"
    assert others.sum() == len(view.configs) - 2
    assert view.shown.loc[others, SPEED].equals(view.configs.loc[others, SPEED])
    assert view.shown["num_runs"].dtype == view.configs["num_runs"].dtype


def test_a_figure_that_confirm_runs_lack_stays(view: View) -> None:
    speed_alone = view.confirmed.assign(**{ACCURACY: float("nan")})
    shown = with_confirmed(view.configs, speed_alone, SPEED)
    (row,) = shown[shown["is_recommended"]].to_dict("records")
    (searching,) = view.configs[view.configs["is_recommended"]].to_dict("records")
    assert row[ACCURACY] == searching[ACCURACY]
    assert row[SPEED] == pytest.approx(view.confirmed[view.confirmed["is_recommended"]][SPEED])


def test_a_baseline_that_only_confirm_runs_trained_has_a_row(view: View) -> None:
    without = view.configs[~view.configs["is_baseline"]]
    shown = with_confirmed(without, view.confirmed, SPEED)
    assert len(shown) == len(view.configs)
    (row,) = shown[shown["is_baseline"]].to_dict("records")
    assert (row["verdict"], row["on_front"], row[MEASURED_IN]) == ("", False, "confirm")


def test_without_confirm_runs_nothing_changes(view: View) -> None:
    shown = with_confirmed(view.configs, view.confirmed.iloc[:0], SPEED)
    assert shown.drop(columns=MEASURED_IN).equals(view.configs)
