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
    integers,
    loguniform,
    normal,
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
        (normal(0.3, 0.0), (0.3,)),
        (uniform(-0.5, 0.5, step=0.1), (-0.5, 0.0, 0.5)),
        (uniform(0.0, 1.0, step=0.5), (0.0, 0.5, 1.0)),
        (integers(8, 64, step=8), (8, 32, 64)),
        (normal(1.0, 2.0), (-0.934843, 1.0, 2.93484)),
        (normal(0.3, 1.0, step=0.5), (-0.5, 0.5, 1.5)),
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
        (Interval(0, 10**400, integer=True), "must be finite numbers"),
        (Interval(-1e308, 1e308), "further apart than any number is large"),
        (Interval(0.0, 1.0, step=math.inf), "the step of uniform(0, 1, step=inf) must be"),
        (Interval(0.0, 1e300, step=1e-300), "must be multiples of its step"),
        (Interval(0.0, 1.0, step=0.3), "must be multiples of its step 0.3"),
        (Interval(0, 4, integer=True, step=0.5), "must be a whole number > 0"),
        (Interval(0.0, 1.0, step=0), "the step of uniform(0, 1, step=0) must be > 0"),
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
        "integers(0, 8, step=4)",
        "uniform(0, 1, step=0.25)",
        "loguniform(0.01, 1, step=0.01)",
        "integers(4, 64, log=True, step=4)",
        "normal(0.5, 2)",
        "normal(0, 1, step=0.5)",
    ],
)
def test_a_domain_is_shown_as_it_is_written(text: str) -> None:
    names = {each.__name__: each for each in (choice, uniform, loguniform, integers, normal)}

    assert str(eval(text, names)) == text


@pytest.mark.parametrize(
    "domain",
    [
        uniform(-0.5, 0.5, step=0.1),
        loguniform(0.01, 1.0, step=0.01),
        integers(8, 64, step=8),
        integers(4, 64, log=True, step=4),
        normal(0.3, 1.0, step=0.5),
        normal(0.0, 1.0),
    ],
)
def test_samples_lie_on_the_grid_and_repeat_what_they_are(domain: Domain) -> None:
    assert isinstance(domain, Interval)
    assert domain.problem() is None
    rng = random.Random(1)
    samples = [domain.sample(rng) for _ in range(300)]

    assert all(domain.contains(value) for value in samples)
    assert {type(value) for value in samples} == {int if domain.integer else float}
    assert all(len(repr(value)) < 12 for value in samples), "no digits of a sum in binary"
    if domain.step is not None:
        values = domain.every_value()
        assert values is not None
        assert set(samples) <= set(values)
        assert all(map(domain.contains, values))


def test_a_finite_domain_has_its_values_in_order() -> None:
    assert Interval(0, 3, integer=True).every_value() == range(4)
    assert Interval(0.0, 0.3, step=0.1).every_value() == [0.0, 0.1, 0.2, 0.3]
    assert Interval(8, 24, integer=True, step=8).every_value() == [8, 16, 24]
    assert Interval(0.5, 0.5).every_value() == (0.5,)
    assert Interval(0.0, 1.0).every_value() is None


def test_a_domain_of_too_many_values_is_not_gone_through() -> None:
    assert Interval(0.0, 1.0, step=1e-9).every_value() is None, "it would fill the memory"
    assert Interval(-(2**62) - 1, 2**63 - 1, integer=True).every_value() is None
    assert Interval(0, 9, integer=True).every_value(most=9) is None
    assert Interval(2**62 + 1, 2**62 + 2, integer=True).every_value() is not None


def test_a_normal_distribution_has_its_mean_and_deviation() -> None:
    domain = normal(10.0, 2.0)
    assert isinstance(domain, Interval)
    rng = random.Random(0)
    samples = [domain.sample(rng) for _ in range(4000)]

    assert sum(samples) / 4000 == pytest.approx(10, abs=0.15)
    assert sum((x - 10) ** 2 for x in samples) / 4000 == pytest.approx(4, abs=0.4)
    assert min(samples) >= 0
    assert max(samples) <= 20
