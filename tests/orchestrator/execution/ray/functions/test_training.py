"""One trial of a function: what it returns, its folder, and how it ends."""

# ruff: noqa: ANN401 - whatever users write for Ray Tune

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import ray
import torch
from ray import tune

from orchestrator import from_ray
from orchestrator.execution.ray.functions.own_process import RayInTrialError
from orchestrator.execution.ray.functions.training import own_function
from tests.orchestrator.execution.ray.functions.trials import trained


def reports_of(function: Callable[..., Any], **others: Any) -> list[dict[str, float]]:
    return trained(from_ray(function, config={"w": 2.0}, **others))


def returning(config: dict[str, Any]) -> dict[str, float]:
    return {"score": config["w"]}


def yielding(config: dict[str, Any]) -> Iterator[dict[str, float]]:
    for step in range(2):
        yield {"score": config["w"] * step}


def number(config: dict[str, Any]) -> float:
    return float(config["w"])


def leaving(config: dict[str, Any]) -> None:
    tune.report({"score": 1.0})
    sys.exit(0)


def done(config: dict[str, Any]) -> None:
    for step in range(5):
        tune.report({"score": float(step), "done": step == 1})


def with_more(more: float, config: dict[str, Any]) -> None:
    tune.report({"score": more * config["w"]})


def with_data(config: dict[str, Any], data: list[float]) -> None:
    tune.report({"score": sum(data)})


class Owner:
    """An object with a method."""

    def train(self, config: dict[str, Any]) -> None:
        tune.report({"score": 4.0})


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (returning, [{"score": 2.0}]),
        (yielding, [{"score": 0.0}, {"score": 2.0}]),
        (number, [{"_metric": 2.0}]),
        (leaving, [{"score": 1.0}]),
        (done, [{"score": 0.0}, {"score": 1.0}]),
        (functools.partial(with_more, 3.0), [{"score": 6.0}]),
        (tune.with_resources(returning, {"cpu": 1}), [{"score": 2.0}]),
        (Owner().train, [{"score": 4.0}]),
    ],
)
def test_what_ray_tune_takes_is_taken(
    function: Callable[..., Any], told: list[dict[str, float]]
) -> None:
    assert reports_of(function) == told


def test_a_function_with_data_of_its_own_is_taken() -> None:
    assert reports_of(tune.with_parameters(with_data, data=[1.0, 2.0])) == [{"score": 3.0}]


@pytest.mark.parametrize(
    ("function", "error", "says"),
    [
        (lambda config: [1.0], ValueError, "it returned or yielded a list"),
        (lambda config: sys.exit(3), SystemExit, "3"),
        (lambda config: next(iter(())), StopIteration, "^$"),
        (lambda config: yielding(config), ValueError, "it returned or yielded a generator"),
        (lambda config: {"x": torch.zeros(1)}, ValueError, "x is a tensor, which Ray Tune refuses"),
        (lambda config: tune.report(1.0), AttributeError, "copy"),
    ],
)
def test_what_ray_tune_does_not_take_fails(
    function: Callable[..., Any], error: type[BaseException], says: str
) -> None:
    with pytest.raises(error, match=says):
        reports_of(function)


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


def test_it_stays_in_the_users_folder_where_it_is_told_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_CHDIR_TO_TRIAL_DIR", "0")
    seen: list[Path] = []
    reports_of(lambda config: seen.append(Path.cwd()))
    assert seen == [Path.cwd()]


def test_a_training_ends_at_a_figure() -> None:
    def steps(config: dict[str, Any]) -> None:
        for step in range(9):
            tune.report({"score": float(step), "inner": {"x": step}})

    assert len(reports_of(steps, stop={"inner/x": 2})) == 3
    assert len(reports_of(steps, stop={"training_iteration": 4, "missing": 1})) == 4


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
        lambda: ray.put(1), lambda: ray.get([]), lambda: task.remote({}), lambda: ray.init(),
    ]  # fmt: skip
    for call in calls_of_ray:

        def calls(config: dict[str, Any], call: Callable[[], Any] = call) -> None:
            call()

        with pytest.raises(RayInTrialError, match=r"ray\.get.*tune\.with_parameters.*multiproc"):
            reports_of(calls)


def test_an_init_that_would_change_nothing_under_ray_tune_changes_nothing() -> None:
    def inits(config: dict[str, Any]) -> dict[str, float]:
        ray.init(ignore_reinit_error=True)
        return {"score": 1.0}

    assert reports_of(inits) == [{"score": 1.0}]
