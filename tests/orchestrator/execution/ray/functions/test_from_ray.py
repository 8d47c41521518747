"""A Ray Tune function, as its author wrote it, within our sweeps."""

# ruff: noqa: ANN401 - whatever users write for Ray Tune

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from ray import tune

from orchestrator import Demand, Sweep, SweepError, from_ray, maximize, requires
from orchestrator.data import DataFolders
from orchestrator.errors import collecting_problems
from tests.conftest import RunCli
from tests.orchestrator.execution.ray.functions.trials import MACHINE, trained
from trainables.data.sets.digits import Digits

SWEEP = '''
import os
import tempfile

from ray import tune
from ray.tune import report

from orchestrator import Rigor, Sweep, from_ray, maximize
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
    rigor=Rigor(confirm=0),
)
'''


@pytest.mark.parametrize("kind", ["inline", pytest.param("ray", marks=pytest.mark.slow)])
def test_runs_unchanged(run_cli: RunCli, tmp_path: Path, kind: str) -> None:
    (tmp_path / "existing.py").write_text(SWEEP)

    arguments = ("--isolation", "shared", "--no-mlflow", "--executor", kind)
    run_cli("existing.py", "--out", "run", *arguments)

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


def scores(config: dict[str, Any]) -> None:
    tune.report({"score": config["model"]["lr"] * config["n"]})


CONFIG = {"model": {"lr": 0.1, "layers": [64, 64]}, "n": 3, "seed": None}


@pytest.mark.slow
def test_a_sweep_with_what_no_knob_can_be_runs(run_cli: RunCli, tmp_path: Path) -> None:
    """Lists, None, options with domains and odd names, in all files and pages."""
    (tmp_path / "odd.py").write_text(ODD)

    arguments = ("--isolation", "shared", "--executor", "inline", "--trials", "6")
    run_cli("odd.py", "--out", "run", *arguments)

    trials = pd.read_parquet(tmp_path / "run" / "trials.parquet")
    assert set(trials["state"]) == {"completed"}, trials["reason"].tolist()
    assert set(trials["params.model/layers"]) <= {"[8]", "[8, 8]", "None"}
    widths = {"[8]": 8, "[8, 8]": 16, "None": 0}
    expected = trials["params.model/layers"].map(widths) + trials["params.größe (cm)"]
    assert trials["metrics.score"].tolist() == expected.tolist()
    assert json.loads((tmp_path / "run" / "recommended.json").read_text())["config"]


ODD = """
from ray import tune

from orchestrator import Rigor, Sweep, from_ray, maximize
from orchestrator.search import Random


def train(config):
    assert config["none"] is None and config["f"] is abs and config["opt"]["name"] in "ab"
    width = sum(config["model"]["layers"] or [])
    tune.report({"score": width + config["größe (cm)"]})


SPACE = {
    "model": {"layers": tune.choice([[8], [8, 8], None])},
    "größe (cm)": tune.qrandint(8, 64, 8),
    "self": tune.uniform(-1, 1),
    "opt": tune.choice([{"name": "a", "lr": 0.1}, {"name": "b"}]),
    "none": None,
    "f": abs,
}

SWEEP = Sweep(
    from_ray(train, config=SPACE, reports=[maximize("score")]),
    question="Does a space of all kinds run?",
    space=SPACE,
    objectives=[maximize("score")],
    search=Random(6),
    rigor=Rigor(max_repeats=1, confirm=0),
)
"""


def test_all_that_is_wrong_with_a_space_is_reported_at_once() -> None:
    trainable = from_ray(scores, config=CONFIG)
    wrong = {"seed": tune.randint(0, 9), "n": tune.choice([]), "model": {"lrr": 1}}

    with collecting_problems() as problems:
        Sweep(trainable, question="Any?", space=wrong, objectives=[maximize("score")])

    text = "\n".join(map(str, problems))
    assert "seed: None is not a whole number, and integers(0, 8) draws such" in text
    assert "n: choice() of no values" in text
    assert "'model/lrr' is not a knob of scores_config; did you mean 'model/lr'?" in text
    assert len(problems) == 3


class Other:
    """A class that Ray Tune would not take."""


class Steps(tune.Trainable):
    """A class that Ray Tune takes."""

    def step(self) -> dict[str, float]:
        return {"score": 1.0}

    @classmethod
    def default_resource_request(cls, config: dict[str, Any]) -> Any:
        return tune.PlacementGroupFactory([{"CPU": 1, "GPU": config["w"]}])


@pytest.mark.parametrize(
    ("function", "others", "message"),
    [
        (Other, {}, "Other is a class that is not derived from Ray Tune's Trainable"),
        (Steps, {}, r'Steps is a class, .* without an end.*\n.*stop={"training_iteration": 10}'),
        ("scores", {}, "'scores' is not a callable object"),
        (lambda: None, {}, r"cannot be called with a config alone.*\n.*functools.partial"),
        (scores, {"stop": {"score": "high"}}, "stop = {'score': 'high'} is not allowed"),
        (scores, {"config": [1]}, r"config = \[1\] is not allowed"),
        (
            tune.with_resources(lambda config: None, {"gpu": 0.5}),
            {},
            r"it asks for 0\.5 GPUs.*whole ones",
        ),
    ],
)
def test_what_cannot_run_is_refused_with_the_way_out(
    function: Any, others: dict[str, Any], message: str
) -> None:
    with pytest.raises(SweepError, match=f"(?s)test_from_ray.py:.*{message}"):
        from_ray(function, **{"config": CONFIG, **others})


def test_demand_and_constraints_get_the_dictionary() -> None:
    trainable = from_ray(
        scores,
        config=CONFIG,
        demand=lambda config, machine: Demand(workers=config["n"], burst=len(config["model"])),
        constraints=[requires(lambda config: config["model"]["lr"] < 0.5, "too fast")],
        preload=["json"],
    )
    fast = trainable.config(**{"model/lr": 0.7})

    assert trainable.demand_of(trainable.config(), MACHINE) == Demand(workers=3, burst=2)
    assert trainable.infeasible(trainable.config(), MACHINE) is None
    assert trainable.infeasible(fast, MACHINE) == "too fast"
    assert trainable.imports == ("torch", "json", "ray.tune")
    assert fast["model"]["layers"] == [64, 64], "constraints of a sweep may ask as the function"


@pytest.mark.parametrize(
    ("function", "others", "gpus"),
    [
        (tune.with_resources(lambda config: None, {"cpu": 4, "gpu": 2}), {}, 2),
        (
            tune.with_resources(
                lambda config: None,
                lambda config: tune.PlacementGroupFactory([{"CPU": 1, "GPU": config["w"]}]),
            ),
            {},
            1,
        ),
        (Steps, {"stop": {}}, 1),
        (lambda config: None, {}, 0),
        (lambda config: None, {"gpus": 1}, 1),
    ],
)
def test_gpus_are_those_that_ray_tune_was_asked_for(
    function: Any, others: dict[str, Any], gpus: int
) -> None:
    trainable = from_ray(function, config={"w": 1}, **others)
    assert trainable.demand_of(trainable.config(), MACHINE).gpus == gpus


def test_data_are_found_under_a_key(tmp_path: Path) -> None:
    def reads(config: dict[str, Any]) -> None:
        tune.report({"score": float(Path(config["folder"]).is_dir()), "n": config["n"]})

    trainable = from_ray(
        reads, config={"n": 3, "folder": "/old"}, data=[Digits()], data_key="folder"
    )
    prepared = Digits().prepare(DataFolders(root=tmp_path, cache=tmp_path))

    assert [data.name for data in trainable.data] == ["digits"]
    assert trained(trainable, data=prepared) == [{"score": 1.0, "n": 3.0}]


@pytest.mark.parametrize(
    ("reports", "objectives"),
    [
        (["val_acc"], ["val_acc"]),
        (["val_acc", "samples_per_s"], ["samples_per_s", "val_acc"]),
        (["val_acc", "test_acc", "val_f1", "rate", "val_auc"], ["rate", "val_acc", "val_f1"]),
        ([], []),  # which the checks of a sweep refuse
    ],
)
def test_objectives_are_what_function_reports(reports: list[str], objectives: list[str]) -> None:
    trainable = from_ray(scores, config=CONFIG, reports=[maximize(name) for name in reports])
    sweep = Sweep(trainable, question="Any?", space={})
    assert [each.metric for each in sweep.objectives] == objectives
