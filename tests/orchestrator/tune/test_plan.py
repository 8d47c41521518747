"""Tests for ``orchestrator.tune.plan`` on drawn speeds."""

import math
import random
from dataclasses import replace

from orchestrator.tune.plan import Confirm, Explore, Setting, Slice, Work

OWN = Setting(num_workers=0)


WORK = Work(began_s=0.0, until_s=0.0, slice_s=1.0, num_cores=2)


def drawn(plan: Explore | Confirm, gains: dict[int, float], spread: float, seed: int) -> None:
    """Run a plan on speeds drawn with a spread, by number of workers; the machine drifts."""
    draws, number = random.Random(seed), 0
    while (setting := plan.ask()) is not None:
        number += 1
        speed = gains[setting.num_workers] * math.exp(draws.gauss(0, spread) - 0.01 * number)
        plan.tell(Slice(setting=setting, samples_per_s=speed, wait_share=0.3))


def answer(gains: dict[int, float], seed: int) -> tuple[str, Setting]:
    explore = Explore(OWN, WORK, cuda=False)
    drawn(explore, gains, 0.04, seed)
    best = explore.best()
    if best == OWN:
        return "as it is", best
    confirm = Confirm(OWN, best)
    drawn(confirm, gains, 0.04, 1000 + seed)
    verdict = confirm.verdict()
    return verdict.verdict, best


def test_ten_percent_are_found_in_95_of_100_runs_and_equals_are_named_in_5_at_most() -> None:
    planted = {0: 1.0, 1: 1.1, 2: 1.09, 4: 1.02}
    equal = dict.fromkeys(planted, 1.0)
    assert sum(answer(planted, seed)[0] == "faster" for seed in range(100)) >= 95
    assert sum(answer(equal, seed)[0] == "faster" for seed in range(100)) <= 5


def test_the_cheaper_of_settings_that_are_as_fast_is_chosen() -> None:
    word, best = answer({0: 1.0, 1: 2.0, 2: 2.01, 4: 2.01}, seed=0)

    assert (word, best.num_workers, best.persistent_workers) == ("faster", 1, True)


def test_settings_that_lag_are_dropped_after_two_rounds() -> None:
    explore = Explore(OWN, WORK, cuda=False)

    drawn(explore, {0: 1.0, 1: 3.0, 2: 1.0, 4: 1.0}, 0.01, seed=0)

    assert sum(each.setting.num_workers == 4 for each in explore.slices) == 2


def test_a_setting_that_does_not_run_is_left_out() -> None:
    explore = Explore(OWN, WORK, cuda=False)
    while (setting := explore.ask()) is not None:
        if setting.num_workers == 4:
            explore.fail("no memory")
            continue
        explore.tell(Slice(setting=setting, samples_per_s=1.0, wait_share=0.0))

    assert [setting.num_workers for setting in explore.failed] == [4]
    assert explore.best() == OWN


def test_variants_of_the_fastest_follow() -> None:
    explore = Explore(OWN, replace(WORK, batch_sizes=[64]), cuda=True)
    explore.whole_epochs = True

    drawn(explore, {0: 1.0, 1: 2.0, 2: 1.0, 4: 1.0}, 0.001, seed=0)

    tried = {each.setting.shown(OWN) for each in explore.slices}
    assert "batch_size=64" in tried
    assert {
        "num_workers=1, prefetch_factor=4, persistent_workers=True",
        "num_workers=1",
        "num_workers=1, persistent_workers=True, pin_memory=True",
    } <= tried
