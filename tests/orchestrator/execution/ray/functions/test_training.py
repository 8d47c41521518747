"""One trial of a function: what it returns, its folder, and how it ends."""

# ruff: noqa: ANN401 - whatever users write for Ray Tune

from __future__ import annotations

import functools
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import ray
from ray import tune

from orchestrator import from_ray
from orchestrator.execution.ray.functions.training import RayInTrialError, own_function
from orchestrator.measurement.run import Context, Run
from orchestrator.trial import Budget
from tests.orchestrator.execution.ray.functions.trials import Channel, trained


def reports_of(function: Callable[..., Any], **others: Any) -> list[dict[str, float]]:
    return trained(from_ray(function, config={"w": 2.0}, **others))


def returning(config: dict[str, Any]) -> dict[str, float]:
    return {"score": config["w"]}


def with_more(more: float, config: dict[str, Any]) -> None:
    tune.report({"score": more * config["w"]})


class Owner:
    """An object with a method."""

    def train(self, config: dict[str, Any]) -> None:
        tune.report({"score": 4.0})


def leaving(config: dict[str, Any]) -> None:
    tune.report({"score": 1.0})
    sys.exit(0)


@pytest.mark.parametrize(
    ("function", "reports"),
    [(leaving, 1.0), (tune.with_resources(returning, {"cpu": 1}), 2.0), (Owner().train, 4.0)],
)
def test_what_ray_tune_takes_is_taken(function: Callable[..., Any], reports: float) -> None:
    assert reports_of(function) == [{"score": reports}]


def test_functions_beside_each_other_share_no_file() -> None:
    here, seen = Path.cwd(), []

    def writing(config: dict[str, Any]) -> None:
        seen.append((Path.cwd(), list(Path().iterdir()), os.environ["TUNE_ORIG_WORKING_DIR"]))
        Path("own").write_text("mine")

    for _ in range(2):
        reports_of(writing)
    assert [files for _, files, _ in seen] == [[], []]
    assert {original for *_, original in seen} == {str(here)}
    assert Path.cwd() == here
    assert not any(folder.exists() for folder, *_ in seen)


def test_files_that_go_with_their_trial_are_named(capfd: pytest.CaptureFixture[str]) -> None:
    def writing(config: dict[str, Any]) -> None:
        Path("logs").mkdir()
        Path("logs/best.pt").touch()

    notes = []
    for function in (writing, returning):
        run = Run(Context(seed=0, budget=Budget(epochs=1)), Channel())
        trainable = from_ray(function, config={"w": 2.0})
        trainable.train(trainable.config(), run)
        notes.append(run.notes)
    assert [len(each) for each in notes] == [1, 0]
    assert "logs/best.pt" in capfd.readouterr().err


def test_the_users_own_function_is_found_in_its_wrappers() -> None:
    method = Owner().train
    wrapped = (
        functools.partial(with_more, 3.0),
        tune.with_parameters(with_more, more=1.0),
        functools.partial(tune.with_parameters(with_more, more=1.0)),
        tune.with_resources(with_more, {"cpu": 1}),
    )
    assert {own_function(each) for each in wrapped} == {with_more}
    assert own_function(tune.with_resources(method, {"cpu": 1})) == method
    assert from_ray(tune.with_parameters(with_more, more=1.0), config={}).name == "with_more"
    assert from_ray(lambda config: None, config={}).name == "function"


def test_a_call_of_ray_says_that_a_trial_has_none() -> None:
    task = ray.remote(num_cpus=0)(returning)
    calls_of_ray: list[Callable[[], Any]] = [
        lambda: ray.put(1), lambda: task.remote({}), lambda: ray.init(),
    ]  # fmt: skip
    for call in calls_of_ray:

        def calls(config: dict[str, Any], call: Callable[[], Any] = call) -> None:
            call()

        with pytest.raises(RayInTrialError, match=r"ray\.get.*tune\.with_parameters.*multiproc"):
            reports_of(calls)


# -- classes


class Counts(tune.Trainable):
    """It counts from a figure of its config."""

    cleaned = 0

    def setup(self, config: dict[str, Any], more: int = 0) -> None:
        self.x = config["w"] + more
        self.here = Path(self.logdir) == Path.cwd()

    def step(self) -> dict[str, Any]:
        self.x += 1
        return {"x": self.x, "inner": {"i": self.iteration}, "done": self.x >= 9, "own": self.here}

    def save_checkpoint(self, checkpoint_dir: str) -> Any:
        return {"x": self.x}

    def load_checkpoint(self, checkpoint: Any) -> None:
        self.x = checkpoint["x"]

    def cleanup(self) -> None:
        type(self).cleaned += 1


class CountsInFiles(Counts):
    """It writes its checkpoints itself."""

    def save_checkpoint(self, checkpoint_dir: str) -> None:
        (Path(checkpoint_dir) / "x.json").write_text(json.dumps(self.x))

    def load_checkpoint(self, checkpoint: Any) -> None:
        self.x = json.loads((Path(checkpoint) / "x.json").read_text())


def test_its_steps_are_reported_until_it_is_done() -> None:
    before = Counts.cleaned
    told = trained(from_ray(Counts, config={"w": 6}, stop={}))
    assert [each["x"] for each in told] == [7, 8, 9]
    assert [each["inner/i"] for each in told] == [0, 1, 2]
    assert {each["own"] for each in told} == {1.0}
    assert Counts.cleaned == before, "its own class is derived from"


@pytest.mark.parametrize("made", [Counts, CountsInFiles])
def test_it_goes_on_from_its_checkpoint(made: type, tmp_path: Path) -> None:
    trainable = from_ray(
        made, config={"w": 0}, stop={"training_iteration": 4}, keeps_checkpoints=True
    )
    short = from_ray(made, config={"w": 0}, stop={"training_iteration": 2}, keeps_checkpoints=True)

    trained(short, folder=tmp_path)
    told = trained(trainable, folder=tmp_path)
    assert [(each["x"], each["inner/i"]) for each in told] == [(3, 2), (4, 3)]
