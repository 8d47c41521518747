"""Runs whose cores did something else as well: they count only where no clean one does."""

from __future__ import annotations

import pytest

from analysis.comparison.compare import Run, compare
from analysis.recommendation.recommend import Recommendation, recommend
from analysis.rule import rule_of
from analysis.statistics.by_config import by_config
from analysis.statistics.drift import drift_of
from analysis.statistics.interference import company_effect
from analysis.statistics.noise_floor import noise_floor
from orchestrator.trial import Stage
from tests.analysis.made_runs import Config, MadeRun, config

FAST = config(num_workers=3)
TAG = "30 % of its cores' time went to others"


def add(run: MadeRun, c: Config, speed: float, *, dirty: bool = False, **more: float | str) -> None:
    figure = speed * (0.7 if dirty else 1.0)
    cells: dict[str, object] = {"metrics.samples_per_s": figure, "metrics.val_acc": 0.9}
    cells |= {"tags.contaminated": TAG if dirty else "false"}
    run.add(c).update({**cells, **more})


def confirmed(*, dirty: set[tuple[int, bool]], rounds: int = 3) -> MadeRun:
    """A config 1.30 times as fast; ``dirty`` are rounds, and whether of it or the baseline."""
    run = MadeRun()
    for c, speed in ((config(), 1000.0), (FAST, 1300.0)):
        for repeat in range(2):
            add(run, c, speed * (1 + 0.004 * repeat), repeat=repeat)
        for repeat in range(rounds):
            is_dirty = (repeat, c is FAST) in dirty
            figure = speed * (1 + 0.004 * ((repeat + (c is FAST)) % 2))
            add(run, c, figure, stage="confirm", repeat=repeat, dirty=is_dirty)
    return run


def said_of(run: MadeRun) -> Recommendation:
    return recommend(run.trials, run.sweep)


def test_a_disturbed_run_is_left_out_of_its_config_where_a_clean_one_is() -> None:
    run = MadeRun()
    for repeat, dirty in enumerate((False, False, True)):
        add(run, FAST, 1300.0, repeat=repeat, dirty=dirty)
    add(run, config(), 1000.0, dirty=True)

    fast, baseline = by_config(run.trials).to_dict("records")

    assert fast["metrics.samples_per_s"] == pytest.approx(1300)
    assert (fast["num_runs"], fast["num_left_out"], fast["contaminated"]) == (2, 1, False)
    assert len(fast["trial_ids"]) == 3
    assert baseline["metrics.samples_per_s"] == pytest.approx(700)
    assert (baseline["num_runs"], baseline["num_left_out"], baseline["contaminated"]) == (
        1,
        0,
        True,
    )


def test_what_only_a_disturbed_run_measured_is_kept() -> None:
    run = MadeRun()
    add(run, FAST, 1300.0, stage="confirm", dirty=True, **{"metrics.test_acc": 0.8})
    add(run, FAST, 1300.0, stage="confirm", repeat=1)

    (row,) = by_config(run.trials, stage=Stage.CONFIRM).to_dict("records")
    assert (row["metrics.test_acc"], row["num_left_out"]) == (0.8, 1)


def test_what_is_selected_says_how_many_of_its_runs_were_left_out_or_count() -> None:
    run = MadeRun()
    add(run, config(), 800.0)
    for repeat, dirty in enumerate((False, False, True)):
        add(run, FAST, 1300.0, repeat=repeat, dirty=dirty)
    assert any("1 contaminated run of it was left out" in note for note in said_of(run).notes)

    run = MadeRun()
    add(run, config(), 800.0)
    add(run, FAST, 1300.0, dirty=True)
    assert any("all of its runs were contaminated" in note for note in said_of(run).notes)


@pytest.mark.parametrize("whose", [True, False], ids=["the fast one's", "the baseline's"])
def test_a_disturbed_round_does_not_change_the_claimed_speed_up(whose: bool) -> None:
    speedup = said_of(confirmed(dirty={(1, whose)})).speedup

    assert speedup is not None
    assert speedup.ratio == pytest.approx(1.30, rel=0.01)
    assert speedup.num_pairs == 2
    assert "1 pair left out: a run of it was contaminated" in speedup.text


def test_disturbed_rounds_count_where_too_few_are_clean_and_that_is_said() -> None:
    speedup = said_of(confirmed(dirty={(0, True), (2, False)})).speedup

    assert speedup is not None
    assert speedup.num_pairs == 3
    assert "2 of them with a contaminated run" in speedup.text


def test_a_disturbed_run_is_not_the_noise_floor() -> None:
    run = confirmed(dirty={(1, False)})
    noise = noise_floor(run.trials, run.sweep, rule_of(run.sweep))
    assert noise is not None
    assert noise.num_runs == 2
    assert noise.largest_ratio < 1.01
    assert noise.text.endswith("; 1 contaminated run left out)")

    run = confirmed(dirty={(repeat, False) for repeat in range(3)})
    noise = noise_floor(run.trials, run.sweep, rule_of(run.sweep))
    assert noise is not None
    assert noise.stage is Stage.TRAIN, "clean runs come first, of whatever stage"


def test_a_disturbed_run_is_no_drift() -> None:
    clean, disturbed = (confirmed(dirty=d, rounds=6) for d in (set(), {(5, True), (5, False)}))
    drifts = [drift_of(run.trials, run.sweep, rule_of(run.sweep)) for run in (clean, disturbed)]

    assert all(drift is not None and abs(drift.change) < 0.01 for drift in drifts)
    assert [drift.num_runs for drift in drifts if drift] == [14, 12]


def test_a_disturbed_run_is_not_what_company_costs() -> None:
    run = MadeRun()
    for c in (config(), FAST):
        for repeat in (1, 2):
            for isolation in ("exclusive", "leased"):
                where = {"stage": "probe", "repeat": repeat, "isolation": isolation}
                add(run, c, 1000.0 + 4 * repeat, **where)
    add(run, FAST, 1000.0, stage="probe", repeat=3, isolation="exclusive")
    add(run, FAST, 500.0, stage="probe", repeat=3, isolation="leased", dirty=True)

    found = company_effect(run.trials, run.sweep)
    assert found is not None
    assert found.ratio == pytest.approx(1, abs=0.01)
    assert found.num_runs == 8


def test_two_runs_are_compared_by_their_clean_trials() -> None:
    first, second = MadeRun(), MadeRun()
    for run in (first, second):
        for repeat in range(3):
            add(run, FAST, 1300.0, repeat=repeat, dirty=run is second and repeat == 2)
    (row,) = compare(
        *(Run(trials=run.trials, sweep=run.sweep) for run in (first, second))
    ).table.to_dict("records")
    assert row["ratio"] == pytest.approx(1)
    assert (row["runs_first"], row["runs_second"]) == (3, 2)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([], None),
        ([FAST], "3 confirm runs of it or of the baseline were timed on shared cores"),
        ([config()], "3 confirm runs of it or of the baseline were timed on shared cores"),
    ],
)
def test_a_claim_from_shared_cores_says_so(rows: list[Config], said: str | None) -> None:
    run = confirmed(dirty=set())
    for row in run.rows:
        is_one = any(row["params.num_workers"] == c["num_workers"] for c in rows)
        if row["stage"] == "confirm" and is_one:
            row["isolation"] = "shared"
    notes = [note for note in said_of(run).notes if "shared cores" in note]
    assert len(notes) == (said is not None)
    assert not said or notes[0].startswith(said)


def test_what_is_recommended_instead_has_notes_of_its_own() -> None:
    """The config that looked faster was disturbed; the baseline that is taken instead was not."""
    run = MadeRun()
    add(run, config(), 1000.0)
    add(run, FAST, 1300.0 / 0.7, dirty=True)
    for repeat in range(3):
        add(run, config(), 1000.0 + repeat, stage="confirm", repeat=repeat)
        add(run, FAST, 800.0 + 2 * repeat, stage="confirm", repeat=repeat)
    found = said_of(run)
    assert found.config is not None
    assert found.config["num_workers"] == 0
    assert not any("all of its runs were contaminated" in note for note in found.notes)
