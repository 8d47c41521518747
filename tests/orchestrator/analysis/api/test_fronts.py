from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import orchestrator.analysis as an
from orchestrator.metrics import at_most
from tests.orchestrator.analysis.made_runs import MadeRun, config

SPEED, ACCURACY = "metrics.samples_per_s", "metrics.val_acc"
BOTH = ["samples_per_s", "val_acc"]

# Two objectives, larger better: the staircase of three steps, one dominated, one not known.
#   3 |*
#   2 |   *        .
#   1 |      *
#     +--1--2--3
FRAME = pd.DataFrame(
    {SPEED: [1.0, 2.0, 3.0, 1.0, 9.0], ACCURACY: [3.0, 2.0, 1.0, 2.0, math.nan]},
    index=list("abcde"),
)


def test_the_front_is_the_staircase_the_best_of_the_first_objective_first() -> None:
    assert an.pareto_front(FRAME, BOTH).index.tolist() == ["c", "b", "a"]


def test_directions_of_names_are_those_of_the_figures() -> None:
    frame = FRAME.assign(**{"metrics.peak_rss_gib": [1.0, 5, 5, 5, 5]}, euros=[5.0, 1, 5, 5, 5])
    assert an.pareto_front(frame, "peak_rss_gib").index.tolist() == ["a"]
    assert an.pareto_front(frame, ["maximize:peak_rss_gib"]).index.tolist() == [*"bcde"]
    assert an.pareto_front(frame, [an.minimize("euros")]).index.tolist() == ["b"]
    with pytest.raises(an.TableError, match=r"'euros' does not say.*\n  an\.maximize\('euros'\)"):
        an.pareto_front(frame, ["euros"])


def test_a_run_and_its_frames_have_one_front_also_filtered(run: an.RunTables) -> None:
    configs = an.configs(run)
    front = an.pareto_front(run)
    pd.testing.assert_frame_equal(front, an.pareto_front(configs))
    assert set(front.index) == set(configs.index[configs["on_front"]])
    kept = configs[configs["params.num_workers"] > 0].sort_values(SPEED).assign(mine=1)
    again = an.pareto_front(kept)
    assert set(again.index) == set(front.index)  # none of the front was without workers


def test_a_bound_of_the_sweep_keeps_configs_off_the_front(run: an.RunTables) -> None:
    bounded = (*run.sweep.objectives, at_most("peak_rss_gib", 1.0))
    limited = replace(run, sweep=replace(run.sweep, objectives=bounded))
    front = an.pareto_front(limited)
    assert len(front) > 0
    assert (front["params.num_workers"] == 0).all()


def test_groups_have_a_front_each() -> None:
    frame = FRAME.assign(group=["cpu", "gpu", "gpu", "cpu", "gpu"])
    assert an.pareto_front(frame, BOTH).index.tolist() == ["a", "c", "b"]


def test_wrong_use_is_named(run: an.RunTables) -> None:
    configs = an.configs(run)
    with pytest.raises(an.TableError, match=r"a row a trial.*\n  an\.pareto_front\(an\.configs"):
        an.pareto_front(run.trials, BOTH)
    with pytest.raises(an.TableError, match="no figure 'val_ac'; did you mean 'val_acc'"):
        an.pareto_front(configs, ["samples_per_s", an.maximize("val_ac")])
    with pytest.raises(an.TableError, match="'samples_per_sec'; did you mean 'samples_per_s'"):
        an.pareto_front(configs, ["samples_per_sec"])
    with pytest.raises(an.TableError, match=r"does not say what its sweep.*\n.*objectives=\["):
        an.pareto_front(FRAME)
    with pytest.raises(an.TableError, match="one, two or three objectives, not 0"):
        an.pareto_front(configs, [])
    with pytest.raises(an.TableError, match="is a int, not a name"):
        an.pareto_front(configs, [3])  # type: ignore[list-item]
    with pytest.raises(an.TableError, match=r"params\.allocator is text, so that no value"):
        an.pareto_front(configs, [an.maximize("params.allocator")])
    with pytest.raises(an.TableError, match="not a list"):
        an.pareto_front([1, 2])  # type: ignore[arg-type]


def test_a_run_without_configs_has_an_empty_front(empty: an.RunTables) -> None:
    assert an.pareto_front(empty).empty


def test_one_config_is_the_front() -> None:
    made = MadeRun()
    made.add(config())
    assert len(an.pareto_front(made.tables)) == 1


points = st.lists(st.tuples(*[st.integers(0, 9)] * 2), min_size=1, max_size=12)


@settings(max_examples=30, deadline=None)
@given(points)
def test_the_front_of_the_front_is_itself_whatever_is_minimised(
    cells: Sequence[tuple[int, int]],
) -> None:
    frame = pd.DataFrame(cells, columns=[SPEED, ACCURACY], dtype="float64")
    mirrored: Mapping[str, Any] = {SPEED: -frame[SPEED]}
    front = an.pareto_front(frame, BOTH)
    pd.testing.assert_frame_equal(an.pareto_front(front, BOTH), front)
    other = an.pareto_front(frame.assign(**mirrored), [an.minimize("samples_per_s"), "val_acc"])
    assert set(other.index) == set(front.index)


def test_one_hundred_thousand_configs_of_three_objectives_have_a_front() -> None:
    rng = np.random.default_rng(0)
    names = ["samples_per_s", "val_acc", "peak_rss_gib"]
    rows = np.abs(rng.normal(size=(100_000, 3)))
    rows[:, :2] /= 1 + rows[:, 2:]
    frame = pd.DataFrame(rows, columns=[f"metrics.{name}" for name in names])
    front = an.pareto_front(frame, names)
    assert 0 < len(front) < 1000
