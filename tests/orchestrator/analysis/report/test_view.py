"""A run's tables, joined and marked once."""

from __future__ import annotations

import pytest

from orchestrator.analysis.report.view import View, axis_title, tick_format
from tests.orchestrator.analysis.made_runs import products_run
from tests.orchestrator.analysis.report.pages import view_of_run


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


@pytest.mark.parametrize(
    ("metric", "title", "ticks"),
    [("samples_per_s", "speed (samples/s)", ""), ("val_acc", "validation accuracy", ".2~%"),
     ("val_balanced_acc", "balanced validation accuracy", ".2~%"),
     ("val_auc", "validation AUC", ".2~%"), ("val_loss", "validation loss", ""),
     ("epoch_s", "epoch_s (s)", ""), ("my_score", "my_score", "")],
)  # fmt: skip
def test_an_axis_has_the_metrics_name_and_unit(metric: str, title: str, ticks: str) -> None:
    assert (axis_title(metric), tick_format(metric)) == (title, ticks)
