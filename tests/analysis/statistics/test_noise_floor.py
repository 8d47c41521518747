from __future__ import annotations

import json
from datetime import UTC, datetime

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.recommendation.recommend import recommend
from analysis.rule import rule_of
from analysis.statistics.drift import Drift, drift_of
from analysis.statistics.noise_floor import NoiseFloor, noise_floor, pairs_needed
from orchestrator.trial import Stage
from tests.analysis.made_runs import Config, MadeRun, config

SPEED = "metrics.samples_per_s"
FAST = config(num_workers=3)


def add(run: MadeRun, c: Config, speeds: list[float], *, stage: str = "train") -> None:
    for repeat, speed in enumerate(speeds):
        run.add(c, stage=stage, repeat=repeat, **{SPEED: speed, "metrics.val_acc": 0.9})


def floor_of(run: MadeRun) -> NoiseFloor | None:
    return noise_floor(run.trials, run.sweep, rule_of(run.sweep))


def test_the_floor_is_what_runs_of_the_baseline_differ_by() -> None:
    run = MadeRun()
    add(run, config(), [1000.0, 1050.0, 980.0])
    add(run, FAST, [5000.0, 100.0])
    floor = floor_of(run)
    assert floor is not None
    assert (floor.stage, floor.num_runs) == ("train", 3)
    assert floor.largest_ratio == pytest.approx(1050 / 980)
    assert floor.cv == pytest.approx(np.log([1000, 1050, 980]).std(ddof=1), rel=0.01)


def test_confirm_runs_of_the_baseline_come_first() -> None:
    run = MadeRun()
    add(run, config(), [1000.0, 1500.0])
    add(run, config(), [1000.0, 1010.0], stage="confirm")
    floor = floor_of(run)
    assert floor is not None
    assert (floor.stage, floor.largest_ratio) == ("confirm", pytest.approx(1.01))


def test_what_runs_in_turns_have_in_common_is_no_noise_of_theirs() -> None:
    run = MadeRun()
    host = [1.0, 0.7, 1.2, 0.9]
    own = [1.0, 1.01, 0.99, 1.0]
    for repeat, (common, alone) in enumerate(zip(host, own, strict=True)):
        for c, speed in ((config(), 1000 * common * alone), (FAST, 3000 * common)):
            row = {SPEED: speed, "metrics.val_acc": 0.9, "tags.interleaved": "true"}
            run.add(c, stage="confirm", repeat=repeat, **row)
    floor = floor_of(run)
    assert floor is not None
    assert floor.num_runs == 4
    # Of two that differ by chance each is taken to have its part: the root of 1/2 of the ratio.
    assert floor.largest_ratio == pytest.approx((1.01 / 0.99) ** (1 / np.sqrt(2)), rel=1e-6)
    assert "4 confirm runs of the baseline, which took turns with others, differ" in floor.text


def test_the_floor_of_turns_is_the_spread_of_a_run() -> None:
    """Over many runs it is what each run differs by of its own, however many take turns."""
    rng = np.random.default_rng(0)
    found = []
    for _ in range(40):
        run = MadeRun()
        for repeat in range(8):
            common = rng.normal(0, 0.1)
            for c in (config(), FAST, config(num_workers=1)):
                speed = float(np.exp(common + rng.normal(0, 0.02)))
                row = {SPEED: speed, "metrics.val_acc": 0.9, "tags.interleaved": "true"}
                run.add(c, stage="confirm", repeat=repeat, **row)
        floor = floor_of(run)
        assert floor is not None
        found.append(floor.cv**2)
    assert np.sqrt(np.mean(found)) == pytest.approx(0.02, rel=0.15)


def test_without_a_second_run_of_the_baseline_there_is_no_floor() -> None:
    run = MadeRun()
    add(run, config(), [1000.0])
    add(run, config(), [1000.0], stage="confirm")
    run.add(config(), state="failed", repeat=1)
    assert floor_of(run) is None
    assert recommend(run.trials, run.sweep).to_json()["noise_floor"] is None


@pytest.mark.parametrize(("ratio", "is_within"), [(1.02, True), (0.98, True), (1.2, False)])
def test_a_speed_up_below_the_floor_is_said_to_be_within_the_noise(
    ratio: float, is_within: bool
) -> None:
    run = MadeRun()
    add(run, config(), [1000.0])
    add(run, FAST, [1100.0])
    theirs = [1000.0, 1030.0, 990.0]
    add(run, config(), theirs, stage="confirm")
    add(run, FAST, [ratio * speed for speed in (1005.0, 1020.0, 995.0)], stage="confirm")
    recommendation = recommend(run.trials, run.sweep)
    said = "within the noise: 3 confirm runs of the baseline differ from each other by up to 4.0 %"
    assert (said in recommendation.how_sure) == is_within
    noise = json.loads(json.dumps(recommendation.to_json()))["noise_floor"]
    assert noise["largest_ratio"] == pytest.approx(1030 / 990)


def test_a_searching_figure_is_held_against_the_floor_of_the_search() -> None:
    run = MadeRun()
    add(run, config(), [1000.0, 1100.0])
    add(run, FAST, [1080.0, 1110.0])
    assert "that is within the noise: 2 train runs" in recommend(run.trials, run.sweep).how_sure


def drifting(slope: float, *, num: int = 6, step: float = 0.0, seed: int = 0) -> MadeRun:
    """Runs of the baseline ten minutes apart, ``slope`` of log speed an hour; confirm is faster."""
    run, rng = MadeRun(), np.random.default_rng(seed)
    for index in range(num + 3):
        stage = "train" if index < num else "confirm"
        log = slope * index / 6 + 0.002 * rng.standard_normal() + step * (stage == "confirm")
        began = datetime.fromtimestamp(1_790_000_000 + 600 * index, UTC)
        cells = {SPEED: 1000 * np.exp(log), "metrics.val_acc": 0.9, "started_at": began}
        run.add(config(), stage=stage, repeat=index, **cells)
    return run


def drift_in(run: MadeRun) -> Drift | None:
    return drift_of(run.trials, run.sweep, rule_of(run.sweep))


def test_a_machine_that_becomes_slower_is_flagged() -> None:
    run = drifting(-0.06)
    drift = drift_in(run)
    assert drift is not None
    assert drift.is_significant
    assert drift.low < drift.change < drift.high < 0
    assert drift.per_hour == pytest.approx(-0.06, abs=0.01)
    recommendation = recommend(run.trials, run.sweep)
    assert any("the machine became slower by" in note for note in recommendation.notes)
    assert recommendation.to_json()["drift"]["is_significant"]


def test_the_slope_and_its_p_value_are_those_of_a_least_squares_line() -> None:
    run = drifting(-0.02)
    run.rows = run.rows[:6]
    drift = drift_in(run)
    assert drift is not None
    line = stats.linregress(np.arange(6) / 6, np.log([row[SPEED] for row in run.rows]))
    assert drift.per_hour == pytest.approx(np.expm1(line.slope))
    assert drift.p_value == pytest.approx(line.pvalue)


def test_a_step_between_stages_is_no_drift() -> None:
    for seed in range(5):
        drift = drift_in(drifting(0.0, step=0.2, seed=seed))
        assert drift is not None
        assert abs(drift.per_hour) < 0.02


def test_three_runs_are_too_few_for_a_drift() -> None:
    run = drifting(-0.1)
    run.rows = run.rows[:3]
    assert drift_in(run) is None


def test_that_the_best_looks_worse_when_it_is_repeated_is_no_drift() -> None:
    run = MadeRun()
    run.add(config(), **{SPEED: 1000.0})
    for repeat, speed in enumerate((1300.0, 1190.0, 1200.0, 1210.0, 1195.0)):
        run.add(config(num_workers=3), repeat=repeat, **{SPEED: speed})
    assert drift_in(run) is None


def test_pairs_of_the_confirm_stage_tell_of_a_drift_together() -> None:
    run = MadeRun()
    for repeat in range(5):
        for position, workers in enumerate((0, 3)):
            at = pd.Timestamp(1_790_000_000 + 60 * (2 * repeat + position), unit="s", tz="UTC")
            speed = 1000 * (1 + workers) * (1 - 0.02 * repeat)
            cells = {SPEED: speed, "started_at": at}
            run.add(config(num_workers=workers), stage="confirm", repeat=repeat, **cells)
    run.add(config())
    drift = drift_in(run)
    assert drift is not None
    assert (drift.num_configs, drift.num_runs) == (2, 10)
    assert drift.change == pytest.approx(-0.09, abs=0.01)


@pytest.mark.parametrize("cv", [0.005, 0.01, 0.02, 0.03])
def test_the_pairs_that_are_advised_find_the_difference_in_four_of_five_cases(cv: float) -> None:
    pairs = pairs_needed(cv)
    assert pairs is not None
    rng = np.random.default_rng(0)
    noise = np.sqrt(np.log1p(cv**2)) * rng.standard_normal((4000, pairs, 2))
    differences = np.log(1.05) + noise[..., 0] - noise[..., 1]

    def found(num_pairs: int) -> float:
        tested = stats.ttest_1samp(differences[:, :num_pairs], 0.0, axis=1)
        return float((tested.pvalue < 0.05).mean())

    assert found(pairs) >= 0.785
    assert pairs < 4 or found(pairs - 2) < 0.785


def test_noise_that_no_number_of_pairs_beats_is_said() -> None:
    assert pairs_needed(0.2) is None
    floor = NoiseFloor(stage=Stage.TRAIN, num_runs=2, largest_ratio=1.3, cv=0.2)
    assert "with more than 50 pairs" in floor.repeats_text
