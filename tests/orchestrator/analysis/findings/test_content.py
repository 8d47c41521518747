"""``recommended.json``."""

from __future__ import annotations

import pytest

from tests.orchestrator.analysis.made_runs import MadeRun, config, content_of


def test_the_json_is_plain_and_says_null_for_figures_that_are_not_known() -> None:
    run = MadeRun()
    run.add(config(), state="infeasible", reason="needs 2 GPUs")
    content = content_of(run.tables)
    assert content["config"] is None
    assert content["figures"]["samples_per_s"] is None
    assert content["speedup"] is None
    assert content["noise_floor"] is None
    assert content["interference"] is None
    assert content["data"] == "products-synthetic"
    assert "within 0.5 points of the best" in content["rule"]


def test_the_json_holds_the_speed_up_in_figures_and_in_words(made: MadeRun) -> None:
    content = content_of(made.tables)
    assert content["verdict"] == "unresolved"
    assert content["speedup"]["basis"] == "confirm"
    assert content["speedup"]["num_pairs"] == 3
    assert f"{content['speedup']['ratio']:.2f}x the baseline's" in content["speedup"]["text"]
    assert content["noise_floor"]["stage"] == "confirm"


def test_the_json_begins_with_the_answer(made: MadeRun) -> None:
    content = content_of(made.tables)
    assert list(content)[:3] == ["schema_version", "status", "sentence"]
    assert (content["schema_version"], content["status"]) == (2, "confirmed")
    assert content["sentence"].startswith("batch_size 4000 with num_workers 3 and lr 0.01 trains")


def test_what_changed_stands_beside_the_baselines_values_and_figures(made: MadeRun) -> None:
    content = content_of(made.tables)
    assert content["changed"] == {
        "batch_size": {"value": 4000, "baseline": 1000},
        "num_workers": {"value": 3, "baseline": 0},
        "lr": {"value": 0.01, "baseline": 0.003},
    }
    ours, theirs = (which["figures"]["samples_per_s"] for which in (content, content["baseline"]))
    assert ours / theirs == pytest.approx(content["speedup"]["ratio"]), "one stage, one ratio"
    assert content["baseline"]["config"]["num_workers"] == 0


def test_the_cost_and_the_checks_are_in_it(made: MadeRun) -> None:
    content = content_of(made.tables)
    trials = made.trials
    assert content["cost"]["search_s"] == pytest.approx(trials["wall_s"].sum())
    assert content["cost"]["search_core_hours"] == pytest.approx(
        (trials["wall_s"] * trials["cores"]).sum() / 3600
    )
    assert {"name", "health", "text"} == {key for check in content["checks"] for key in check}


def test_a_factor_that_is_not_known_is_in_no_figure_of_it() -> None:
    run = MadeRun()
    for workers, speeds in ((0, [1000.0, 300.0]), (3, [500.0, 4000.0])):
        run.add_runs(config(num_workers=workers), [1000.0 * (1 + workers)])
        run.add_runs(config(num_workers=workers), speeds, stage="confirm")
    speedup = content_of(run.tables)["speedup"]
    known = ("ratio", "low", "high", "searching_ratio")
    assert {name: speedup[name] for name in known} == dict.fromkeys(known)
    assert "more than a factor of 1.5" in speedup["why_not_known"]
    assert speedup["text"] == f"speed-up not known: {speedup['why_not_known']}"
