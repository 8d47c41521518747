"""Grid search: every combination once, each round in a new order."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.errors import SweepFileError, collecting_problems
from orchestrator.search import Grid
from orchestrator.space.domains import choice, integers, uniform
from tests.orchestrator.search.playing import Config, key, play, problem


def test_every_combination_is_tried_once() -> None:
    space = Config(lr=choice(0.1, 0.2, 0.2), batch=choice(100, 1000), workers=integers(0, 8))
    game = play(Grid(points=3).start(problem(space=space)))

    assert sorted(map(key, game.configs)) == sorted(
        (lr, workers, 2, batch) for lr in (0.1, 0.2) for workers in (0, 4, 8)
        for batch in (100, 1000)
    )  # fmt: skip


def test_rounds_have_orders_of_their_own() -> None:
    configs = [key(config) for config in play(Grid().start(problem(repeats=3))).configs]
    size = len(configs) // 3
    rounds = [configs[start : start + size] for start in (0, size, 2 * size)]

    assert set(rounds[0]) == set(rounds[1]) == set(rounds[2])
    assert len({tuple(order) for order in rounds}) == 3


def test_a_limited_grid_is_drawn_from_all_of_it() -> None:
    drawn = {
        key(config)
        for seed in range(8)
        for config in play(Grid(trials=6).start(problem(seed=seed))).configs
    }

    assert len(drawn) > 20


def test_a_grid_that_is_too_large_is_refused_before_it_is_made() -> None:
    space = Config(batch=choice(*range(1, 2000)), workers=choice(*range(2000)), lr=uniform(0.1, 1))

    with pytest.raises(SweepFileError) as refused:
        Grid().start(problem(space=space))
    assert "the grid has 11,994,000 combinations (lr 3, workers 2000, batch 1999 values)" in str(
        refused.value
    )
    assert "at most 1,000,000; draw some of them with search=Random(100)" in refused.value.hint


@pytest.mark.parametrize("bad", [{"points": 0}, {"points": True}, {"points": 2.5}, {"trials": 0}])
def test_a_count_below_one_is_refused(bad: dict[str, Any]) -> None:
    name, value = next(iter(bad.items()))
    with pytest.raises(SweepFileError, match=f"Grid: {name} = {value!r} is not allowed"):
        Grid(**bad)
    with collecting_problems() as problems:
        Grid(**bad)
    assert len(problems) == 1
