"""One trial of a function or class has the same state and reports as in Ray Tune 2.60."""

# ruff: noqa: ANN401 - whatever users write for Ray Tune

import copy
import functools
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import ray
from ray import tune

from orchestrator import from_ray, maximize
from orchestrator.execution.ray.functions.training import own_function
from orchestrator.measurement.run import Context, Run
from orchestrator.trial import Budget
from tests.orchestrator.execution.ray.functions.trials import trained
from tests.trainables.running import Reports

Config = dict[str, Any]
W = 2.0
CONFIG: Config = {"w": W, "model": {"depth": 3, "act": "relu"}, "layers": [8, 4]}


def give(score: float) -> Any:
    tune.report({"score": score})


def reports_thrice(config: Config) -> None:
    for step in range(3):
        tune.report({"score": config["w"] + step, "loss": 1.0 / (step + 1)})


def returns_a_dictionary(config: Config) -> Config:
    return {"score": config["w"] * 3}


def returns_a_number(config: Config) -> float:
    return 2.5


def yields_numbers(config: Config) -> Iterator[float]:
    yield 1.5
    yield 2.5


def yields_dictionaries(config: Config) -> Iterator[Config]:
    for step in range(3):
        yield {"score": config["w"] * step}


def raises(config: Config) -> None:
    give(1.0)
    raise ValueError("no")


class Endless(tune.Trainable):
    """A class that never is done."""

    def setup(self, config: Config) -> None:
        self.x = config["w"]

    def step(self) -> Config:
        self.x += 1
        return {"score": self.x, "whole": self.training_iteration}


def scaled(more: float, config: Config) -> None:
    tune.report({"score": more * config["w"]})


class Owner:
    """An object with a method."""

    def train(self, config: Config) -> None:
        tune.report({"score": 4.0})


def scores(*figures: float) -> list[dict[str, float]]:
    return [{"score": figure} for figure in figures]


THRICE = [{"score": 2.0, "loss": 1.0}, {"score": 3.0, "loss": 0.5}, {"score": 4.0, "loss": 1 / 3}]
COUNTED = [{"score": float(number + 2), "whole": float(number - 1)} for number in (1, 2, 3, 4)]


@pytest.mark.parametrize(
    ("function", "stop", "state", "reports"),
    [
        (reports_thrice, {}, "completed", THRICE),
        (reports_thrice, {"score": 3.0}, "completed", THRICE[:2]),
        (lambda c: give(c["model"]["depth"] * sum(c["layers"])), {}, "completed", scores(36)),
        (lambda c: c["layers"].append(c.pop("w")) or give(sum(c["layers"])), {}, "completed",
         scores(14)),
        (returns_a_dictionary, {}, "completed", scores(6)),
        (returns_a_number, {}, "completed", [{"_metric": 2.5}]),
        (lambda _: give(1.0) or "done", {}, "failed", scores(1)),
        (yields_dictionaries, {}, "completed", scores(0, 2, 4)),
        (yields_numbers, {}, "completed", [{"_metric": 1.5}, {"_metric": 2.5}]),
        (raises, {}, "failed", scores(1)),
        (lambda _: give(1.0) or sys.exit(3), {}, "failed", scores(1)),
        (lambda _: give(1.0) or sys.exit(0), {}, "completed", scores(1)),
        (tune.with_resources(returns_a_dictionary, {"cpu": 1}), {}, "completed", scores(6)),
        (Owner().train, {}, "completed", scores(4)),
        (Endless, {"training_iteration": 4}, "completed", COUNTED),
        (functools.partial(scaled, 3.0), {}, "completed", scores(6)),
    ],
)  # fmt: skip
def test_the_state_and_the_reports_are_those_of_ray_tune(
    function: Callable[..., Any],
    stop: dict[str, float],
    state: str,
    reports: list[dict[str, float]],
    tmp_path: Path,
) -> None:
    config = copy.deepcopy(CONFIG)
    trainable = from_ray(function, config=config, reports=[maximize("score")], stop=stop)
    ended = "completed"
    try:
        trained(trainable, folder=tmp_path)
    except (Exception, SystemExit):  # noqa: BLE001 - as a trial's process does
        ended = "failed"
    assert ended == state
    assert trained.reports == [pytest.approx(each) for each in reports]  # type: ignore[attr-defined]


def test_ray_tune_s_parameters_are_given() -> None:
    # A Ray that ends forgets the data.
    function = tune.with_parameters(lambda _, data: give(float(data.sum())), data=np.arange(4.0))
    assert trained(from_ray(function, config=CONFIG)) == scores(6)


def test_concurrent_functions_share_no_file() -> None:
    here, seen = Path.cwd(), []

    def writing(config: Config) -> None:
        seen.append((Path.cwd(), list(Path().iterdir()), os.environ["TUNE_ORIG_WORKING_DIR"]))
        Path("own").write_text("mine")

    for _ in range(2):
        trained(from_ray(writing, config={}))
    assert [files for _, files, _ in seen] == [[], []]
    assert {original for *_, original in seen} == {str(here)}
    assert Path.cwd() == here
    assert not any(folder.exists() for folder, *_ in seen)


def test_files_that_go_with_their_trial_are_named(capfd: pytest.CaptureFixture[str]) -> None:
    def writing(config: dict[str, Any]) -> None:
        Path("logs").mkdir()
        Path("logs/best.pt").touch()

    notes = []
    for function in (writing, returns_a_number):
        run = Run(Context(seed=0, budget=Budget(epochs=1)), Reports())
        trainable = from_ray(function, config={"w": 2.0})
        trainable.train(trainable.config(), run)
        notes.append(run.notes)
    assert [len(each) for each in notes] == [1, 0]
    assert "logs/best.pt" in capfd.readouterr().err


def test_the_users_own_function_is_found_in_its_wrappers() -> None:
    method = Owner().train
    wrapped = (
        functools.partial(scaled, 3.0),
        tune.with_parameters(scaled, more=1.0),
        functools.partial(tune.with_parameters(scaled, more=1.0)),
        tune.with_resources(scaled, {"cpu": 1}),
    )
    assert {own_function(each) for each in wrapped} == {scaled}
    assert own_function(tune.with_resources(method, {"cpu": 1})) == method
    assert from_ray(tune.with_parameters(scaled, more=1.0), config={}).name == "scaled"
    assert from_ray(lambda config: None, config={}).name == "function"


def test_a_call_of_ray_starts_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ray._private.auto_init_hook.enable_auto_connect", True)
    task = ray.remote(num_cpus=0)(returns_a_number)
    calls_of_ray: list[Callable[[], Any]] = [lambda: ray.put(1), lambda: task.remote({})]
    for call in calls_of_ray:

        def calls(config: Config, call: Callable[[], Any] = call) -> None:
            call()

        with pytest.raises(Exception, match="Ray has not been started"):
            trained(from_ray(calls, config={}))


# -- classes


class Counts(tune.Trainable):
    """It counts from a figure of its config."""

    cleaned = 0

    def setup(self, config: Config, more: int = 0) -> None:
        self.x = config["w"] + more
        self.here = Path(self.logdir) == Path.cwd()

    def step(self) -> Config:
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
    reports = trained(from_ray(Counts, config={"w": 6}, stop={}))
    assert [each["x"] for each in reports] == [7, 8, 9]
    assert [each["inner/i"] for each in reports] == [0, 1, 2]
    assert {each["own"] for each in reports} == {1.0}
    assert Counts.cleaned == before, "its own class is derived from"


@pytest.mark.parametrize("made", [Counts, CountsInFiles])
def test_it_resumes_from_its_checkpoint(made: type, tmp_path: Path) -> None:
    trainable = from_ray(
        made, config={"w": 0}, stop={"training_iteration": 4}, keeps_checkpoints=True
    )
    short = from_ray(made, config={"w": 0}, stop={"training_iteration": 2}, keeps_checkpoints=True)

    trained(short, folder=tmp_path)
    reports = trained(trainable, folder=tmp_path)
    assert [(each["x"], each["inner/i"]) for each in reports] == [(3, 2), (4, 3)]
