"""A Ray Tune function, as its author wrote it, within our sweeps."""

from __future__ import annotations

import functools
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from ray import tune

from orchestrator import Machine, Node, from_ray
from tests.conftest import RunCli

SWEEP = '''
import os
import tempfile

from ray import tune
from ray.tune import report

from orchestrator import Sweep, from_ray, maximize
from orchestrator.search import Random


def objective(config):
    """Report twice by each name, keep a checkpoint, and die the first time."""
    start = 0
    checkpoint = tune.get_checkpoint()
    if checkpoint:
        with checkpoint.as_directory() as folder:
            start = int(open(os.path.join(folder, "step")).read()) + 1
    for step in range(start, 4):
        with tempfile.TemporaryDirectory() as folder:
            open(os.path.join(folder, "step"), "w").write(str(step))
            score = config["a"] * step + config["b"]
            say = tune.report if step % 2 else report
            say({"score": score, "speed": 10.0 * config["a"], "text": "not a number"},
                checkpoint=tune.Checkpoint.from_directory(folder))
        if config["dies"] and step == 1 and start == 0:
            os.kill(os.getpid(), 9)


SWEEP = Sweep(
    from_ray(objective, config={"a": 1.0, "b": 1, "dies": True},
             reports=[maximize("score"), maximize("speed")]),
    question="Does an existing function run unchanged?",
    space={"a": tune.uniform(1.0, 2.0), "b": tune.choice([1, 2])},
    objectives=[maximize("speed"), maximize("score")],
    search=Random(3),
    confirm=0,
)
'''


@pytest.mark.parametrize("kind", ["inline", pytest.param("ray", marks=pytest.mark.slow)])
def test_runs_unchanged(run_cli: RunCli, tmp_path: Path, kind: str) -> None:
    (tmp_path / "existing.py").write_text(SWEEP)

    arguments = ("--isolation", "shared", "--no-mlflow", "--executor", kind)
    done = run_cli("existing.py", "--out", "run", *arguments)

    assert done.returncode == 0, done.stderr
    trials = pd.read_parquet(tmp_path / "run" / "trials.parquet")
    assert set(trials["state"]) == {"completed"}, trials["reason"].tolist()
    assert len(trials) == 3, "the baseline and two draws"
    expected = 3 * trials["params.a"] + trials["params.b"]
    assert trials["metrics.score"].tolist() == pytest.approx(expected.tolist())
    assert (trials["tags.attempts"] == "2").all(), "it went on from its own checkpoint"
    curves = pd.read_parquet(tmp_path / "run" / "curves.parquet")
    assert all(list(own) == [1, 2, 3, 4] for _, own in curves.groupby("trial_id")["epoch"])
    assert (trials["metrics.epochs"] == 4).all()
    assert json.loads((tmp_path / "run" / "recommended.json").read_text())["config"]


def test_goes_on_from_its_own_checkpoint_after_a_pause(run_cli: RunCli, tmp_path: Path) -> None:
    sweep = SWEEP.replace("reports=[max", "keeps_checkpoints=True, reports=[max")
    sweep = sweep.replace("import Random", "import Asha, Random")
    stopping = 'Random(4), epochs=4, max_repeats=1, stopping=Asha("score", grace=2, factor=2)'
    (tmp_path / "existing.py").write_text(sweep.replace("Random(3)", stopping))

    arguments = ("--isolation", "shared", "--no-mlflow", "--executor", "inline")
    done = run_cli("existing.py", "--out", "run", *arguments)

    assert done.returncode == 0, done.stderr
    trials = pd.read_parquet(tmp_path / "run" / "trials.parquet")
    reached = trials["metrics.epochs"] - 1
    expected = reached * trials["params.a"] + trials["params.b"]
    assert trials["metrics.score"].tolist() == pytest.approx(expected.tolist())
    paused = trials[trials["state"] == "stopped"]
    assert set(paused["reason"]) == {"paused after 2 of 4 epochs"}
    gone_on = trials[trials["metrics.earlier_epochs"] == 2]
    assert (gone_on["state"] == "completed").all()
    assert len(gone_on) >= 1
    curves = pd.read_parquet(tmp_path / "run" / "curves.parquet")
    own = curves[curves["trial_id"].isin(gone_on["trial_id"])]
    assert list(own["epoch"])[:2] == [3, 4]


class Reports:
    """A run that notes what it is told."""

    checkpoint_dir = None
    pause_reason = ""

    def __init__(self) -> None:
        self.told: list[dict[str, float]] = []

    def count_epoch(self) -> None: ...

    def report(self, **metrics: float) -> None:
        self.told.append(metrics)


def reports_of(function: Callable[..., Any]) -> list[dict[str, float]]:
    trainable = from_ray(function, config={"w": 2.0})
    run: Any = Reports()
    trainable.train(trainable.config(), run)
    return list(run.told)


def returning(config: dict[str, Any]) -> dict[str, float]:
    return {"score": config["w"]}


def yielding(config: dict[str, Any]) -> Iterator[dict[str, float]]:
    for step in range(2):
        yield {"score": config["w"] * step}


def number(config: dict[str, Any]) -> float:
    return float(config["w"])


def nested(config: dict[str, Any]) -> None:
    tune.report({"val": {"acc": 0.5, "by": {"a": 1}}, "name": "x", "list": [1, 2]})


def scalars(config: dict[str, Any]) -> None:
    tune.report({"t": torch.tensor(0.5), "n": np.float32(2), "v": torch.zeros(2), "d": True})


def leaving(config: dict[str, Any]) -> None:
    tune.report({"score": 1.0})
    sys.exit(0)


def with_more(more: float, config: dict[str, Any]) -> None:
    tune.report({"score": more * config["w"]})


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (returning, [{"score": 2.0}]),
        (yielding, [{"score": 0.0}, {"score": 2.0}]),
        (number, [{"_metric": 2.0}]),
        (nested, [{"val/acc": 0.5, "val/by/a": 1.0}]),
        (scalars, [{"t": 0.5, "n": 2.0, "d": 1.0}]),
        (leaving, [{"score": 1.0}]),
        (functools.partial(with_more, 3.0), [{"score": 6.0}]),
        (tune.with_resources(returning, {"cpu": 1}), [{"score": 2.0}]),
    ],
)
def test_what_ray_tune_takes_is_taken(
    function: Callable[..., Any], told: list[dict[str, float]]
) -> None:
    assert reports_of(function) == told


def test_what_ray_tune_does_not_take_fails() -> None:
    with pytest.raises(ValueError, match="it returned or yielded a list"):
        reports_of(lambda config: [1.0])
    with pytest.raises(SystemExit):
        reports_of(lambda config: sys.exit(3))
    with pytest.raises(TypeError, match="from_ray takes a function, and Reports is a class"):
        from_ray(Reports, config={})


def test_functions_beside_each_other_share_no_file(tmp_path: Path) -> None:
    here, seen = Path.cwd(), []

    def writing(config: dict[str, Any]) -> None:
        seen.append((Path.cwd(), list(Path().iterdir()), os.environ["TUNE_ORIG_WORKING_DIR"]))
        Path("own").write_text("mine")

    reports_of(writing)
    reports_of(writing)
    assert [files for _, files, _ in seen] == [[], []]
    assert {original for *_, original in seen} == {str(here)}
    assert Path.cwd() == here
    assert not any(folder.exists() for folder, *_ in seen)


def test_resources_of_ray_tune_are_asked_for() -> None:
    machine = Machine(nodes=(Node(name="here", cpus=8, gpus=2),))
    asking = from_ray(tune.with_resources(returning, {"cpu": 1, "gpu": 2}), config={"w": 1.0})
    assert asking.demand_of(asking.config(), machine).gpus == 2
    with pytest.raises(TypeError, match=r"gave it 0\.5 GPUs: give whole ones"):
        from_ray(tune.with_resources(returning, {"gpu": 0.5}), config={"w": 1.0})
