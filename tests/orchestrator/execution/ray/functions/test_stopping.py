"""When a training ends, as of Ray Tune's ``RunConfig``."""

# ruff: noqa: ANN401 - whatever users write for Ray Tune

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest
from ray import tune
from ray.tune.stopper import (
    ExperimentPlateauStopper,
    MaximumIterationStopper,
    Stopper,
    TimeoutStopper,
)

from orchestrator import SweepFileError, from_ray, minimize
from orchestrator.execution.ray.functions.stopping import ends_with
from tests.orchestrator.execution.ray.functions.trials import trained


def steps(config: dict[str, Any]) -> None:
    for step in range(9):
        tune.report({"score": step, "timesteps_this_iter": 10, "inner": {"x": step}})


class Patient(Stopper):
    """It ends all trials, once one is good enough."""

    is_over = False

    def __call__(self, trial_id: str, result: Mapping[str, Any]) -> bool:
        self.is_over = result["score"] >= 3
        return False

    def stop_all(self) -> bool:
        return self.is_over


def test_a_training_ends_with_a_figure_or_when_it_is_done() -> None:
    assert ends_with({"done": True}, {})
    assert not ends_with({"done": False, "a": 5}, {"b": 1})
    assert ends_with({"a": {"b": 5}}, {"a/b": 5})
    assert not ends_with({"a": 4.9}, {"a": 5})
    assert ends_with({"done": True}, lambda trial_id, result: False)


@pytest.mark.parametrize(
    ("stop", "count"),
    [
        ({"timesteps_total": 30}, 3),
        ({"iterations_since_restore": 2}, 2),
        ({"inner/x": 4, "score": 2}, 3),
        (lambda trial_id, result: result["inner"]["x"] >= 1 and result["config"]["w"] == 5, 2),
        (MaximumIterationStopper(4), 4),
        ([MaximumIterationStopper(7), MaximumIterationStopper(2)], 2),
        (Patient(), 4),
    ],
)
def test_it_ends_as_under_ray_tune(stop: Any, count: int) -> None:
    assert len(trained(from_ray(steps, config={"w": 5}, stop=stop))) == count


def test_figures_that_ray_tune_fills_in_are_recorded_where_they_are_asked_for() -> None:
    asked = [minimize("timesteps_total"), minimize("iterations_since_restore")]
    told = trained(from_ray(steps, config={}, reports=asked))
    assert told[2]["timesteps_total"] == 30
    assert told[2]["iterations_since_restore"] == 3


@pytest.mark.parametrize(
    ("stop", "says"),
    [
        ({"inner": {"x": 1}}, "stop['inner'] is a dictionary\\n.*inner/x"),
        ({"score": "high"}, "stop['score'] = 'high' is no number"),
        ("score", "stop = 'score' is not allowed\\n.*allowed: {\"training_iteration\""),
        ([MaximumIterationStopper(1), {"score": 1}], "stop = {'score': 1} is not allowed"),
        (lambda result: True, "stop = .* is not allowed\\n.*a function of trial_id and result"),
        (TimeoutStopper(timedelta(seconds=1)), "TimeoutStopper ends all.*\\n.*--time-budget"),
        (ExperimentPlateauStopper("score"), "ExperimentPlateauStopper ends all trials"),
    ],
)  # fmt: skip
def test_what_is_no_stop_is_refused(stop: Any, says: str) -> None:
    with pytest.raises(SweepFileError, match=says.replace("[", r"\[").replace("{", r"\{")):
        from_ray(steps, config={"w": 1}, stop=stop)
