"""What a function finds beside its config: checkpoints and the context."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from ray import tune

from orchestrator import from_ray, minimize
from orchestrator.measurement.context import TrialStopped
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


def test_a_trial_pauses_after_so_many_reports(tmp_path: Path) -> None:
    trainable = from_ray(counts, config={"w": 1}, keeps_checkpoints=True)

    with pytest.raises(TrialStopped):
        trained(trainable, folder=tmp_path, pause_after=2)
    assert [path.name for path in tmp_path.glob("ray-*")] == ["ray-2"]


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
