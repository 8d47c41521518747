"""Functions and classes of Ray Tune, and what plain Ray Tune makes of them.

Run as a script in a process that has no Ray yet: ``python -m ...as_ray_tune FILE`` writes the state
and the reports of each.
"""

# ruff: noqa: ANN401 - their names say it; methods of Ray's own class

from __future__ import annotations

import functools
import inspect
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
from ray import tune

Config = dict[str, Any]
W = 2.0
CONFIG: Config = {"w": W, "model": {"depth": 3, "act": "relu"}, "layers": [8, 4]}


def reports_thrice(config: Config) -> None:
    for step in range(3):
        tune.report({"score": config["w"] + step, "loss": 1.0 / (step + 1)})


def reports_nested_figures(config: Config) -> None:
    tune.report({"score": 1.0, "val": {"top1": 0.5, "by": {"a": 1, "b": {"c": 2.5}}}})


def reports_numpy(config: Config) -> None:
    tune.report({"score": np.float32(1.5), "n": np.int64(3), "b": np.bool_(True)})


def reports_text_and_lists_too(config: Config) -> None:
    tune.report({"score": 1.0, "text": "abc", "list": [1, 2], "none": None, "array": np.ones(3)})


def reads_a_nested_config(config: Config) -> None:
    tune.report({"score": config["model"]["depth"] * sum(config["layers"])})


def changes_its_config(config: Config) -> None:
    config["layers"].append(config.pop("w"))
    tune.report({"score": sum(config["layers"])})


def returns_a_dictionary(config: Config) -> Config:
    return {"score": config["w"] * 3}


def returns_a_number(config: Config) -> float:
    return 2.5


def returns_text(config: Config) -> str:
    tune.report({"score": 1.0})
    return "done"


def yields_dictionaries(config: Config) -> Iterator[Config]:
    for step in range(3):
        yield {"score": config["w"] * step}


def yields_numbers(config: Config) -> Iterator[float]:
    yield 1.5
    yield 2.5


def raises(config: Config) -> None:
    tune.report({"score": 1.0})
    raise ValueError("no")


def exits_with_3(config: Config) -> None:
    tune.report({"score": 1.0})
    sys.exit(3)


def writes_files_where_it_runs(config: Config) -> None:
    Path("x.txt").write_text("7")
    tune.report({"score": float(Path("x.txt").read_text())})


def keeps_a_checkpoint_of_the_same_name(config: Config) -> None:
    for step in range(2):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "state").write_text(str(step))
            tune.report({"score": step}, checkpoint=tune.Checkpoint.from_directory(folder))


def asks_for_its_context(config: Config) -> None:
    context = tune.get_context()
    assert context.get_trial_id()
    assert tune.get_checkpoint() is None
    tune.report({"score": len(context.get_trial_dir()) > 0})


FUNCTIONS: dict[str, Callable[[Config], Any]] = {
    function.__name__: function
    for function in (
        reports_thrice, reports_nested_figures, reports_numpy, reports_text_and_lists_too,
        reads_a_nested_config, changes_its_config, returns_a_dictionary, returns_a_number,
        returns_text, yields_dictionaries, yields_numbers, raises, exits_with_3,
        writes_files_where_it_runs, keeps_a_checkpoint_of_the_same_name, asks_for_its_context,
    )
}  # fmt: skip


class Steps(tune.Trainable):
    """A class that returns when it is done."""

    def setup(self, config: Config) -> None:
        self.x = config["w"]

    def step(self) -> Config:
        self.x += 1
        return {"score": self.x, "inner": {"i": self.iteration}, "done": self.x >= 5}


class Endless(Steps):
    """A class that never is done."""

    def step(self) -> Config:
        self.x += 1
        return {"score": self.x, "whole": self.training_iteration}


def _with_data(config: Config, data: Any, scale: float = 1.0) -> None:
    tune.report({"score": float(data.sum()) * scale})


def _scaled(more: float, config: Config) -> None:
    tune.report({"score": more * config["w"]})


def wrapped() -> dict[str, tuple[Any, dict[str, float]]]:
    """Return callables and classes, each with its ``stop``."""
    return {
        "class that is done": (Steps, {}),
        "class with stop": (Endless, {"training_iteration": 4}),
        "with_parameters": (tune.with_parameters(_with_data, data=np.arange(4.0)), {}),
        "partial": (functools.partial(_scaled, 3.0), {}),
        "stop by a figure": (reports_thrice, {"score": 3.0}),
        "stop by a nested figure": (Steps, {"inner/i": 1}),
    }


# -- plain Ray Tune


class _Recorder(tune.Callback):
    def __init__(self) -> None:
        self.found: dict[str, tuple[str, list[dict[str, float]]]] = {}

    def on_trial_result(
        self, iteration: int, trials: Any, trial: Any, result: Mapping[str, Any], **_: Any
    ) -> None:
        self.reports_of(trial).append(figures(result))

    def on_trial_complete(self, iteration: int, trials: Any, trial: Any, **_: Any) -> None:
        self.found[_name(trial)] = ("completed", self.reports_of(trial))

    def on_trial_error(self, iteration: int, trials: Any, trial: Any, **_: Any) -> None:
        self.found[_name(trial)] = ("failed", self.reports_of(trial))

    def reports_of(self, trial: Any) -> list[dict[str, float]]:
        return self.found.setdefault(_name(trial), ("running", []))[1]


def _name(trial: Any) -> str:
    return str(trial.config["case"])


def figures(result: Mapping[str, Any]) -> dict[str, float]:
    """Return the numbers that a function reported itself."""
    from ray.tune.result import AUTO_RESULT_KEYS
    from ray.tune.utils import flatten_dict

    filled = {*AUTO_RESULT_KEYS, "config", "done", "should_checkpoint"}
    own = flatten_dict({name: value for name, value in result.items() if name not in filled})
    kinds = (Real, np.bool_)
    return {name: float(value) for name, value in own.items() if isinstance(value, kinds)}


def _called(config: Config) -> Any:
    return FUNCTIONS[config["case"]](config)


def _yielded(config: Config) -> Iterator[Any]:
    yield from FUNCTIONS[config["case"]](config)


def plain(storage: str) -> dict[str, tuple[str, list[dict[str, float]]]]:
    """Return state and reports of all, by plain Ray Tune."""
    recorder = _Recorder()
    generators = [name for name, each in FUNCTIONS.items() if inspect.isgeneratorfunction(each)]
    others = [name for name in FUNCTIONS if name not in generators]
    runs: list[tuple[Any, list[str], dict[str, float]]] = [
        (_called, others, {}),
        (_yielded, generators, {}),
        *((function, [name], stop) for name, (function, stop) in wrapped().items()),
    ]
    for function, names, stop in runs:
        tune.Tuner(
            function,
            param_space={**CONFIG, "case": tune.grid_search(names)},
            tune_config=tune.TuneConfig(reuse_actors=not isinstance(function, type)),
            run_config=tune.RunConfig(
                storage_path=storage,
                callbacks=[recorder],
                stop=stop,
                checkpoint_config=tune.CheckpointConfig(checkpoint_at_end=False)
                if isinstance(function, type)
                else None,
                verbose=0,
            ),
        ).fit()
    return recorder.found


if __name__ == "__main__":
    import ray

    os.environ["TUNE_DISABLE_AUTO_CALLBACK_LOGGERS"] = "1"
    with tempfile.TemporaryDirectory(prefix="rt-") as folder:
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, _temp_dir=f"{folder}/r")
        Path(sys.argv[1]).write_text(json.dumps(plain(f"{folder}/runs")))
        ray.shutdown()
