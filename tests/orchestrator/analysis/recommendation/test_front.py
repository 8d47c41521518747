from __future__ import annotations

from orchestrator.analysis.recommendation.front import front_table, main_front
from tests.orchestrator.analysis.made_runs import MadeRun, config, partly_contaminated_run


def test_the_table_holds_the_front_with_the_fastest_first(made: MadeRun) -> None:
    front = front_table(made.tables)
    assert front["verdict"].tolist() == ["best", "worse", "worse"]
    assert front["ratio_to_best"].tolist()[0] == 1.0
    assert front["metrics.samples_per_s"].is_monotonic_decreasing
    assert front["metrics.val_acc"].is_monotonic_increasing


def test_knobs_that_tell_the_configs_apart_come_first(made: MadeRun) -> None:
    columns = front_table(made.tables).columns.tolist()
    assert columns[:3] == ["params.lr", "params.batch_size", "params.num_workers"]
    assert {"params.fanouts", "params.threads"} <= {*columns}


def test_each_group_has_a_front_and_the_main_one_comes_first() -> None:
    run = MadeRun()
    run.add_runs(config(num_workers=8), [9000.0], device="NVIDIA H200")
    for workers, speed in ((0, 1000.0), (3, 2000.0)):
        run.add_runs(config(num_workers=workers), [speed])
    front = front_table(run.tables)
    assert front["params.num_workers"].tolist() == [3, 8]
    assert front["group"].tolist() == ["device cpu", "device NVIDIA H200"]
    assert main_front(front)["params.num_workers"].tolist() == [3]


def test_without_an_objective_the_front_is_empty(made: MadeRun) -> None:
    made.sweep["objectives"].append({"metric": "my_score", "goal": "maximize"})
    assert main_front(front_table(made.tables)).empty


def test_the_runs_of_a_speed_and_those_of_an_accuracy_are_counted() -> None:
    front = front_table(partly_contaminated_run().tables)
    assert front[["num_runs", "num_all_runs"]].to_numpy().tolist() == [[2, 3], [3, 3]]


def test_a_confirmed_config_has_the_figures_of_its_confirm_runs() -> None:
    run = MadeRun()
    for workers, speed in ((0, 1000.0), (3, 2000.0)):
        run.add_runs(config(num_workers=workers), [speed])
    run.add_runs(config(num_workers=3), [1500.0, 1510.0], stage="confirm")
    (row,) = front_table(run.tables).to_dict("records")
    assert (row["measured_in"], row["num_runs"]) == ("confirm", 2)
    assert 1500 < row["metrics.samples_per_s"] < 1510
    assert len(row["trial_ids"].split()) == 3, "those of both stages"
