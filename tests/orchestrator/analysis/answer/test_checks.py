"""What the figures of a run rest on, beside the machine."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.analysis.answer.checks import checks_of
from orchestrator.analysis.answer.machine_checks import Check, Health
from orchestrator.analysis.recommendation.recommend import recommend
from orchestrator.analysis.tables.run_tables import RunTables
from tests.orchestrator.analysis.made_runs import (
    ACCURACY,
    MadeRun,
    config,
    factored_run,
    products_run,
)

FAST = config(num_workers=3)


def checked(tables: RunTables, name: str) -> list[Check]:
    return [check for check in checks_of(tables, recommend(tables)) if check.name == name]


def text_of(tables: RunTables, name: str) -> tuple[Health, str]:
    (check,) = checked(tables, name)
    return check.health, check.text


@pytest.fixture(scope="module")
def tables() -> RunTables:
    return products_run().tables


def with_sweep(tables: RunTables, **fields: object) -> RunTables:
    return replace(tables, sweep=replace(tables.sweep, **fields))  # type: ignore[arg-type]


def test_a_stand_in_is_a_warning_and_the_asked_set_is_in_order(tables: RunTables) -> None:
    assert text_of(tables, "data") == (
        Health.WARNING, "products-synthetic, a stand-in for the set that was asked for",
    )  # fmt: skip
    asked = with_sweep(tables, data_note="", data="ogbn-products")
    assert text_of(asked, "data") == (Health.PASS, "ogbn-products")


def test_a_replay_comes_before_everything(tables: RunTables) -> None:
    assert checked(tables, "replay") == []
    replayed = with_sweep(tables, replayed="runs/a/1")
    first = checks_of(replayed, recommend(replayed))[0]
    assert first.text == "recorded runs of runs/a/1: nothing was measured"


def test_the_edge_of_a_range_is_named_with_its_value(tables: RunTables) -> None:
    health, text = text_of(tables, "edge of range")
    assert health is Health.WARNING
    assert text == "the largest batch_size tried, 4000, was chosen: the best may lie beyond it"


def test_trials_without_a_result_are_counted(tables: RunTables) -> None:
    assert text_of(tables, "trials") == (
        Health.WARNING, "1 failed, 2 cannot run here, 1 were not run of 35 trials",
    )  # fmt: skip


def test_configs_that_cannot_run_here_are_a_result() -> None:
    run = MadeRun()
    run.add(config())
    assert text_of(run.tables, "trials") == (Health.PASS, "1 trial, each with a result")
    run.add(config(ranks=2), state="infeasible", reason="needs 2 GPUs")
    assert text_of(run.tables, "trials") == (Health.PASS, "1 cannot run here of 2 trials")


def test_a_model_that_predicts_one_class_is_a_warning() -> None:
    run = MadeRun()
    run.add_runs(config(), [1000.0], **{"metrics.val_classes_predicted": 1.0})
    (check,) = checked(run.tables, "one class")
    assert check.health is Health.WARNING


def test_composed_figures_are_a_warning_until_confirm_runs_trained_the_settings() -> None:
    assert text_of(factored_run().tables, "composed")[0] is Health.PASS
    assert text_of(factored_run(confirmed=False).tables, "composed")[0] is Health.WARNING


def test_a_baseline_or_confirm_runs_short_of_the_rule_are_warnings() -> None:
    run = MadeRun()
    run.add_runs(config(), [1000.0], **{ACCURACY: 0.5})
    run.add_runs(FAST, [2000.0])
    run.add_runs(FAST, [2000.0], stage="confirm", **{ACCURACY: 0.8})
    texts = [check.text for check in checked(run.tables, "rule")]
    assert texts == [
        "its confirm runs reach val_acc 80.00 %, short of the 89.50 % that the rule asks for",
        "the baseline itself is not accurate enough: val_acc 50.00 % when searching, "
        "the rule asks for 89.50 %",
    ]


def test_what_a_budget_has_cut_is_a_warning(tables: RunTables) -> None:
    cut = with_sweep(tables, cuts=("the time budget left no room for the confirm stage",))
    assert text_of(cut, "budget")[1] == "the time budget left no room for the confirm stage"
