"""Domains: points and samples lie within them, Ray Tune's own are taken."""

from __future__ import annotations

import math
import random
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.space.domains import (
    Choice,
    Domain,
    Interval,
    choice,
    from_ray_tune,
    integers,
    loguniform,
    uniform,
)

_finite = st.floats(-1e12, 1e12, allow_nan=False)
_positive = st.floats(1e-12, 1e12)
_whole = st.integers(-(10**9), 10**9)


def _ordered(ends: st.SearchStrategy[Any], **kind: bool) -> st.SearchStrategy[Interval]:
    pairs = st.tuples(ends, ends).map(sorted)
    return pairs.map(lambda pair: Interval(pair[0], pair[1], **kind))


intervals = st.one_of(
    _ordered(_finite),
    _ordered(_positive, log=True),
    _ordered(_whole, integer=True),
    _ordered(st.integers(1, 10**9), integer=True, log=True),
)


@settings(deadline=None)
@given(intervals, st.integers(1, 20))
def test_points_lie_within_the_interval_in_order_and_once_each(
    interval: Interval, count: int
) -> None:
    points = interval.points(count)

    assert all(interval.contains(point) for point in points)
    assert list(points) == sorted(set(points))
    assert 1 <= len(points) <= count
    if count > 1:
        assert (points[0], points[-1]) == (interval.low, interval.high)


@settings(deadline=None)
@given(intervals, st.integers())
def test_samples_lie_within_the_interval(interval: Interval, seed: int) -> None:
    value = interval.sample(random.Random(seed))

    assert interval.contains(value)
    assert isinstance(value, int if interval.integer else float)


@pytest.mark.parametrize(
    ("domain", "points"),
    [
        (uniform(0.0, 1.0), (0.0, 0.5, 1.0)),
        (loguniform(1e-3, 1e-1), (1e-3, 1e-2, 1e-1)),
        (integers(0, 8), (0, 4, 8)),
        (integers(0, 1), (0, 1)),
        (integers(1, 64, log=True), (1, 8, 64)),
        (choice("a", "b", "c", "d"), ("a", "b", "c", "d")),
        (uniform(0.3, 0.3), (0.3,)),
    ],
)
def test_three_points_are_spaced_on_the_domains_own_scale(
    domain: Domain, points: tuple[Any, ...]
) -> None:
    assert domain.points(3) == points
    assert [type(point) for point in domain.points(3)] == [type(point) for point in points]


def test_one_point_is_the_middle() -> None:
    assert Interval(1.0, 100.0, log=True).points(1) == (10.0,)
    assert Interval(0, 10, integer=True).points(1) == (5,)


def test_each_whole_number_is_drawn_equally_often() -> None:
    rng = random.Random(0)
    counts = Counter(Interval(0, 4, integer=True).sample(rng) for _ in range(10_000))

    assert set(counts) == {0, 1, 2, 3, 4}
    assert all(abs(count - 2000) < 200 for count in counts.values())


def test_the_ends_of_a_logarithmic_range_have_as_much_room_as_the_others() -> None:
    rng = random.Random(0)
    counts = Counter(Interval(1, 8, integer=True, log=True).sample(rng) for _ in range(10_000))
    width = math.log(8.5) - math.log(0.5)

    for value in range(1, 9):
        share = (math.log(value + 0.5) - math.log(value - 0.5)) / width
        assert counts[value] == pytest.approx(10_000 * share, abs=250)


@pytest.mark.parametrize(
    ("domain", "problem"),
    [
        (Choice(()), "choice() of no values leaves nothing to vary"),
        (Interval(2, 1), "`low <= high` must hold, but got (low=2, high=1)"),
        (Interval(0.0, 1.0, log=True), "`low > 0` must hold for a logarithmic domain"),
        (Interval(0.0, math.inf), "the ends of uniform(0, inf) must be finite numbers"),
        (Interval(math.nan, 1.0), "must be finite numbers"),
        (Interval("a", 1.0), "the ends of uniform('a', 1) must be finite"),  # type: ignore[arg-type]
    ],
)
def test_a_domain_says_what_is_wrong_with_it(domain: Domain, problem: str) -> None:
    assert problem in (domain.problem() or "")


@pytest.mark.parametrize(
    "text",
    [
        "choice(0, 3, 'a', (10, 25))",
        "uniform(0, 0.5)",
        "loguniform(0.001, 0.03)",
        "integers(1, 64, log=True)",
        "integers(0, 8)",
    ],
)
def test_a_domain_is_shown_as_it_is_written(text: str) -> None:
    names = {"choice": choice, "uniform": uniform, "loguniform": loguniform, "integers": integers}

    assert str(eval(text, names)) == text


def test_ray_tunes_own_domains_are_taken() -> None:
    from ray import tune

    assert from_ray_tune(tune.choice([1, 2])) == Choice((1, 2))
    assert from_ray_tune(tune.grid_search([3, 4])) == Choice((3, 4))
    assert from_ray_tune(tune.uniform(0.0, 1.0)) == Interval(0.0, 1.0)
    assert from_ray_tune(tune.loguniform(1e-3, 1.0)) == Interval(1e-3, 1.0, log=True)
    assert from_ray_tune(tune.randint(0, 5)) == Interval(0, 4, integer=True)
    assert from_ray_tune(tune.lograndint(1, 65)) == Interval(1, 64, log=True, integer=True)


def test_a_ray_tune_domain_without_a_counterpart_is_named() -> None:
    from ray import tune

    for domain in (tune.randn(0, 1), tune.quniform(0, 1, 0.25), tune.sample_from(lambda _: 1)):
        with pytest.raises(ValueError, match="has no counterpart here; taken are"):
            from_ray_tune(domain)


def test_what_is_no_ray_tune_domain_is_left_alone() -> None:
    for value in (3, "a", {"a": 1}, Choice((1,)), [1, 2]):
        assert from_ray_tune(value) is value
