"""A run's tables, joined and marked once."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from orchestrator.analysis.report.view import View, axis_title, thinned, tick_format
from tests.orchestrator.analysis.made_runs import products_run
from tests.orchestrator.analysis.report.pages import view_of_run

AXES = ("metrics.samples_per_s", "metrics.val_acc")


def cloud(number: int = 3000) -> pd.DataFrame:
    """A crowd at one place, ten configs far from it, three that are marked and a few contenders."""
    rng = np.random.default_rng(0)
    points = rng.normal([1000, 0.9], [1, 0.0001], size=(number, 2))
    points[:10] = np.column_stack([np.linspace(100, 500, 10), np.linspace(0.1, 0.5, 10)])
    frame = pd.DataFrame(points, columns=list(AXES))
    marks = ["on_front", "is_baseline", "is_recommended"]
    frame[marks] = False
    for place, mark in enumerate(marks, start=100):
        frame.loc[place, mark] = True
    return frame.assign(verdict=["tied" if i % 100 == 7 else "worse" for i in range(number)])


def test_few_configs_are_all_drawn() -> None:
    frame = cloud()
    assert thinned(frame, AXES, seed=0, most=3000) is frame


@pytest.mark.parametrize("seed", range(3))
def test_what_matters_stays_and_no_crowd_hides_a_sparse_region(seed: int) -> None:
    drawn = thinned(cloud(), AXES, seed=seed, most=200)
    assert len(drawn) == 200
    assert {100, 101, 102, *range(10)} <= set(drawn.index)
    assert (drawn["verdict"] == "tied").sum() == 30
    assert drawn.index.is_monotonic_increasing


def test_the_same_seed_draws_the_same_configs() -> None:
    first, again, other = (thinned(cloud(), AXES, seed=s, most=200) for s in (0, 0, 1))
    assert first.index.equals(again.index)
    assert not first.index.equals(other.index)


def test_contenders_leave_room_for_the_others() -> None:
    frame = cloud().assign(verdict="unresolved")
    frame.loc[1500:, "verdict"] = "worse"
    drawn = thinned(frame, AXES, seed=0, most=203)
    assert drawn["verdict"].value_counts().to_dict() == {"unresolved": 103, "worse": 100}


def test_a_front_larger_than_the_room_is_drawn_whole() -> None:
    frame = cloud().assign(on_front=True)
    assert len(thinned(frame, AXES, seed=0, most=200)) == 3000


def test_figures_that_are_missing_or_all_equal_do_not_matter() -> None:
    frame = cloud()
    frame.loc[50:60, AXES[0]] = np.nan
    frame[AXES[1]] = np.nan
    assert len(thinned(frame, AXES, seed=0, most=200)) == 200
    assert len(thinned(frame.assign(**dict.fromkeys(AXES, 1.0)), AXES, seed=0, most=200)) == 200
    assert len(thinned(frame, (), seed=0, most=200)) == 200


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
