"""What Ray Tune fills in to a report."""

from __future__ import annotations

from typing import Any

from ray import tune

from orchestrator.execution.ray.functions.filled import FILLED, FilledIn


class _Own(tune.Trainable):
    """A class of Ray Tune's, which fills in by itself."""

    def step(self) -> dict[str, float]:
        return {"timesteps_this_iter": 10, "episodes_this_iter": 2, "time_this_iter_s": 2.5}


def test_it_is_what_ray_tunes_own_class_fills_in() -> None:
    own: Any = _Own({"w": 1})
    ours = FilledIn("default", {"w": 1})
    for _ in range(3):
        step = own.step()
        theirs, filled = own.train(), ours.to(step)
        assert set(theirs) == set(filled) <= FILLED | set(step)
        differing = {name for name in theirs if theirs[name] != filled[name]}
        assert differing <= {"node_ip", "timestamp", "date"}
    assert (filled["time_total_s"], filled["timesteps_total"]) == (7.5, 30)
    assert (filled["training_iteration"], filled["iterations_since_restore"]) == (3, 3)


def test_what_a_function_reports_itself_stays_where_ray_tune_lets_it() -> None:
    kept = {"training_iteration": 50, "timesteps_total": 7, "done": True}
    filled = FilledIn("t", {}).to({**kept, "iterations_since_restore": 9, "time_total_s": 99.0})
    assert kept.items() <= filled.items()
    assert filled["iterations_since_restore"] == 1
    assert filled["time_total_s"] < 9


def test_it_goes_on_from_a_checkpoint() -> None:
    ours = FilledIn("t", {})
    ours.go_on_after(4, 100.0)
    filled = ours.to({"time_this_iter_s": 1.0})
    assert (filled["training_iteration"], filled["iterations_since_restore"]) == (5, 1)
    assert (filled["time_total_s"], filled["time_since_restore"]) == (101.0, 1.0)
