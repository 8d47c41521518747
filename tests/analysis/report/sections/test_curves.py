"""Learning curves."""

from __future__ import annotations

from dataclasses import replace

from analysis.report.sections.curves import learning_curves
from analysis.report.view import View


def test_each_trial_is_drawn_once_and_the_recommended_one_last(view: View) -> None:
    figure = learning_curves(view)
    assert figure is not None
    names = [trace.name for trace in figure.data]
    assert names == ["others", "on the front", "baseline", "recommended"]
    gaps = [sum(value is None for value in trace.x) for trace in figure.data]
    train = view.trials[view.trials["stage"] == "train"]
    assert sum(gaps) == train["trial_id"].isin(view.curves["trial_id"]).sum()
    assert gaps[2:] == [1, 1]


def test_without_curves_there_is_no_figure(view: View) -> None:
    assert learning_curves(replace(view, curves=view.curves.iloc[:0])) is None
