"""Grid and random search: configs counted, each tried once; orders of rounds; extension."""

import math
from collections import Counter

import pytest

from orchestrator.errors import SweepFileError
from orchestrator.kernel.problem import config_of, key_of, varied_within
from orchestrator.kernel.search import Proposal, Search, SearchSpec
from orchestrator.search import Factored, Grid, Random
from orchestrator.space.domains import choice, integers, loguniform, uniform
from tests.orchestrator.search.playing import (
    Config,
    key,
    play,
    problem,
    six_configs,
    small_batches_only,
)


def test_every_combination_is_tried_once() -> None:
    space = Config(lr=choice(0.1, 0.2, 0.2), batch=choice(100, 1000), workers=integers(0, 8))
    game = play(Grid(points=3).start(problem(space=space)))

    assert sorted(map(key, game.configs)) == sorted(
        (lr, workers, 2, batch) for lr in (0.1, 0.2) for workers in (0, 4, 8)
        for batch in (100, 1000)
    )  # fmt: skip


def test_each_round_has_another_order() -> None:
    configs = [key(config) for config in play(Grid().start(problem(repeats=3))).configs]
    size = len(configs) // 3
    rounds = [configs[start : start + size] for start in (0, size, 2 * size)]

    assert set(rounds[0]) == set(rounds[1]) == set(rounds[2])
    assert len({tuple(order) for order in rounds}) == 3


def test_a_grid_that_is_too_large_is_refused_before_it_is_made() -> None:
    space = Config(batch=choice(*range(1, 2000)), workers=choice(*range(2000)), lr=uniform(0.1, 1))

    with pytest.raises(SweepFileError) as refused:
        Grid().start(problem(space=space))
    assert "the grid has 11,994,000 combinations (lr 3, workers 2000, batch 1999 values)" in str(
        refused.value
    )
    assert "at most 1,000,000; draw some of them with search=Random(100)" in refused.value.hint


@pytest.mark.parametrize(
    ("domain", "expected"),
    [
        (loguniform(0.01, 1), ["lr: 3 points, each 10 times the one before; what lies between "]),
        (uniform(0.5, 1), ["lr: 3 points, 0.25 apart; what lies between "]),
        (choice(0.1, 0.9), []),
        (uniform(0.5, 1.5, step=0.5), []),
    ],
)
@pytest.mark.parametrize("spec", [Grid(), Factored()])
def test_values_between_the_points_of_an_interval_are_noted(
    spec: SearchSpec, domain: float, expected: list[str]
) -> None:
    notes = spec.start(problem(space=Config(lr=domain))).notes()
    assert [note[: len(text)] for note, text in zip(notes, expected, strict=True)] == expected


def test_configs_that_a_limited_grid_leaves_out_are_noted_once() -> None:
    search = Grid(trials=2).start(six_configs())
    assert search.notes() == ["4 of 6 configs of the grid are not looked at"]
    assert search.notes() == []


def extended(search: Search, trials: int) -> Search:
    assert search.extends
    search.extend(trials)
    return search


@pytest.mark.parametrize("spec", [Grid(points=2, trials=4), Random(4)], ids=["grid", "random"])
@pytest.mark.parametrize("asked_before", [0, 2, 4])
def test_an_extended_search_asks_for_as_many_more(spec: SearchSpec, asked_before: int) -> None:
    search = spec.start(problem())
    before = [proposal for _ in range(asked_before) if (proposal := search.ask())]
    configs = [dict(one.config) for one in before if isinstance(one, Proposal)]
    configs += play(extended(search, 7)).configs
    assert len(configs) == 7
    assert all(configs.count(config) == 1 for config in configs)
    first = play(spec.start(problem())).configs
    assert configs[:4] == first, "those that it was started with come first"


def test_new_configs_are_repeated_as_the_others_and_a_used_up_space_has_no_more() -> None:
    trials = play(extended(Grid(trials=2).start(six_configs(repeats=2)), 4)).trials
    assert [trial.repeat for trial in trials] == [0, 0, 1, 1, 0, 0, 1, 1]
    assert len(play(extended(Grid(trials=5).start(six_configs()), 100)).trials) == 6
    assert len(play(extended(Grid(trials=5).start(six_configs()), 3)).trials) == 5


def test_values_are_drawn_on_the_domains_own_scale() -> None:
    configs = play(Random(1001).start(problem())).configs[1:]

    halves = Counter(math.log10(config["lr"]) < -1.5 for config in configs)
    assert abs(halves[True] - 500) < 60
    assert abs(Counter(config["batch"] for config in configs)[100] - 500) < 60


def test_what_ten_thousand_draws_miss_is_enumerated() -> None:
    """The last few of 5,000 configs are drawn so rarely that drawing alone gives up before."""
    space = Config(batch=integers(1, 5000))
    found = Random(6000).candidates(problem(space=space))

    assert len(found.keys) == 5000
    assert len(Random(4990).candidates(problem(space=space)).keys) == 4990


def test_combinations_are_counted_merged_and_excluded() -> None:
    found = Grid().candidates(problem(constraints=small_batches_only()))

    # 3 lr x 3 workers x 2 prefetch x 2 batch; without workers prefetch has no effect.
    assert found.num_combinations == 36
    assert found.num_merged == 6
    assert found.num_excluded == 15
    assert len(found.keys) == 1 + 15
    assert found.baseline_added  # lr 0.1 is not one of the three points


def test_a_baseline_on_the_grid_is_not_added() -> None:
    found = Grid().candidates(problem(space=Config(workers=choice(0, 3))))

    assert not found.baseline_added
    assert len(found.keys) == 2


def test_a_config_and_its_key_are_each_other_s_inverse() -> None:
    asked = problem()
    config = {**asked.base, "workers": 3, "batch": 1000}
    assert config_of(asked, key_of(asked, config)) == config
    assert key_of(asked, dict(reversed(config.items()))) == key_of(asked, config)


def test_values_that_give_a_config_where_the_space_has_it() -> None:
    asked = problem(space=Config(workers=choice(0, 3), prefetch=choice(4, 8), batch=choice(1, 9)))
    base = dict(asked.base)
    with_workers = {**base, "workers": 3, "prefetch": 8, "batch": 9}

    assert varied_within(asked, with_workers) == {"workers": 3, "prefetch": 8, "batch": 9}
    idle = varied_within(asked, {**base, "workers": 0, "batch": 1})
    assert idle is not None, "without workers prefetch is at its default, outside of the domain"
    assert (idle["workers"], idle["batch"]) == (0, 1)
    for outside in ({"batch": 2}, {"lr": 0.5, "batch": 1}, {"workers": 3, "batch": 1}):
        assert varied_within(asked, {**base, **outside}) is None
    assert varied_within(asked, {**base, "batch": 1, "another": 1}) is None
