"""What a function gets in addition to its config: checkpoints and the context."""

# ruff: noqa: ANN401 - whatever users write for Ray Tune

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ray import tune
from ray.tune.stopper import MaximumIterationStopper, Stopper

from orchestrator import from_ray, minimize
from orchestrator.execution.ray.functions.session import figures_of
from orchestrator.measurement.run import TrialStopped
from tests.orchestrator.execution.ray.functions.trials import trained


def counts(config: dict[str, Any]) -> None:
    """Report the number of the last checkpoint, and keep the next one."""
    for _ in range(3):
        checkpoint, number = tune.get_checkpoint(), 0
        if checkpoint is not None:
            with checkpoint.as_directory() as folder:
                number = int((Path(folder) / "number").read_text())
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "number").write_text(str(number + 1))
            tune.report({"n": number}, checkpoint=tune.Checkpoint.from_directory(folder))


def test_the_last_checkpoint_is_there_in_the_same_training_and_in_the_next(tmp_path: Path) -> None:
    trainable = from_ray(counts, config={"w": 1})

    assert trained(trainable, folder=tmp_path) == [{"n": 0.0}, {"n": 1.0}, {"n": 2.0}]
    assert [path.name for path in tmp_path.glob("ray-*")] == ["ray-3"], "only the last one is kept"
    assert trained(trainable, folder=tmp_path)[0] == {"n": 3.0}


def test_the_context_is_the_trials() -> None:
    seen: dict[str, Any] = {}

    def asks(config: dict[str, Any]) -> None:
        context = tune.get_context()
        seen.update(
            id=context.get_trial_id(), name=context.get_trial_name(),
            experiment=context.get_experiment_name(), folder=context.get_trial_dir(),
            resources=context.get_trial_resources(), here=str(Path.cwd()),
            ranks=(context.get_world_size(), context.get_world_rank(), context.get_local_rank()),
        )  # fmt: skip

    trained(from_ray(asks, config={}))
    assert seen["id"] == "abcde12345"
    assert seen["name"] == "asks_abcde12345"
    assert seen["experiment"] == "asks"
    assert seen["folder"] == seen["here"]
    assert seen["resources"].required_resources == {"CPU": 1.0}
    assert seen["ranks"] == (None, None, None)


def test_what_ray_tune_fills_in_is_recorded_where_it_is_asked_for() -> None:
    def steps(config: dict[str, Any]) -> None:
        for _ in range(2):
            tune.report({"score": 1.0, "time_this_iter_s": 2.5})

    assert trained(from_ray(steps, config={})) == [{"score": 1.0}] * 2
    asked = [minimize("training_iteration"), minimize("time_this_iter_s"), minimize("time_total_s")]
    first, second = trained(from_ray(steps, config={}, reports=asked))
    assert [each["training_iteration"] for each in (first, second)] == [1, 2]
    assert second["time_this_iter_s"] == 2.5
    assert 0 < first["time_total_s"] < second["time_total_s"]


# -- the end of a training


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


@pytest.mark.parametrize(
    ("stop", "count"),
    [
        ({"timesteps_total": 30}, 3),
        ({"training_iteration": 2}, 2),
        ({"inner/x": 4, "score": 2}, 3),
        (lambda trial_id, result: result["inner"]["x"] >= 1 and result["config"]["w"] == 5, 2),
        ([MaximumIterationStopper(7), MaximumIterationStopper(2)], 2),
        (Patient(), 4),
    ],
)
def test_it_ends_as_under_ray_tune(stop: Any, count: int) -> None:
    assert len(trained(from_ray(steps, config={"w": 5}, stop=stop))) == count


# -- figures


@pytest.mark.parametrize(
    ("reported", "recorded"),
    [
        ({"val": {"top1": 0.5, "by": {"a": 1}}, "name": "x", "list": [1, 2]},
         {"val/top1": 0.5, "val/by/a": 1.0}),
        ({"n": np.float32(2), "d": True, "z": np.array(3), "v": np.ones(2), "b": np.bool_(True)},
         {"n": 2.0, "d": 1.0, "z": 3.0, "b": 1.0}),
        ({1: 2, "done": True, "config": {"lr": 1}, "pid": 7, "trial_id": "x"}, {"1": 2.0}),
    ],
)  # fmt: skip
def test_numbers_are_recorded_by_name(reported: dict[Any, Any], recorded: dict[str, float]) -> None:
    assert figures_of(reported) == recorded


def test_a_trial_pauses_after_so_many_reports(tmp_path: Path) -> None:
    trainable = from_ray(counts, config={"w": 1}, keeps_checkpoints=True)

    with pytest.raises(TrialStopped):
        trained(trainable, folder=tmp_path, pause_after=2)
    assert [path.name for path in tmp_path.glob("ray-*")] == ["ray-2"]
