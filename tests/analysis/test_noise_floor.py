from __future__ import annotations

import json
from datetime import UTC, datetime

import numpy as np
import pytest
from scipy import stats

from analysis.noise import NoiseFloor, noise_floor, pairs_needed
from analysis.recommend import recommend
from analysis.rule import rule_of
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


def test_a_machine_that_becomes_slower_is_flagged() -> None:
    run = drifting(-0.06)
    floor = floor_of(run)
    assert floor is not None
    assert floor.drift is not None
    assert floor.drift.is_significant
    assert floor.drift.per_hour == pytest.approx(-0.06, abs=0.01)
    notes = recommend(run.trials, run.sweep).notes
    assert any("the baseline became slower by" in note and "an hour" in note for note in notes)


def test_the_slope_and_its_p_value_are_those_of_a_least_squares_line() -> None:
    run = drifting(-0.02)
    run.rows = run.rows[:6]
    floor = floor_of(run)
    assert floor is not None
    assert floor.drift is not None
    line = stats.linregress(np.arange(6) / 6, np.log([row[SPEED] for row in run.rows]))
    assert floor.drift.per_hour == pytest.approx(np.expm1(line.slope))
    assert floor.drift.p_value == pytest.approx(line.pvalue)


def test_a_step_between_stages_is_no_drift() -> None:
    for seed in range(5):
        floor = floor_of(drifting(0.0, step=0.2, seed=seed))
        assert floor is not None
        assert floor.drift is not None
        assert abs(floor.drift.per_hour) < 0.02


def test_three_runs_are_too_few_for_a_drift() -> None:
    run = drifting(-0.1)
    run.rows = run.rows[:3]
    floor = floor_of(run)
    assert floor is not None
    assert floor.drift is None


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
    floor = NoiseFloor(stage=Stage.TRAIN, num_runs=2, largest_ratio=1.3, cv=0.2, drift=None)
    assert "with more than 50 pairs" in floor.repeats_text
