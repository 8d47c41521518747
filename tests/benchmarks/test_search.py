"""The benchmark of searches: scores by hand, draws, and one small replay."""

import math
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks.search import made, zeus
from benchmarks.search.recorded import LENET_200, TABLES, recorded
from benchmarks.search.rivals import RIVALS, cost_to_targets
from benchmarks.search.score import Scorer, hypervolume
from benchmarks.search.truth import Truth
from orchestrator.machine import Machine, Node
from orchestrator.search import Grid
from orchestrator.space.knob import Role
from orchestrator.sweep.problem import search_problem

MACHINE = Machine(nodes=(Node(name="node", cpus=2),))


@pytest.fixture(scope="module")
def truth() -> Truth:
    return made.small()


@pytest.fixture(scope="module")
def scorer(truth: Truth) -> Scorer:
    return Scorer(truth)


def test_hypervolume_of_two_points_is_that_of_their_union() -> None:
    points = np.array([[math.e, 0.9], [math.e**2, 0.8], [0.5, 0.99]])
    # On log speed: 1 x 0.2 and 2 x 0.1, of which 1 x 0.1 is in both; the last is too slow.
    assert hypervolume(points, (1.0, 0.7)) == pytest.approx(0.2 + 0.2 - 0.1)


def test_the_true_front_scores_one_and_its_rule_has_no_regret(truth: Truth, scorer: Scorer) -> None:
    configs = truth.configs
    records = truth.records
    least = configs["accuracy"].max() - truth.sweep.rigor.accuracy_tolerance
    best = int(configs["speed"].where(configs["accuracy"] >= least).argmax())
    score = scorer.score(records, records[best])
    assert (score.hypervolume, score.epsilon, score.regret) == pytest.approx((1.0, 0.0, 0.0))
    worst = int(configs["accuracy"].argmin())
    assert scorer.score([records[worst]], records[worst]).regret == 1.0


@pytest.mark.parametrize("rival", RIVALS)
def test_a_rival_pays_for_what_it_tries(rival: str, truth: Truth, scorer: Scorer) -> None:
    reached, path = cost_to_targets(rival, truth, scorer, seed=0)
    shares = [share for share, _ in path]
    assert shares == sorted(shares)
    assert len(path) > 2
    assert reached["0.95"] <= reached["0.99"]
    assert all(0 <= score <= 1 + 1e-9 for _, score in path)


@pytest.mark.parametrize(
    ("name", "num_configs"),
    [("lenet_speeds", 200), ("lenet_curves", 50), ("sage_speeds", 42), ("sage_curves", 30)],
)
def test_a_recording_has_every_setting_or_curve_of_its_tuning_sweep(
    name: str, num_configs: int
) -> None:
    sweep = import_module(f"benchmarks.search.recording.{name}").SWEEP
    problem = search_problem(sweep, MACHINE)
    candidates = Grid().candidates(problem)
    assert (len(candidates.keys), candidates.baseline_added) == (num_configs, False)
    left_out = Role.LEARNING if name.endswith("speeds") else Role.SYSTEMS
    assert left_out not in {problem.roles[knob] for knob in problem.domains}


def written_traces(folder: Path) -> Path:
    """Write traces of one workload: two batch sizes, two power limits, two runs, two targets."""
    epochs = [(8, 1, 2, 4), (8, 2, 2, 5), (16, 1, 3, 9), (16, 2, 1, 9)]
    rows = [
        f"cifar100,net,{size},sgd,0.1,{run},{target},{epoch}"
        for size, run, *reached in epochs
        for target, epoch in zip((0.5, 0.9), reached, strict=True)
    ]
    head = "dataset,network,batch_size,optimizer,learning_rate,run,target_metric,target_epoch"
    (folder / "summary_train.csv").write_text("\n".join([head, *rows]))
    seconds = {(8, 100): 20.0, (8, 250): 10.0, (16, 100): 12.0, (16, 250): 6.0, (32, 250): 1.0}
    head = "dataset,network,batch_size,optimizer,power_limit,time_per_epoch,average_power"
    rows = [f"cifar100,net,{size},sgd,{watts},{s},90" for (size, watts), s in seconds.items()]
    (folder / "summary_power_v100.csv").write_text("\n".join([head, *rows]))
    return folder


def test_traces_of_zeus_are_seconds_to_the_last_target_and_curves_to_it(tmp_path: Path) -> None:
    (workload,) = zeus.workloads(written_traces(tmp_path))
    assert workload.to_target_s == {
        (8, 100): 90.0, (8, 250): 45.0, (16, 100): 108.0, (16, 250): 54.0,
    }  # fmt: skip
    first, second = workload.truth.curves[(8,)] / zeus.REACHED
    assert first.tolist() == [0, 0.5, 0.5, 1, 1, 1, 1, 1, 1]
    assert second.tolist() == [0, 0.5, 0.5, 0.5, 1, 1, 1, 1, 1]


@pytest.mark.slow
def test_the_search_of_a_workload_of_zeus_counts_all_that_it_spent(tmp_path: Path) -> None:
    (workload,) = zeus.workloads(written_traces(tmp_path))
    found = zeus.searched(workload, seed=0)
    assert found["regret"] == pytest.approx(0.0)
    assert found["share"] > 0.1
    assert "| cifar100 | 4 | 1 |" in "\n".join(zeus.table(tmp_path, 1))


def test_a_recorded_truth_is_composed_of_its_tables() -> None:
    truth = recorded("sage")
    speeds = pd.read_parquet(TABLES / "sage_speeds.parquet")
    curves = pd.read_parquet(TABLES / "sage_curves.parquet")
    assert len(truth.configs) == 210
    setting = {"num_workers": 2, "prefetch_factor": 4, "batch_size": 1000, "dropout": 0.5}
    config = {**truth.problem.base, **setting, "persistent_workers": True, "lr": 0.01}
    config = dict(truth.problem.canonical(config))
    rows = speeds[(speeds[list(setting)] == pd.Series(setting)).all(axis=1)]
    assert truth.timing(config).samples_per_s == pytest.approx(
        float(np.exp(np.log(rows["samples_per_s"]).mean()))
    )
    learned = curves[
        (curves["lr"] == 0.01) & (curves["batch_size"] == 1000) & (curves["dropout"] == 0.5)
    ]
    last = learned[learned["epoch"] == 45]["val_acc"]
    assert sorted(truth.curve(config)[:, -1]) == pytest.approx(sorted(last))


@pytest.mark.parametrize(("fixed", "num_configs"), [({}, 2000), (LENET_200, 200)])
def test_every_config_of_lenet_is_composed(fixed: Mapping[str, object], num_configs: int) -> None:
    configs = recorded("lenet", fixed).configs
    assert len(configs) == num_configs
    assert configs[["speed", "accuracy", "core_s"]].min().min() > 0
    assert 0.95 < configs["accuracy"].max() < 1
