"""What is said first of a run: for each kind of run a sentence that can be stood by."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from orchestrator.analysis.answer.answer import Answer, Status, answer_of
from orchestrator.analysis.recommendation.recommend import recommend
from orchestrator.analysis.tables.load import load_run
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.rules import SelectionRule, knee, weighted
from tests.orchestrator.analysis.made_runs import (
    ACCURACY,
    MadeRun,
    config,
    factored_run,
    products_run,
)

FORMAT_1 = Path(__file__).parents[3] / "fixtures" / "run_format_1"
FAST = config(num_workers=3)
TWICE, ONCE = [2000.0, 2010.0, 2005.0], [1000.0, 1000.0, 1000.0]


def answer_to(run: MadeRun | RunTables) -> Answer:
    tables = run.tables if isinstance(run, MadeRun) else run
    return answer_of(tables, recommend(tables))


def said(run: MadeRun | RunTables) -> tuple[str, str]:
    answer = answer_to(run)
    return str(answer.status), answer.sentence


def confirmed(
    ours: Sequence[float], theirs: Sequence[float], *, searching: float = 2000.0, **cells: object
) -> MadeRun:
    """A run whose search found three workers, and whose confirm runs have these speeds."""
    run = MadeRun()
    for c, speeds in ((config(), [1000.0]), (FAST, [searching])):
        run.add_runs(c, speeds, **cells)
    for c, speeds in ((FAST, list(ours)), (config(), list(theirs))):
        run.add_runs(c, speeds, stage="confirm", **cells)
    return run


def with_objectives(run: MadeRun, *objectives: tuple[str, str]) -> MadeRun:
    run.sweep["objectives"] = [{"metric": metric, "goal": goal} for metric, goal in objectives]
    return run


def test_a_confirmed_speed_up_leads_with_its_interval_and_the_accuracy() -> None:
    run = confirmed(TWICE, ONCE)
    for row in run.rows:
        row[ACCURACY] = 0.90 + 0.025 * (row["params.num_workers"] == 3) + 0.001 * row["repeat"]
    assert said(run) == (
        "confirmed",
        "num_workers 3 trains 2.00 times as fast as the baseline (1.99 to 2.02) and is 2.5 points "
        "more accurate",
    )
    answer = answer_to(run)
    assert answer.speedup is not None
    assert answer.speedup.centre == pytest.approx(2.005, abs=0.001)
    assert answer.why_not_known == ""


def test_a_loss_of_accuracy_is_said() -> None:
    run = confirmed(TWICE, ONCE)
    run.sweep["accuracy_tolerance"] = 0.05
    for row in run.rows:
        row[ACCURACY] = 0.90 - 0.02 * (row["params.num_workers"] == 3)
    assert said(run)[1].endswith("(1.99 to 2.02) but is 2 points less accurate")


@pytest.mark.parametrize(
    ("ours", "theirs", "why"),
    [
        ([500.0, 4000.0], [1000.0, 300.0],
         "its 2 pairs of confirm runs allow for ratios that differ by more than a factor of 1.5"),
        ([1010.0, 1300.0, 1100.0], [1000.0, 1210.0, 1130.0],
         "3 pairs of confirm runs do not tell it from the baseline (0.90 to 1.15 times as fast)"),
        ([2000.0], [1000.0], "one pair of confirm runs is too few for an interval"),
        ([], [], "no confirm run was made"),
    ],
)  # fmt: skip
def test_a_factor_that_is_not_known_is_said_to_be_so_and_why(
    ours: list[float], theirs: list[float], why: str
) -> None:
    answer = answer_to(confirmed(ours, theirs))
    assert (answer.status, answer.speedup) == (Status.NOT_CONFIRMED, None)
    assert answer.sentence == f"num_workers 3 was selected; its speed-up is not known: {why}"


def test_a_busy_machine_tells_no_factor_however_narrow_its_interval_is() -> None:
    busy = {"tags.contaminated": "40 %", "metrics.foreign_share": 0.4}
    answer = answer_to(confirmed([27_570.0, 27_600.0, 27_580.0], ONCE, **busy))
    assert (answer.status, answer.speedup) == (Status.NOT_CONFIRMED, None)
    assert answer.why_not_known == "other load disturbed its 3 pairs of confirm runs"
    assert [check.name for check in answer.checks][:2] == ["data", "other load"]


def test_the_gravest_reason_comes_first() -> None:
    run = confirmed([500.0, 4000.0], [1000.0, 300.0])
    run.rows[-1]["tags.contaminated"] = "40 %"
    first, second = answer_to(run).why_not_known.split("; ")
    assert first == "other load disturbed 1 of 2 pairs of confirm runs"
    assert second.endswith("by more than a factor of 1.5")
    assert said(run)[1].endswith(first), "the sentence has the first one alone"


def test_a_config_that_is_faster_by_an_unknown_factor_is_called_faster() -> None:
    answer = answer_to(confirmed([2000.0, 3000.0, 2500.0], ONCE))
    assert (answer.status, answer.speedup) == (Status.CONFIRMED, None)
    assert answer.sentence.startswith(
        "num_workers 3 is faster than the baseline and is as accurate"
    )
    assert "how many times as fast is not known: its 3 pairs" in answer.sentence


def test_of_two_that_are_as_fast_the_baseline_stays() -> None:
    run = confirmed([1001.0, 1002.0, 1003.0], ONCE)
    assert said(run) == (
        "tie: the baseline stays",
        "the baseline stays: num_workers 3 trains as fast within 2 % (1.00 to 1.00)",
    )
    assert answer_to(run).changed == ()


def test_of_two_that_are_as_fast_the_cheaper_one_is_recommended() -> None:
    run = confirmed(ONCE, [1001.0, 1002.0, 1003.0], searching=990.0)
    run.sweep["baseline"] = FAST
    for row in run.rows:
        row["metrics.peak_rss_gib"] = 1.0
    assert said(run) == (
        "confirmed",
        "num_workers 0 trains as fast as the baseline within 2 % (1.00 to 1.00) and is as accurate "
        "within 0.5 points",
    )


def test_a_faster_config_that_is_not_accurate_enough_is_not_denied() -> None:
    run = confirmed([], [])
    run.rows[1][ACCURACY] = 0.5
    assert said(run)[1] == (
        "the baseline stays: of 2 configs no other one was faster and accurate enough in the search"
    )


def test_equal_values_are_a_tie() -> None:
    assert said(confirmed(ONCE, ONCE, searching=1000.0)) == (
        "tie: the baseline stays",
        "the baseline stays: the one config that was run again was not faster in the confirm runs",
    )


def test_confirm_runs_speak_for_the_configs_that_were_run_again_alone() -> None:
    run = confirmed(ONCE, ONCE, searching=1000.0)
    for workers, speed in ((6, 1000.0), (8, 500.0), (1, 400.0)):
        run.add_runs(config(num_workers=workers), [speed])
    run.add_runs(config(num_workers=6), [900.0, 901.0, 902.0], stage="confirm")
    assert said(run)[1] == (
        "the baseline stays: none of the 2 configs that were run again was faster in the confirm "
        "runs"
    )


def test_a_config_that_the_confirm_runs_show_to_be_slower_leaves_the_baseline() -> None:
    assert said(confirmed([800.0, 802.0, 803.0], ONCE)) == (
        "confirmed",
        "the baseline stays: num_workers 3 trains 0.80 times as fast as the baseline "
        "(0.80 to 0.81)",
    )


def test_a_slower_config_beside_a_baseline_that_falls_short_says_so() -> None:
    run = confirmed([800.0, 802.0, 803.0], ONCE)
    run.rows[0][ACCURACY] = 0.5
    status, sentence = said(run)
    assert status == "confirmed"
    assert sentence.endswith("; the baseline falls short of the rule")


def test_an_empty_run() -> None:
    assert said(MadeRun()) == (
        "nothing to recommend",
        "no settings can be recommended: no trial was trained",
    )


def test_a_run_of_failures_alone() -> None:
    run = MadeRun()
    run.add(config(), state="failed", reason="OSError: no space")
    run.add(FAST, state="infeasible", reason="needs 2 GPUs")
    status, sentence = said(run)
    assert status == "nothing to recommend"
    assert sentence.startswith(
        "no settings can be recommended: no trial completed (1 failed, 1 inf"
    )
    assert answer_to(run).checks[1].text == "1 failed, 1 cannot run here of 2 trials"


@pytest.mark.parametrize(
    ("which", "expected"),
    [
        (config(), ("not confirmed", "the baseline stays: no other config was tried")),
        (FAST, ("not confirmed",
                "num_workers 3 was selected; its speed-up is not known: the baseline was not run")),
    ],
    ids=["the baseline", "another"],
)  # fmt: skip
def test_one_trial(which: dict[str, Any], expected: tuple[str, str]) -> None:
    run = MadeRun()
    run.add(which)
    assert said(run) == expected


def test_a_baseline_beside_failures_is_recommended_and_not_confirmed() -> None:
    run = MadeRun()
    run.add(config())
    run.add(FAST, state="failed", reason="killed: no memory")
    assert said(run) == ("not confirmed", "the baseline stays: no other config completed")


@pytest.mark.parametrize(
    ("rule", "found"),
    [
        (knee(), "it is the knee of the front"),
        (weighted(val_acc=1), "its weighted sum is the largest"),
    ],
)
def test_a_baseline_that_another_rule_takes_was_not_the_fastest(
    rule: SelectionRule, found: str
) -> None:
    run = MadeRun()
    for workers, speed, accuracy in ((0, 1000.0, 0.95), (3, 1050.0, 0.80), (1, 400.0, 0.951)):
        run.add_runs(config(num_workers=workers), [speed])
        run.rows[-1][ACCURACY] = accuracy
    run.sweep["rule"] = rule.to_json()
    if rule.weights:
        run.rows[-1][ACCURACY] = 0.949
    assert said(run) == ("not confirmed", f"the baseline stays: of 3 configs {found}")


def test_a_baseline_that_failed_is_why_nothing_is_known() -> None:
    run = MadeRun()
    run.add(FAST)
    run.add(config(), state="failed", reason="killed: no memory")
    assert answer_to(run).why_not_known == "the baseline is failed: killed: no memory"


def test_three_objectives() -> None:
    run = with_objectives(
        confirmed(TWICE, ONCE), ("samples_per_s", "maximize"), ("val_acc", "maximize"),
        ("peak_rss_gib", "minimize"),
    )  # fmt: skip
    assert said(run)[1].startswith("num_workers 3 trains 2.00 times as fast")
    assert answer_to(run).cost["peak_rss_gib"] == 1.0


def test_minimised_objectives() -> None:
    run = confirmed(TWICE, ONCE)
    for row in run.rows:
        row["metrics.step_ms"] = 1e6 / row["metrics.samples_per_s"]
        row["metrics.val_loss"] = 0.5 - 0.2 * (row["params.num_workers"] == 3)
    with_objectives(run, ("step_ms", "minimize"), ("val_loss", "minimize"))
    assert said(run) == (
        "confirmed",
        "num_workers 3 trains 2.00 times as fast as the baseline (1.99 to 2.02) and its val_loss "
        "is 0.2 lower",
    )


def test_an_objective_that_is_no_speed() -> None:
    run = confirmed(TWICE, ONCE)
    for row in run.rows:
        row["metrics.peak_rss_gib"] = 3e3 / row["metrics.samples_per_s"]
    with_objectives(run, ("peak_rss_gib", "minimize"), ("val_acc", "maximize"))
    assert said(run)[1].startswith(
        "num_workers 3 is 2.00 times as good as the baseline in peak_rss_gib (1.99 to 2.02)"
    )


def test_metrics_of_ones_own() -> None:
    run = confirmed(TWICE, ONCE)
    for row in run.rows:
        row |= {"metrics.reward": 12.5, "metrics.games_per_min": row["metrics.samples_per_s"]}
    with_objectives(run, ("games_per_min", "maximize"), ("reward", "maximize"))
    assert said(run)[1] == (
        "num_workers 3 trains 2.00 times as fast as the baseline (1.99 to 2.02) and has the same "
        "reward within 0.25"
    )


def test_a_time_to_an_accuracy() -> None:
    run = confirmed(TWICE, ONCE)
    for row in run.rows:
        row["metrics.time_to_accuracy_s"] = 1e4 / row["metrics.samples_per_s"]
    with_objectives(run, ("time_to_accuracy_s", "minimize"), ("val_acc", "maximize"))
    assert "reaches the target 2.00 times as fast as the baseline" in said(run)[1]


def test_mixed_hardware_is_a_warning_and_in_no_figure() -> None:
    run = confirmed(TWICE, ONCE)
    for c in (config(), FAST):
        run.add_runs(c, [99_000.0], device="H200")
    answer = answer_to(run)
    assert answer.sentence.startswith("num_workers 3 trains 2.00 times as fast")
    (check,) = (check for check in answer.checks if check.name == "conditions")
    assert check.text.startswith("2 trials completed under other conditions (device H200)")


def test_a_run_of_an_earlier_version() -> None:
    """Its own report said "0.67x the baseline's speed, 95 % interval 0.01x to 35.07x"."""
    answer = answer_to(load_run(FORMAT_1))
    assert (answer.status, answer.speedup) == (Status.NOT_CONFIRMED, None)
    assert answer.sentence == (
        "lr 0.002 was selected; its speed-up is not known: other load disturbed 1 of 2 pairs of "
        "confirm runs"
    )
    assert answer.checks[0].text == (
        "14 of 17 runs disturbed, where others took 52 % of their cores' time"
    )


def test_a_factored_run() -> None:
    answer = answer_to(factored_run())
    assert answer.status is Status.CONFIRMED
    assert answer.sentence.startswith(
        "batch_size 4000 with num_workers 3 and lr 0.01 trains 3.85 t"
    )
    before = answer_to(factored_run(confirmed=False))
    assert before.sentence.endswith("its speed-up is not known: no confirm run was made")
    (check,) = (check for check in before.checks if check.name == "composed")
    assert check.text == "speed of 3 probes, accuracy of 2 curves of other settings"


def test_warnings_come_before_what_is_not_known_and_what_is_in_order() -> None:
    order = ["warning", "not known", "pass"]
    for run in (products_run(), MadeRun(), confirmed(TWICE, ONCE)):
        kinds = [order.index(check.health) for check in answer_to(run).checks]
        assert kinds == sorted(kinds)
