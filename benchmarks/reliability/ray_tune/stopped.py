"""Functions and classes whose end, or whose figures, are Ray Tune's own: filled in, or stopped."""

# ruff: noqa: ANN401 - whatever is handed over

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import torch
from ray import tune
from ray.tune.stopper import MaximumIterationStopper, Stopper, TrialPlateauStopper

from benchmarks.reliability.ray_tune.cases import Config, Wrapped
from benchmarks.reliability.ray_tune.seen import tell


def _steps(name: str, count: int = 10, **more: Any) -> Any:
    """Return a function that reports its steps."""

    def steps(config: Config) -> None:
        tell(name, config)
        for step in range(count):
            tune.report({"score": float(step), "inner": {"x": step}, **more})

    return steps


def _after_four(trial_id: str, result: Mapping[str, Any]) -> bool:
    return bool(trial_id) and float(result["score"]) >= 3 and float(result["inner"]["x"]) >= 3


def _by_what_is_filled_in(trial_id: str, result: Mapping[str, Any]) -> bool:
    known = result["config"]["w"] == 2.0 and result["time_total_s"] >= 0 and result["pid"] > 0
    known = known and result["trial_id"] == trial_id
    return bool(known) and int(result["iterations_since_restore"]) >= 2


class _Patient(Stopper):
    """As in Ray Tune's guide: one trial that is good enough ends all."""

    def __init__(self) -> None:
        self.is_over = False

    def __call__(self, trial_id: str, result: Mapping[str, Any]) -> bool:
        self.is_over = self.is_over or result["score"] > 2
        return self.is_over or result["training_iteration"] >= 8

    def stop_all(self) -> bool:
        return self.is_over


class _Counts(tune.Trainable):
    case = "class"

    def setup(self, config: Config) -> None:
        tell(self.case, config)
        self.x = 0

    def step(self) -> Config:
        self.x += 1
        return {"score": float(self.x), "timesteps_this_iter": 10, "episodes_this_iter": 2}


class _ByTimesteps(_Counts):
    case = "class with stop by its timesteps"


class _ByItsTime(_Counts):
    case = "class with stop by its own time"

    def step(self) -> Config:
        return {**super().step(), "time_this_iter_s": 5.0}


class _ByAFunction(_Counts):
    case = "class with stop by a function"


class _ReportsTensors(_Counts):
    case = "class that reports tensors"

    def step(self) -> Config:
        return {"score": 1.0, "tensor": torch.tensor(0.5), "done": True}


class _ReportsNoDictionary(_Counts):
    case = "class that reports no dictionary"

    def step(self) -> Any:
        return 3.0


class _FailsInSetup(_Counts):
    case = "class that raises in setup"

    def setup(self, config: Config) -> None:
        raise RuntimeError("on purpose")


class _FailsInCleanup(_Counts):
    case = "class that raises in cleanup"

    def cleanup(self) -> None:
        raise RuntimeError("on purpose")


class _Leaves(_Counts):
    case = "class that leaves by sys.exit"

    def step(self) -> Config:
        raise SystemExit(3)


class _Mixin:
    def doubled(self, x: float) -> float:
        return 2 * x


class _WithMixin(_Mixin, _Counts):
    case = "class with a mixin"

    def step(self) -> Config:
        return {"score": self.doubled(super().step()["score"]), "done": self.x >= 2}


class _Logs(_Counts):
    case = "class that logs its results"

    def log_result(self, result: Config) -> None:
        self.logged = getattr(self, "logged", 0) + 1

    def step(self) -> Config:
        return {"score": float(getattr(self, "logged", 0)), "done": self.iteration >= 2}


class _AsksForItself(_Counts):
    case = "class that asks for its state"

    def step(self) -> Config:
        return {
            "score": self.config["w"], "iteration": self.iteration,
            "count": self.training_iteration,
            "cpus": getattr(self.trial_resources, "required_resources", {})["CPU"],
            "done": self.iteration >= 2,
        }  # fmt: skip


_FILLED: Final = ("timesteps_total", "episodes_total", "timesteps_since_restore",
                  "iterations_since_restore", "training_iteration")  # fmt: skip

STOPPED: Final[dict[str, Wrapped]] = {
    "stop by a function": Wrapped(_steps("stop by a function"), _after_four),
    "stop by a lambda": Wrapped(
        _steps("stop by a lambda"), lambda trial_id, result: result["score"] > 4
    ),
    "stop by what is filled in": Wrapped(
        _steps("stop by what is filled in"), _by_what_is_filled_in
    ),
    "stop by a stopper": Wrapped(_steps("stop by a stopper"), MaximumIterationStopper(3)),
    "stop by a stopper of one's own": Wrapped(
        _steps("stop by a stopper of one's own"), _Patient()
    ),
    "stop by a list of stoppers": Wrapped(
        _steps("stop by a list of stoppers"),
        [MaximumIterationStopper(7), TrialPlateauStopper("flat", num_results=2, grace_period=2)],
    ),
    "stop where nothing changes": Wrapped(
        _steps("stop where nothing changes", flat=1.0),
        TrialPlateauStopper("flat", std=0.01, num_results=3, grace_period=3),
    ),
    "stop by several figures": Wrapped(
        _steps("stop by several figures"), {"score": 100, "inner/x": 2, "absent": 1}
    ),
    "stop by done": Wrapped(_steps("stop by done"), {"done": True}),
    "stop by the time of all reports": Wrapped(
        _steps("stop by the time of all reports", time_this_iter_s=2.5), {"time_total_s": 10},
        ("time_total_s", "time_since_restore", "time_this_iter_s"),
    ),
    "stop by the steps of all reports": Wrapped(
        _steps("stop by the steps of all reports", timesteps_this_iter=100),
        {"timesteps_total": 300}, _FILLED,
    ),
    "stop by the reports of this process": Wrapped(
        _steps("stop by the reports of this process"), {"iterations_since_restore": 2}, _FILLED,
    ),
    "figures that are filled in": Wrapped(
        _steps("figures that are filled in", 3, episodes_this_iter=2, timesteps_this_iter=5),
        {}, _FILLED,
    ),
    "figures that are filled in and reported": Wrapped(
        _steps("figures that are filled in and reported", 3, training_iteration=50,
               timesteps_total=7, iterations_since_restore=9, done=False),
        {}, (*_FILLED, "done"),
    ),
    "class with stop by its timesteps": Wrapped(_ByTimesteps, {"timesteps_total": 40}, _FILLED),
    "class with stop by its own time": Wrapped(
        _ByItsTime, {"time_total_s": 20}, ("time_total_s", "time_since_restore")
    ),
    "class with stop by a function": Wrapped(
        _ByAFunction, lambda trial_id, result: result["episodes_total"] >= 6, _FILLED
    ),
    "class that reports tensors": Wrapped(_ReportsTensors),
    "class that reports no dictionary": Wrapped(_ReportsNoDictionary),
    "class that raises in setup": Wrapped(_FailsInSetup),
    "class that raises in cleanup": Wrapped(_FailsInCleanup, {"training_iteration": 2}),
    "class that leaves by sys.exit": Wrapped(_Leaves),
    "class with a mixin": Wrapped(_WithMixin),
    "class that logs its results": Wrapped(_Logs),
    "class that asks for its state": Wrapped(_AsksForItself),
}  # fmt: skip
"""By name. Each reports ``score`` of a config with ``w``."""
