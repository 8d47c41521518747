import pytest

from orchestrator.analysis.recommendation.front import (
    MEASURED_IN,
    SIGN,
    front_table,
    main_front,
    runs_text,
    sign_of,
    with_finals,
)
from orchestrator.analysis.report.view import View
from tests.orchestrator.analysis.made_runs import ACCURACY, SPEED, MadeRun, config


@pytest.fixture
def view(made: MadeRun) -> View:
    return View(tables=made.tables)


def test_the_table_contains_the_front_with_the_fastest_first(made: MadeRun) -> None:
    front = front_table(made.tables)
    assert front["verdict"].tolist() == ["best", "worse", "worse"]
    assert front["ratio_to_best"].tolist()[0] == 1.0
    assert front["metrics.samples_per_s"].is_monotonic_decreasing
    assert front["metrics.val_acc"].is_monotonic_increasing


def test_each_group_has_a_front_and_the_main_one_comes_first() -> None:
    run = MadeRun()
    run.add_runs(config(num_workers=8), [9000.0], device="NVIDIA H200")
    for workers, speed in ((0, 1000.0), (3, 2000.0)):
        run.add_runs(config(num_workers=workers), [speed])
    front = front_table(run.tables)
    assert front["params.num_workers"].tolist() == [3, 8]
    assert front["group"].tolist() == ["device cpu", "device NVIDIA H200"]
    assert main_front(front)["params.num_workers"].tolist() == [3]


def test_the_front_has_the_figures_of_confirm_runs() -> None:
    run = MadeRun()
    for workers, speed in ((0, 1000.0), (3, 2000.0)):
        run.add_runs(config(num_workers=workers), [speed])
    run.add_runs(config(num_workers=3), [1500.0, 1510.0], stage="confirm")
    (row,) = front_table(run.tables).to_dict("records")
    assert (row["measured_in"], row["num_runs"]) == ("confirm", 2)
    assert 1500 < row["metrics.samples_per_s"] < 1510
    assert len(row["trial_ids"].split()) == 3, "those of both stages"


def test_a_confirmed_config_has_the_figures_of_its_confirm_runs(view: View) -> None:
    for mark in ("is_baseline", "is_recommended"):
        (shown,) = view.shown[view.shown[mark]].to_dict("records")
        (confirmed,) = view.finals[view.finals[mark]].to_dict("records")
        (searching,) = view.configs[view.configs[mark]].to_dict("records")
        for column in (SPEED, f"{SPEED}_low", ACCURACY, "num_runs", "trial_ids"):
            assert shown[column] == confirmed[column]
        assert shown["verdict"] == searching["verdict"], "confirm runs select nothing"
        assert shown[MEASURED_IN] == "confirm"
    others = view.shown[MEASURED_IN] == "train"
    assert others.sum() == len(view.configs) - 2
    assert view.shown.loc[others, SPEED].equals(view.configs.loc[others, SPEED])
    assert view.shown["num_runs"].dtype == view.configs["num_runs"].dtype


def test_a_baseline_that_only_confirm_runs_trained_has_a_row(view: View) -> None:
    without = view.configs[~view.configs["is_baseline"]]
    shown = with_finals(without, view.finals, SPEED)
    assert len(shown) == len(view.configs)
    (row,) = shown[shown["is_baseline"]].to_dict("records")
    assert (row["verdict"], row["on_front"], row[MEASURED_IN]) == ("", False, "confirm")


ROW = {"composed": True, "num_runs": 4, "num_all_runs": 1, "curve_ids": ("a",)}


def test_a_composed_figure_names_what_it_rests_on() -> None:
    assert runs_text(ROW, "accuracy") == "4 probes, 1 curve"
    assert sign_of(ROW) == f" {SIGN}"
    assert sign_of({**ROW, "composed": False}) == sign_of({}) == ""
