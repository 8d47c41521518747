"""What is decided between trials: repeats, company, finalists, and when to stop confirming."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

from analysis.comparable import GROUP, main_group, with_groups
from analysis.recommendation.finalists import faster_finalist, finalists, is_decided
from analysis.recommendation.recommend import recommend
from analysis.recommendation.repeats import to_repeat
from analysis.recommendation.selection import select
from analysis.recommendation.speedup import confirm_level, speed_up
from analysis.statistics.interference import company_effect
from analysis.statistics.run_intervals import with_run_intervals
from tests.analysis.made_runs import MadeRun, config

SPEED = "metrics.samples_per_s"


def timed(run: MadeRun, workers: int, speed: float, **cells: object) -> None:
    """A run of a config that is told by its workers; accurate, and of one memory."""
    ends = {f"{SPEED}_within_low": speed * 0.998, f"{SPEED}_within_high": speed * 1.002}
    told: dict[str, Any] = {
        SPEED: speed,
        **ends,
        "metrics.val_acc": 0.9,
        "metrics.peak_rss_gib": 1.0,
        **cells,
    }
    stage, repeat = str(told.pop("stage", "train")), int(str(told.pop("repeat", 0)))
    run.add(config(num_workers=workers), stage=stage, repeat=repeat, **told)


def run_of(*speeds: tuple[int, float]) -> MadeRun:
    run = MadeRun()
    for workers, speed in speeds:
        timed(run, workers, speed)
    return run


def named(run: MadeRun, max_runs: int = 3) -> list[int]:
    return [c["num_workers"] for c in to_repeat(run.trials, run.sweep, max_runs=max_runs)]


# -- repeats


def test_where_nothing_was_repeated_the_best_and_its_nearest_rivals_are() -> None:
    run = run_of((0, 400.0), (1, 950.0), (2, 960.0), (3, 1000.0), (4, 940.0), (5, 955.0))
    assert named(run) == [3, 2, 5, 1]


def test_what_is_far_from_the_best_needs_no_repeat() -> None:
    assert named(run_of((0, 400.0), (3, 1000.0), (6, 700.0))) == []


def test_what_is_told_from_the_best_is_repeated_no_more() -> None:
    run = run_of((0, 400.0), (3, 1000.0), (6, 930.0))
    assert named(run) == [3, 6]
    for workers, speed in ((3, 1001.0), (6, 931.0)):
        timed(run, workers, speed, repeat=1)
    assert named(run) == []


def test_no_config_has_more_runs_than_the_bound() -> None:
    run = run_of((3, 1000.0), (6, 960.0))
    for repeat, (best, contender) in enumerate(((980.0, 930.0), (1030.0, 990.0)), start=1):
        timed(run, 3, best, repeat=repeat)
        timed(run, 6, contender, repeat=repeat)
    assert named(run, max_runs=3) == []
    assert named(run, max_runs=30) == [3, 6]


def test_what_would_take_too_many_runs_is_left_as_it_is() -> None:
    run = run_of((3, 1000.0), (6, 990.0))
    for repeat in (1, 2):
        timed(run, 3, 1000.0 + 60 * repeat, repeat=repeat)
        timed(run, 6, 990.0 + 60 * repeat, repeat=repeat)
    assert named(run, max_runs=4) == []


# -- company


def company_run(
    ratio: float, noise: float = 0.005, seed: int = 0, *, drift: float = 0.0
) -> MadeRun:
    """Two configs, three rounds both ways in turn; the host faster by ``drift`` at their end."""
    run, rng = MadeRun(), np.random.default_rng(seed)
    speeds = {0: 400.0, 3: 1000.0}
    for workers, speed in speeds.items():
        timed(run, workers, speed * ratio * math.exp(noise * rng.standard_normal()))
    ways = [way for number in range(3) for way in ((True, False), (False, True))[number % 2]]
    for place, alone in enumerate(ways):
        host = (1 + drift) ** (place / (len(ways) - 1))
        for workers, speed in speeds.items():
            timed(
                run,
                workers,
                speed * host * (1 if alone else ratio) * math.exp(noise * rng.standard_normal()),
                stage="probe",
                repeat=1 + place // 2,
                isolation="exclusive" if alone else "leased",
            )
    return run


def test_what_company_costs_is_found() -> None:
    run = company_run(0.85)
    found = company_effect(run.trials, run.sweep)
    assert found is not None
    assert found.is_shown
    assert found.low < 0.85 < found.high
    assert "15." in found.text or "14." in found.text
    assert any("slower than alone" in note for note in recommend(run.trials, run.sweep).notes)


def test_who_was_left_by_its_company_was_not_beside_others() -> None:
    run = company_run(0.85)
    beside = (run.trials["stage"] == "probe") & (run.trials["isolation"] == "leased")
    others = pd.Series(np.nan, index=run.trials.index).mask(beside, 1.0)
    there = run.trials.assign(**{"metrics.others_cores": others})
    whole = company_effect(there, run.sweep)
    assert whole is not None

    left = beside & (run.trials["repeat"] == 1)
    gone = there.assign(**{"metrics.others_cores": others.mask(left, 0.2)})
    found = company_effect(gone, run.sweep)
    assert found is not None
    assert found.num_runs == whole.num_runs - 2 * int(left.sum())
    nobody = there.assign(**{"metrics.others_cores": others.mask(beside, 0.0)})
    assert company_effect(nobody, run.sweep) is None


def test_where_company_is_not_shown_to_cost_anything_the_text_says_what_would_have_been() -> None:
    run = company_run(0.98, noise=0.02)
    found = company_effect(run.trials, run.sweep)
    assert found is not None
    assert not found.is_shown
    half = math.log(found.high / found.low) / 2
    assert found.smallest_seen == pytest.approx(-math.expm1(-half))
    said = f"an effect under {100 * found.smallest_seen:.1f} % would not have been seen"
    assert said in found.text

    quiet = company_run(1.0, noise=0.0001)
    found = company_effect(quiet.trials, quiet.sweep)
    assert found is not None
    assert "an effect under 2.0 % would not have been seen" in found.text, "the margin of a tie"


def test_company_that_costs_nothing_is_seldom_blamed() -> None:
    found = [company_effect((r := company_run(1.0, 0.02, s)).trials, r.sweep) for s in range(60)]
    assert sum(one is not None and one.is_shown for one in found) <= 6


@pytest.mark.parametrize("drift", [-0.1, 0.1])
def test_a_host_that_becomes_faster_or_slower_is_not_company(drift: float) -> None:
    runs = [company_run(1.0, 0.02, seed, drift=drift) for seed in range(60)]
    found = [company_effect(run.trials, run.sweep) for run in runs]
    assert sum(one is not None and one.is_shown for one in found) <= 6


def test_company_is_found_on_a_host_that_becomes_faster() -> None:
    runs = [company_run(0.9, 0.02, seed, drift=0.05) for seed in range(20)]
    found = [company_effect(run.trials, run.sweep) for run in runs]
    assert sum(one is not None and one.is_shown for one in found) >= 18


def test_probes_of_a_search_of_its_own_are_no_runs_without_company() -> None:
    """The fastest of many probes looks slower when it is trained, whatever the company."""
    run = company_run(1.0, 0.001)
    timed(run, 0, 480.0, stage="probe", isolation="exclusive")
    found = company_effect(run.trials, run.sweep)
    assert found is not None
    assert found.ratio == pytest.approx(1, abs=0.01)
    assert found.num_runs == 12


def test_runs_with_company_tell_the_spread_of_what_was_trained_beside_others() -> None:
    """Not the confirm runs, which were alone and close together."""
    run = company_run(1.0, 0.05)
    for repeat in range(3):
        for workers, speed in ((0, 400.0), (3, 1000.0)):
            timed(run, workers, speed, stage="confirm", repeat=repeat, isolation="exclusive")
    rows = with_run_intervals(run.trials, run.sweep)
    row = rows[rows["stage"] == "train"].iloc[0]
    assert "confirm" not in row["tags.interval_over"]
    width = row["metrics.samples_per_s_high"] / row["metrics.samples_per_s"]
    assert width > 1.05


def test_a_difference_below_the_margin_of_a_tie_is_none() -> None:
    run = company_run(0.985, noise=0.0005)
    found = company_effect(run.trials, run.sweep)
    assert found is not None
    assert not found.is_shown
    run.sweep["tie_margin"] = 0.005
    found = company_effect(run.trials, run.sweep)
    assert found is not None
    assert found.is_shown


def test_the_effect_is_not_known_without_runs_both_ways_and_twice() -> None:
    run = run_of((0, 400.0), (3, 1000.0))
    assert company_effect(run.trials, run.sweep) is None
    timed(run, 0, 400.0, stage="probe", isolation="exclusive")
    assert company_effect(run.trials, run.sweep) is None
    assert company_effect(run.trials.iloc[:0], run.sweep) is None


def test_rows_beside_others_are_ranked_with_those_alone_only_where_it_changes_nothing() -> None:
    run = company_run(0.85)
    assert with_groups(run.trials, run.sweep)[GROUP].nunique() == 1
    for workers, speed in ((0, 400.0), (3, 1000.0), (6, 900.0)):
        timed(run, workers, speed, isolation="exclusive")
    grouped = with_groups(run.trials, run.sweep)
    assert set(grouped[GROUP]) == {"company isolated", "company beside others"}
    assert main_group(run.trials, run.sweep) == "company isolated"
    found = company_effect(run.trials, run.sweep)
    assert found is not None
    assert found.acted_on
    assert "the sweep measured alone from then on" in found.text
    assert any("slower than alone" in note for note in recommend(run.trials, run.sweep).notes)


# -- finalists


def pairs(run: MadeRun, speeds: dict[int, list[float]]) -> MadeRun:
    """Confirm runs by workers."""
    for workers, of_config in speeds.items():
        for repeat, speed in enumerate(of_config):
            timed(run, workers, speed, stage="confirm", repeat=repeat, isolation="exclusive")
    return run


def decided(run: MadeRun) -> bool:
    selection = select(run.trials, run.sweep)
    assert selection.config is not None
    return is_decided(run.trials, selection.config, run.sweep, selection.rule)


def test_the_finalists_are_the_selected_config_and_its_fastest_rivals() -> None:
    run = run_of((0, 400.0), (2, 990.0), (3, 1000.0), (4, 985.0))
    chosen = finalists(select(run.trials, run.sweep), most=2)
    assert [c["num_workers"] for c in chosen] == [2, 3]
    assert len(finalists(select(run.trials, run.sweep), most=9)) == 3


@pytest.mark.parametrize(
    ("ours", "is_enough"),
    [
        ([500.0, 502.0, 498.0], True),  # a quarter faster
        ([410.0, 450.0, 430.0], False),  # perhaps faster
        ([400.1, 400.0, 399.9], True),  # shown to be a tie
    ],
)
def test_confirming_ends_once_it_is_known(ours: list[float], is_enough: bool) -> None:
    run = run_of((0, 400.0), (3, 500.0))
    run.sweep["max_confirm"] = 12
    pairs(run, {0: [400.0, 401.0, 399.0], 3: ours})
    assert decided(run) == is_enough


def test_the_interval_pays_for_the_looks_and_for_the_finalists() -> None:
    run = run_of((0, 400.0), (3, 500.0), (6, 499.0))
    pairs(run, {0: [400.0, 404.0, 398.0], 3: [500.0, 496.0, 505.0]})
    fixed = confirm_level(run.trials, run.sweep, 3)
    run.sweep["max_confirm"] = 12
    extended = confirm_level(run.trials, run.sweep, 3)
    pairs(run, {6: [500.0, 496.0, 505.0]})
    shared = confirm_level(run.trials, run.sweep, 3)
    assert (fixed, extended, shared) == pytest.approx((0.05, 0.01, 0.005))
    rule = select(run.trials, run.sweep).rule
    found = speed_up(run.trials, config(num_workers=3), run.sweep, rule)
    logs = np.log([500 / 400, 496 / 404, 505 / 398])
    assert found.low == pytest.approx(
        np.exp(logs.mean() - 14.0890 * logs.std(ddof=1) / math.sqrt(3)), rel=1e-4
    )


def test_a_rival_that_the_confirm_runs_show_to_be_faster_is_recommended() -> None:
    run = run_of((0, 400.0), (3, 990.0), (6, 1000.0))
    times = {0: [400.0, 401.0, 399.0], 3: [990.0, 991.0, 989.0], 6: [1100.0, 1101.0, 1099.0]}
    pairs(run, times)
    selected = select(run.trials, run.sweep)
    assert selected.config == config(num_workers=3)
    assert faster_finalist(selected, run.trials, run.sweep).config == config(num_workers=6)
    found = recommend(run.trials, run.sweep)
    assert found.config == config(num_workers=6)
    assert "the fastest of the finalists: 1.11x the speed of" in found.why
    assert found.speedup is not None
    assert found.speedup.ratio == pytest.approx(2.75, rel=0.01)


@pytest.mark.parametrize("ours", [1100.0, 380.0], ids=["a finalist", "the baseline"])
def test_the_last_run_gives_the_test_accuracy_and_changes_nothing_else(ours: float) -> None:
    run = run_of((0, 400.0), (3, 990.0), (6, 1000.0))
    times = {0: [400.0, 401.0, 399.0], 3: [380.0, 381.0, 379.0], 6: [ours, ours + 1, ours - 1]}
    pairs(run, times)
    for row in run.rows:
        row["metrics.test_acc"] = math.nan
    before = recommend(run.trials, run.sweep)
    assert before.config is not None
    assert before.config["num_workers"] == (6 if ours > 400 else 0)

    last: dict[str, Any] = {"stage": "confirm", "repeat": 3, "isolation": "exclusive"}
    timed(run, before.config["num_workers"], 700.0, **last, **{"metrics.test_acc": 0.8})

    after = recommend(run.trials, run.sweep)
    assert (after.config, after.speedup) == (before.config, before.speedup)
    assert after.figures["test_acc"] == 0.8


def test_a_rival_that_may_only_be_faster_is_not() -> None:
    run = run_of((0, 400.0), (3, 990.0), (6, 1000.0))
    times = {0: [400.0, 401.0, 399.0], 3: [990.0, 991.0, 989.0], 6: [1100.0, 960.0, 1010.0]}
    assert recommend(pairs(run, times).trials, run.sweep).config == config(num_workers=3)


def test_a_speed_up_within_the_margin_is_said_to_be_one() -> None:
    run = run_of((0, 1000.0), (3, 1050.0))
    pairs(run, {0: [1000.0, 1001.0, 999.0], 3: [1010.0, 1011.0, 1009.0]})
    said = recommend(run.trials, run.sweep).how_sure
    assert "1.01x" in said
    assert "within the 2 % that make a tie" in said


def test_the_answers_are_plain_json() -> None:
    run = company_run(0.85)
    told = json.loads(json.dumps(recommend(run.trials, run.sweep).to_json(), allow_nan=False))
    assert told["beside_others"]["is_shown"] is True
    assert told["beside_others"]["ratio_to_alone"] == pytest.approx(0.85, abs=0.02)
