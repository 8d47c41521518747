"""A run's tables, joined and marked once."""

from __future__ import annotations

import pandas as pd

from orchestrator.analysis.report.view import View, axis_title, thinned, tick_format
from tests.orchestrator.analysis.made_runs import products_run
from tests.orchestrator.analysis.report.pages import view_of_run


def test_of_many_configs_the_marked_ones_and_a_sample_are_drawn() -> None:
    marks = ["on_front", "is_baseline", "is_recommended"]
    frame = pd.DataFrame({mark: [place == n for n in range(3000)] for place, mark in
                          enumerate(marks, start=100)})  # fmt: skip
    assert thinned(frame, seed=0, most=3000) is frame
    drawn, again, other = (thinned(frame, seed=seed, most=200) for seed in (0, 0, 1))
    assert len(drawn) == 200
    assert {100, 101, 102} <= set(drawn.index)
    assert drawn.index.is_monotonic_increasing
    assert drawn.index.equals(again.index)
    assert not drawn.index.equals(other.index)
    assert len(thinned(frame.assign(on_front=True), seed=0, most=200)) == 3000


def test_baseline_and_recommended_config_are_marked_in_both_stages(view: View) -> None:
    for configs in (view.configs, view.confirmed):
        assert configs.loc[configs["is_baseline"], "params.num_workers"].tolist() == [0]
        assert configs.loc[configs["is_recommended"], "params.num_workers"].tolist() == [3]
    labels = view.configs.loc[view.configs["is_recommended"], "label"].tolist()
    assert labels == ["lr=0.01 batch_size=4000 num_workers=3"]


def test_configs_of_other_conditions_are_apart() -> None:
    run = products_run()
    for row in run.rows[:4]:
        row["device"] = "NVIDIA H200"
    view = view_of_run(run)
    assert {name: len(rows) for name, rows in view.others.items()} == {"device NVIDIA H200": 1}
    assert len(view.configs) == 20


def test_an_axis_has_the_metrics_name_and_unit() -> None:
    metrics = ("samples_per_s", "val_acc", "epoch_s", "my_score")
    assert [axis_title(metric) for metric in metrics] == [
        "speed (samples/s)", "validation accuracy", "epoch_s (s)", "my_score",
    ]  # fmt: skip
    assert [tick_format(metric) for metric in metrics] == ["", ".2~%", "", ""]
