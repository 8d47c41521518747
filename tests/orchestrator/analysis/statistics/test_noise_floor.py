from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from orchestrator.analysis.statistics.noise_floor import NoiseFloor, pairs_needed
from orchestrator.trial import Stage
from tests.orchestrator.analysis.made_runs import MadeRun, config

FAST = config(num_workers=3)


def test_the_floor_is_what_runs_of_the_baseline_differ_by() -> None:
    run = MadeRun()
    run.add_runs(config(), [1000.0, 1050.0, 980.0])
    run.add_runs(FAST, [5000.0, 100.0])
    floor = run.tables.noise_floor
    assert floor is not None
    assert (floor.stage, floor.num_runs) == ("train", 3)
    assert floor.largest_ratio == pytest.approx(1050 / 980)
    assert floor.cv == pytest.approx(np.log([1000, 1050, 980]).std(ddof=1), rel=0.01)


def test_confirm_runs_of_the_baseline_come_first() -> None:
    run = MadeRun()
    run.add_runs(config(), [1000.0, 1500.0])
    run.add_runs(config(), [1000.0, 1010.0], stage="confirm")
    floor = run.tables.noise_floor
    assert floor is not None
    assert (floor.stage, floor.largest_ratio) == ("confirm", pytest.approx(1.01))


def interleaved(*rounds: dict[int, float]) -> MadeRun:
    """Confirm rounds of interleaved runs: speeds by workers."""
    run = MadeRun()
    for repeat, speeds in enumerate(rounds):
        for workers, speed in speeds.items():
            cells = {"stage": "confirm", "tags.interleaved": "true"}
            run.add_runs(config(num_workers=workers), [speed], first=repeat, **cells)
    return run


def test_a_change_that_interleaved_runs_have_in_common_is_no_noise_of_theirs() -> None:
    rounds = zip([1.0, 0.7, 1.2, 0.9], [1.0, 1.01, 0.99, 1.0], strict=True)
    run = interleaved(*({0: 1000 * host * own, 3: 3000 * host} for host, own in rounds))
    floor = run.tables.noise_floor
    assert floor is not None
    assert floor.num_runs == 4
    # Of two that differ by chance each is taken to have its part: the root of 1/2 of the ratio.
    assert floor.largest_ratio == pytest.approx((1.01 / 0.99) ** (1 / np.sqrt(2)), rel=1e-6)
    assert "4 interleaved confirm runs of the baseline differ" in floor.text


def test_contaminated_runs_count_only_where_no_stage_has_two_clean_ones() -> None:
    run = MadeRun()
    run.add_runs(config(), [1000.0, 1004.0])
    run.add_runs(config(), [1000.0, 700.0, 1004.0], stage="confirm")
    run.rows[3]["tags.contaminated"] = "30 %"
    floor = run.tables.noise_floor
    assert floor is not None
    assert (floor.stage, floor.num_runs) == ("confirm", 2)
    assert floor.largest_ratio < 1.01
    assert floor.text.endswith("; 1 contaminated run left out)")

    for row in run.rows[2:]:
        row["tags.contaminated"] = "30 %"
    floor = run.tables.noise_floor
    assert floor is not None
    assert floor.stage is Stage.TRAIN, "clean runs come first, of whatever stage"


def test_the_floor_of_means_falls_with_the_root_of_their_number() -> None:
    floor = NoiseFloor(stage=Stage.CONFIRM, num_runs=4, largest_ratio=1.21, cv=0.1)
    assert floor.of_means(4) == pytest.approx(1.1)
    assert floor.covers(1.2)
    assert floor.covers(1 / 1.2), "a loss as well as a gain"
    assert not floor.covers(1.2, num_runs=4)
    assert not floor.covers(None)


@pytest.mark.parametrize("cv", [0.005, 0.01, 0.02, 0.03])
def test_the_pairs_that_are_advised_find_the_difference_in_four_of_five_cases(cv: float) -> None:
    pairs = pairs_needed(cv)
    assert pairs is not None
    rng = np.random.default_rng(0)
    noise = np.sqrt(np.log1p(cv**2)) * rng.standard_normal((4000, pairs, 2))
    differences = np.log(1.05) + noise[..., 0] - noise[..., 1]

    def found(num_pairs: int) -> float:
        tested = stats.ttest_1samp(differences[:, :num_pairs], 0.0, axis=1)
        return float((tested.pvalue < 0.02).mean())

    assert found(pairs) >= 0.785
    assert pairs < 4 or found(pairs - 2) < 0.785
    assert pairs_needed(0.2) is None
