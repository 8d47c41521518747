"""The functions and spaces through ``from_ray``."""

from __future__ import annotations

import copy
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pandas as pd

from benchmarks.reliability.ray_tune.our_sweep import GENERATORS, OTHERS, W
from benchmarks.reliability.ray_tune.plain import Recorded, Reports, finite
from benchmarks.reliability.ray_tune.wrapped import WRAPPED
from orchestrator import Trainable, from_ray, maximize
from orchestrator.measurement.context import Context
from orchestrator.measurement.run import Run
from orchestrator.metrics import METRICS
from orchestrator.space.configs import built, canonical, domains_of, values_of
from orchestrator.trial import Budget, Report

ROOT: Final = Path(__file__).resolve().parents[3]
_SWEEP: Final = "benchmarks/reliability/ray_tune/our_sweep.py"


@dataclass(frozen=True)
class Outcome:
    """What we have of a trial.

    Attributes:
        state: Its state.
        reports: Figures of each of its reports that are not our own measurement.
        last: Figures of its row.
        reason: Why it has not completed.
    """

    state: str
    reports: Reports
    last: Mapping[str, float]
    reason: str = ""


def functions(folder: Path, plain: Mapping[str, Recorded]) -> dict[str, Outcome]:
    """Return the outcome of each function, of two sweeps: generators have one of their own.

    Args:
        folder: For the runs.
        plain: What plain Ray Tune recorded: names of ours count where they are there.
    """
    found: dict[str, Outcome] = {}
    for yields, group in (("no", OTHERS), ("yes", GENERATORS)):
        names = [name for name in group if name in plain]
        if not names:
            continue
        run_dir = folder / f"yields-{yields}"
        command = [sys.executable, "-m", "orchestrator", _SWEEP, "--out", str(run_dir)]
        subprocess.run(
            [*command, "--executor", "inline", "--no-mlflow"], check=False, cwd=ROOT,
            env={**os.environ, "RAY_TUNE_YIELDS": yields, "RAY_TUNE_CASES": "\n".join(names)},
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
        trials = pd.read_parquet(run_dir / "trials.parquet")
        curves = pd.read_parquet(run_dir / "curves.parquet")
        for row in trials.to_dict("records"):
            name = row["params.case"]
            own = curves[curves["trial_id"] == row["trial_id"]].to_dict("records")
            known = {figure for report in plain[name][1] for figure in report}
            found[name] = Outcome(
                row["state"], [_figures(each, known) for each in own], _figures(row, known),
                str(row["reason"]),
            )  # fmt: skip
    return found


def _figures(row: Mapping[Any, Any], known: set[str]) -> dict[str, float]:
    figures = {k.removeprefix("metrics."): v for k, v in row.items() if k.startswith("metrics.")}
    return finite({k: v for k, v in figures.items() if v == v and (k not in METRICS or k in known)})


class _Channel:
    """A channel that notes what it is told."""

    def __init__(self) -> None:
        self.reports: list[Report] = []

    def report(self, report: Report) -> bool:
        self.reports.append(report)
        return False


def direct(trainable: Trainable[Any], config: object) -> Outcome:
    """Train one config in this process, without a sweep."""
    channel = _Channel()
    with tempfile.TemporaryDirectory() as folder:
        context = Context(
            seed=0, budget=Budget(epochs=1), checkpoint_dir=Path(folder), trial_id="f00d12345"
        )
        run = Run(context, channel)
        try:
            trainable.train(config, run)
            state, reason = "completed", ""
        except (Exception, SystemExit) as error:  # noqa: BLE001 - as a trial's process does
            state, reason = "failed", f"{type(error).__name__}: {error}"
    reports = [_named(report.metrics) for report in channel.reports]
    return Outcome(state, reports, reports[-1] if reports else {}, reason)


def _named(metrics: Mapping[str, float]) -> dict[str, float]:
    return {name: value for name, value in metrics.items() if name not in METRICS}


def wrapped(names: Sequence[str]) -> dict[str, Outcome]:
    """Return the outcome of each callable and class."""
    found = {}
    for name in names:
        case = WRAPPED[name]
        reports = [maximize(each) for each in ("score", *case.asked)]
        stop = copy.deepcopy(case.stop)  # a stopper keeps what it has seen
        trainable = from_ray(case.function, config={"w": W}, reports=reports, stop=stop)
        found[name] = direct(trainable, trainable.config())
    return found


def fitted(
    function: Any,  # noqa: ANN401 - a function
    space: Mapping[Any, Any],
    baseline: Mapping[Any, Any] | None = None,
) -> tuple[Trainable[Any], Any, Any]:
    """Return the trainable, space and baseline of a sweep over a ``param_space``."""
    return from_ray(function, config=space, reports=[maximize("score")]).for_sweep({}, baseline)


def draws(space: Any, config_class: type, count: int) -> list[Any]:  # noqa: ANN401 - a config
    """Return configs that our random search would draw."""
    rng = random.Random(0)
    return [
        canonical(
            built(
                config_class,
                {
                    **values_of(config_class()),
                    **{k: d.sample(rng) for k, d in domains_of(space).items()},
                },
            )
        )
        for _ in range(count)
    ]
