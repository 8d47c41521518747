"""The nearest config that was not asked for yet."""

from __future__ import annotations

import random
from typing import Any

import pytest

from orchestrator.kernel.problem import Key, SearchProblem, key_of
from orchestrator.search.random import MAX_ENUMERATED
from orchestrator.search.unasked import Unasked, is_ordered, place
from orchestrator.space.domains import Choice, Interval, choice, integers, loguniform
from tests.orchestrator.search.playing import Config, key, problem, small_batches_only


class Asked(set[Key]):
    """Keys asked for, and a source of configs that are not among them."""

    def __init__(self, at: SearchProblem, seed: int = 0) -> None:
        super().__init__()
        self.problem = at
        self.unasked = Unasked(at, self.__contains__, random.Random(seed))

    def take(self, **near: float) -> dict[str, Any] | None:
        """Return the nearest new config, which counts as asked for from now on."""
        varied = self.unasked.nearest(near)
        if varied is None:
            return None
        config = dict(self.problem.canonical({**self.problem.base, **varied}))
        self.add(key_of(self.problem, config))
        return config


def test_every_config_of_a_finite_space_is_given_once_the_nearest_first() -> None:
    at = problem(space=Config(batch=integers(1, 64), workers=choice(0, 3, 6)))
    asked = Asked(at)
    given = []
    while (config := asked.take(batch=40, workers=3)) is not None:
        given.append(config)

    assert len(set(map(key, given))) == len(given) == 64 * 3
    distances = [abs(c["batch"] - 40) / 63 + abs(c["workers"] - 3) / 6 for c in given]
    assert distances == pytest.approx(sorted(distances))
    assert distances[0] == 0


def test_a_config_with_idle_knobs_is_as_near_as_the_nearest_way_to_state_it() -> None:
    """Without workers any prefetch is the same config: also the one that was suggested."""
    at = problem(space=Config(workers=choice(0, 3), prefetch=choice(4, 8)))
    asked = Asked(at)
    asked.take(workers=3, prefetch=8)

    assert asked.take(workers=0, prefetch=8) == {**at.base, "workers": 0, "prefetch": 2}


def test_excluded_configs_are_never_given() -> None:
    at = problem(
        space=Config(workers=choice(0, 3), batch=choice(100, 1000)),
        constraints=small_batches_only(),
    )
    asked = Asked(at)

    assert {asked.take(workers=3, batch=1000)["batch"] for _ in range(2)} == {100}  # type: ignore[index]
    assert asked.take(workers=3, batch=1000) is None


def test_equally_near_configs_are_taken_by_the_seed() -> None:
    at = problem(space=Config(batch=integers(1, 101)))

    def first(seed: int) -> int:
        asked = Asked(at, seed)
        asked.take(batch=51)
        return int(asked.take(batch=51)["batch"])  # type: ignore[index]

    assert {first(seed) for seed in range(20)} == {50, 52}
    assert first(3) == first(3)


@pytest.mark.parametrize(
    "space",
    [Config(lr=loguniform(1e-3, 1.0)), Config(batch=integers(1, MAX_ENUMERATED + 1))],
    ids=["infinite", "large"],
)
def test_of_other_spaces_configs_are_drawn(space: Config) -> None:
    asked = Asked(problem(space=space))
    drawn = [asked.take(lr=0.1, batch=7) for _ in range(50)]

    assert len({key(config) for config in drawn if config}) == 50


def test_places_are_on_the_domains_own_scale() -> None:
    assert place(Choice((1, 10, 100)), 10) == 0.5
    assert place(Interval(0.0, 4.0), 1.0) == 0.25
    assert place(Interval(1e-4, 1.0, log=True), 1e-2) == pytest.approx(0.5)
    assert place(Interval(3, 3, integer=True), 3) == 0.0
    assert is_ordered(Choice((1, 2.5)))
    assert not is_ordered(Choice((2, 1)))
    assert not is_ordered(Choice((False, True)))
