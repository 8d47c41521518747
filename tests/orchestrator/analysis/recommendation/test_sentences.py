from __future__ import annotations

import pytest

from orchestrator.analysis.recommendation.choice import choose
from orchestrator.analysis.recommendation.selection import select
from orchestrator.analysis.recommendation.sentences import (
    speedup_text,
    why_chosen,
    why_no_front,
    why_none,
    why_not_known,
    why_selected,
)
from orchestrator.analysis.recommendation.speedup import speed_up
from orchestrator.analysis.tables.run_tables import RunTables
from tests.orchestrator.analysis.made_runs import Config, MadeRun, config

FAST = config(num_workers=3)


def searched() -> MadeRun:
    run = MadeRun()
    run.add_runs(config(), [1000.0])
    run.add_runs(FAST, [3900.0])
    return run


def confirm(run: MadeRun, c: Config, speeds: list[float], **cells: object) -> None:
    run.add_runs(c, speeds, stage="confirm", **cells)


def text_of(run: MadeRun) -> str:
    return speedup_text(speed_up(run.tables, FAST), run.tables)


def why(run: MadeRun) -> str:
    choice = choose(run.tables)
    assert choice is not None
    return why_chosen(choice, run.tables)


def test_a_confirmed_speed_up_names_its_interval_and_its_pairs() -> None:
    run = searched()
    confirm(run, FAST, [4000.0, 4040.0, 3980.0])
    confirm(run, config(), [1000.0, 1000.0, 1000.0])
    text = text_of(run)
    assert text.startswith("4.01x the baseline's speed, 95 % interval 3.93x to 4.08x, over 3 pairs")
    assert text.endswith("of confirm runs in alternation; 3.90x in the runs that selected it")


def test_interleaved_pairs_are_called_so() -> None:
    run = searched()
    for c, speed in ((FAST, 4000.0), (config(), 1000.0)):
        confirm(run, c, [speed, speed * 1.01], **{"tags.interleaved": "true"})
    assert "over 2 pairs of interleaved confirm runs" in text_of(run)


def test_a_stage_that_was_extended_says_from_how_many_pairs() -> None:
    run = searched()
    run.sweep["confirm"] = 2
    confirm(run, FAST, [4000.0, 4040.0, 3980.0])
    confirm(run, config(), [1000.0, 1000.0, 1000.0])
    assert "(extended from 2)" in text_of(run)


def test_one_pair_is_too_few_for_an_interval() -> None:
    run = searched()
    confirm(run, FAST, [4000.0])
    confirm(run, config(), [1000.0])
    assert "one pair of confirm runs is too few for an interval" in text_of(run)


@pytest.mark.parametrize(
    ("num_contaminated", "words"),
    [
        (1, "; 1 pair left out: a run of it was contaminated"),
        (2, "speed-up not known: other load disturbed 2 of 3 pairs of confirm runs"),
    ],
)
def test_contaminated_pairs_are_named(num_contaminated: int, words: str) -> None:
    run = searched()
    confirm(run, config(), [1000.0, 1001.0, 1002.0])
    confirm(run, FAST, [4000.0, 4001.0, 4002.0])
    for row in run.rows[-num_contaminated:]:
        row["tags.contaminated"] = "30 %"
    assert words in text_of(run)


def test_pairs_under_other_conditions_are_named() -> None:
    run = searched()
    confirm(run, config(), [1000.0, 1001.0])
    confirm(run, FAST, [4000.0, 4001.0])
    for c in (config(), FAST):
        confirm(run, c, [9000.0], first=2, device="H200")
    assert "; 1 pair under other conditions left out" in text_of(run)


@pytest.mark.parametrize(
    ("confirm_runs", "words"),
    [(0, "the sweep has no confirm stage"), (3, "no confirm run was made")],
)
def test_a_speed_up_of_the_search_is_not_known(confirm_runs: int, words: str) -> None:
    run = searched()
    run.sweep["confirm"] = confirm_runs
    assert text_of(run) == f"speed-up not known: {words}"


def test_confirm_runs_that_did_not_run_are_counted() -> None:
    run = searched()
    for c in (FAST, config()):
        run.add(c, stage="confirm", state="not_run", reason="the time budget ended")
    assert "no two confirm runs of a round are of it and the baseline (2 not_run)" in text_of(run)


@pytest.mark.parametrize(
    ("state", "reason", "words"),
    [
        ("failed", "ValueError: no\nTraceback", "the baseline is failed: ValueError: no"),
        (None, "", "the baseline was not run"),
    ],
)
def test_without_the_baseline_the_reason_is_named(
    state: str | None, reason: str, words: str
) -> None:
    run = MadeRun()
    run.add_runs(FAST, [3900.0])
    if state:
        run.add(config(), state=state, reason=reason)
    assert text_of(run) == f"speed-up not known: {words}"


def test_the_fastest_config_is_chosen_for_that() -> None:
    text = why_selected(select(searched().tables), searched().record)
    assert text.startswith("in the runs that selected it 3,900 samples/s at val_acc 90.00 %")
    assert "(configs close enough to it: 2 of 2); of these it is the fastest" in text


def test_a_cheaper_config_within_the_margin_is_chosen_for_that() -> None:
    run = searched()
    run.add_runs(config(num_workers=6), [3940.0])
    assert "within 2 % of the fastest, lr=0.003 batch_size=1000 num_workers=6" in why(run)
    assert why(run).endswith("(3,940 samples/s), and needs 3 workers instead of 6")


def test_a_cheaper_config_that_is_shown_to_be_as_fast_is_chosen_for_that() -> None:
    run = MadeRun()
    run.add_runs(config(), [991.0, 990.0, 989.0])
    run.add_runs(FAST, [1000.0, 999.0, 1001.0])
    run.add_runs(config(num_workers=6), [700.0, 701.0, 699.0])
    assert why(run).endswith("(1000 samples/s), and needs 0 workers instead of 3")


def test_a_faster_finalist_is_chosen_for_that() -> None:
    run = MadeRun()
    for c, speed, confirmed in (
        (config(), 400.0, 400.0), (FAST, 990.0, 990.0), (config(num_workers=6), 1000.0, 1100.0),
    ):  # fmt: skip
        run.add_runs(c, [speed])
        confirm(run, c, [confirmed, confirmed * 1.001, confirmed * 0.999])
    assert "the fastest of the finalists: 1.11x the speed of" in why(run)


def test_the_baseline_in_place_of_a_slower_config_is_chosen_for_that() -> None:
    run = searched()
    confirm(run, FAST, [800.0, 810.0, 805.0])
    confirm(run, config(), [1000.0, 1000.0, 1000.0])
    text = why(run)
    assert text.startswith("the baseline; lr=0.003 batch_size=1000 num_workers=3 looked faster")
    assert "and is slower: 0.80x the baseline's speed, 95 % interval 0.79x to 0.82x" in text


def test_where_nothing_completed_the_states_and_the_reason_are_named() -> None:
    run = MadeRun()
    run.add(config(), state="infeasible", reason="needs 2 GPUs, the largest node has 0")
    for line in (1, 2):  # the end of its output goes with it
        output = f"Traceback (most recent call last):\n  File x, line {line}"
        run.add(config(ranks=2), state="failed", reason=f"ValueError: no\n{output}")
    run.add(config(ranks=4), state="not_run")
    text = why_none(run.tables)
    assert text.startswith("no trial completed (2 failed, 1 infeasible, 1 not_run")
    assert text.endswith("; most often: ValueError: no)")


def test_where_nothing_was_trained_that_is_the_reason() -> None:
    run = searched()
    none = RunTables(trials=run.trials.iloc[:0], sweep=run.record)
    assert why_none(none) == "no trial was trained"


def test_where_a_measured_figure_is_missing_it_is_said_what_measures_it() -> None:
    run = MadeRun()
    run.add_runs(config(), [float("nan")])
    assert why_none(run.tables) == (
        "no completed trial has reported samples_per_s; run.batches measures samples_per_s, which "
        "objectives=[...] may leave out"
    )


def test_where_a_figure_was_not_reported_it_is_named() -> None:
    nan = float("nan")
    run = MadeRun()
    run.add_runs(config(), [1000.0], **{"metrics.val_acc": nan})
    assert why_none(run.tables) == "no completed trial has reported val_acc"
    run.add_runs(FAST, [nan])
    assert why_none(run.tables) == "no completed trial has both samples_per_s and val_acc"


def test_a_front_that_a_bound_leaves_empty_is_not_one_of_missing_figures() -> None:
    run = MadeRun()
    assert why_no_front(run.tables) == "no config completed with every objective measured"
    run.add_runs(config(), [1000.0])
    run.sweep["objectives"] = [
        {"metric": "samples_per_s", "goal": "maximize"},
        {"metric": "val_acc", "goal": "maximize", "bound": 0.99},
    ]
    assert why_no_front(run.tables) == "no config that completed holds the bounds"


@pytest.mark.parametrize(
    ("ours", "theirs", "reason"),
    [
        ((20, None, None), (30, 31, 32), "its confirm runs reached the target in 1 of 3 rounds"),
        (
            (20, 21, 22),
            (30, 31, None),
            "the baseline's confirm runs reached the target in 2 of 3 rounds",
        ),
        (
            (20, None, None),
            (None, 31, None),
            "its confirm runs reached the target in 1 of 3 rounds, the baseline's in 1",
        ),
        ((20, 21, None), (30, 31, None), ""),
    ],
)
def test_runs_that_do_not_reach_the_target_are_not_passed_over(
    ours: tuple[float | None, ...], theirs: tuple[float | None, ...], reason: str
) -> None:
    run, time = MadeRun(), "time_to_accuracy_s"
    run.sweep["objectives"] = [{"metric": time, "goal": "minimize"}]
    run.sweep["target"] = {"metric": "val_acc", "goal": "maximize", "bound": 0.5}
    for c, figures in ((FAST, ours), (config(), theirs)):
        run.add(c)
        for repeat, figure in enumerate(figures):
            row = run.add(c, stage="confirm", repeat=repeat)
            last = {"trial_id": row["trial_id"], "step": 1, "epoch": 1, "samples": 1}
            run.curves = [one for one in run.curves if one["trial_id"] != row["trial_id"]]
            reached = {"elapsed_s": figure or 90.0, "metrics.val_acc": 0.6 if figure else 0.4}
            run.curves.append({**last, **reached, "metrics.train_loss": 1.0})
    speedup = speed_up(run.tables, FAST)
    assert why_not_known(speedup, run.tables) == reason
    assert (speedup.ratio is None) == bool(reason)
    if reason:
        assert speedup.is_decided, "no further round makes it known"
