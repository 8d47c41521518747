"""The functions and spaces through plain Ray Tune."""

# ruff: noqa: D102, ANN401 - methods of Ray's own classes, and whatever is handed over

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import Any

from ray import tune

from benchmarks.reliability.ray_tune.our_sweep import GENERATORS, OTHERS, W, called, yielded
from benchmarks.reliability.ray_tune.seen import tell
from benchmarks.reliability.ray_tune.spaces import SPACES
from benchmarks.reliability.ray_tune.wrapped import WRAPPED
from orchestrator.execution.ray.functions.figures import figures_of

Reports = list[dict[str, float]]
Recorded = tuple[str, Reports]
"""State and reports of a trial."""


class Recorder(tune.Callback):
    """Notes what each trial reported, as Ray Tune logs it."""

    def __init__(self, asked: Sequence[str] = ()) -> None:
        self.asked = asked
        self.reports: dict[str, Reports] = {}
        self.states: dict[str, str] = {}
        self.configs: dict[str, dict[str, Any]] = {}

    def on_trial_start(self, iteration: int, trials: Any, trial: Any, **_: Any) -> None:
        self.reports.setdefault(trial.trial_id, [])
        self.configs[trial.trial_id] = trial.config

    def on_trial_result(
        self, iteration: int, trials: Any, trial: Any, result: Mapping[str, Any], **_: Any
    ) -> None:
        figures = finite(figures_of(result, self.asked))
        self.reports.setdefault(trial.trial_id, []).append(figures)

    def on_trial_complete(self, iteration: int, trials: Any, trial: Any, **_: Any) -> None:
        self.states[trial.trial_id] = "completed"

    def on_trial_error(self, iteration: int, trials: Any, trial: Any, **_: Any) -> None:
        self.states[trial.trial_id] = "failed"


def finite(figures: Mapping[str, float]) -> dict[str, float]:
    """Return the figures that tables can hold."""
    return {name: value for name, value in figures.items() if math.isfinite(value)}


def run(
    function: Any,
    space: Mapping[Any, Any],
    storage: Path,
    *,
    samples: int = 1,
    stop: Any = None,
    asked: Sequence[str] = (),
) -> Recorder:
    """Run a function over a space, and return what was recorded."""
    recorder = Recorder(asked)
    tune.Tuner(
        function,
        param_space=dict(space),
        tune_config=tune.TuneConfig(
            num_samples=samples, max_concurrent_trials=2, reuse_actors=True
        ),
        run_config=tune.RunConfig(
            storage_path=str(storage),
            callbacks=[recorder],
            stop=stop or {},
            # Else a class without save_checkpoint fails at its end.
            checkpoint_config=tune.CheckpointConfig(checkpoint_at_end=False)
            if isinstance(function, type)
            else None,
            verbose=0,
        ),
    ).fit()
    return recorder


def functions(storage: Path, asked: Container[str]) -> dict[str, Recorded]:
    """Return state and reports of each function that is asked for."""
    found: dict[str, Recorded] = {}
    for function, group in ((called, OTHERS), (yielded, GENERATORS)):
        names = [name for name in group if name in asked]
        if not names:
            continue
        recorder = run(function, {"case": tune.grid_search(names), "w": W}, storage)
        for trial, config in recorder.configs.items():
            found[config["case"]] = recorder.states[trial], recorder.reports.get(trial, [])
    return found


def wrapped(storage: Path, names: Sequence[str]) -> dict[str, Recorded]:
    """Return state and reports of each callable and class."""
    found: dict[str, Recorded] = {}
    for name in names:
        case = WRAPPED[name]
        recorder = run(case.function, {"w": W}, storage, stop=case.stop, asked=case.asked)
        ((trial, state),) = recorder.states.items()
        found[name] = state, recorder.reports.get(trial, [])
    return found


def see_all(config: dict[str, Any]) -> None:
    """Tell what a trial got of each space."""
    for name, own in config.items():
        tell(name, own)
    tune.report({"score": 1.0})


def spaces(storage: Path, names: Sequence[str]) -> dict[str, list[dict[Any, Any]]]:
    """Return configs that Ray Tune drew of each space; most of them are keys of one space."""
    asked = {name: SPACES[name] for name in names}
    together = {name: each.space for name, each in asked.items() if not each.apart}
    configs = run(see_all, together, storage, samples=2).configs if together else {}
    found: dict[str, list[dict[Any, Any]]] = {name: [] for name in together}
    for config in configs.values():
        for name, own in config.items():
            found[name].append(own)
    for name, each in asked.items():
        if each.apart:
            recorder = run(_seeing(name), each.space, storage)
            found[name] = list(recorder.configs.values())
    return found


def _seeing(name: str) -> Any:
    def see(config: dict[str, Any]) -> None:
        tell(name, config)
        tune.report({"score": 1.0})

    return see
