"""Domains: points and samples lie within them, Ray Tune's own are taken."""

# ruff: noqa: ANN401 - whatever users write for Ray Tune

import math
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ray import tune

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
def test_points_lie_within_interval_in_order_and_once_each(interval: Interval, count: int) -> None:
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
        (uniform(-0.5, 0.5, step=0.1), (-0.5, 0.0, 0.5)),
        (uniform(0.0, 1.0, step=0.5), (0.0, 0.5, 1.0)),
        (integers(8, 64, step=8), (8, 32, 64)),
    ],
)
def test_three_points_are_spaced_on_the_domains_own_scale(
    domain: Domain, points: tuple[Any, ...]
) -> None:
    assert domain.points(3) == points
    assert [type(point) for point in domain.points(3)] == [type(point) for point in points]


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
    ],
)
def test_a_domain_is_shown_as_it_is_written(text: str) -> None:
    names = {each.__name__: each for each in (choice, uniform, loguniform, integers)}

    assert str(eval(text, names)) == text


@pytest.mark.parametrize(
    "domain",
    [
        uniform(-0.5, 0.5, step=0.1),
        loguniform(0.01, 1.0, step=0.01),
        integers(8, 64, step=8),
        integers(4, 64, log=True, step=4),
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
        assert set(samples) <= set(values)
        assert all(map(domain.contains, values))


@pytest.mark.parametrize(
    ("domain", "problem"),
    [
        (Choice(()), "choice() of no values leaves nothing to vary"),
        (Interval(2, 1), "`low <= high` must hold, but got (low=2, high=1)"),
        (Interval(0.0, 1.0, log=True), "`low > 0` must hold for a logarithmic domain"),
        (Interval(0.0, math.inf), "the ends of uniform(0, inf) must be finite numbers"),
        (Interval(0.0, 1.0, step=0.3), "must be multiples of its step"),
        (Interval(0.0, 1.0, step=0), "the step of uniform(0, 1, step=0) must be > 0"),
    ],
)
def test_a_wrong_domain_has_a_problem(domain: Domain, problem: str) -> None:
    assert problem in (domain.problem() or "")


def test_a_finite_domain_has_its_values_in_order() -> None:
    assert Interval(0, 3, integer=True).every_value() == range(4)
    assert Interval(0.0, 0.3, step=0.1).every_value() == [0.0, 0.1, 0.2, 0.3]
    assert Interval(8, 24, integer=True, step=8).every_value() == [8, 16, 24]
    assert Interval(0.5, 0.5).every_value() == (0.5,)
    assert Interval(0.0, 1.0).every_value() is None
    assert Interval(0, 9, integer=True).every_value(most=9) is None
    assert Interval(0.0, 1.0, step=1e-9).every_value() is None, "it would fill the memory"


# -- Ray Tune's own domains


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        (tune.choice([1, None]), Choice((1, None))),
        (tune.grid_search([3, 4]), Choice((3, 4))),
        (tune.uniform(np.float32(0.5), 1), Interval(0.5, 1.0)),
        (tune.loguniform(1e-3, 1.0), Interval(1e-3, 1.0, log=True)),
        (tune.randint(0, 5), Interval(0, 4, integer=True)),
        (tune.lograndint(1, 65), Interval(1, 64, log=True, integer=True)),
        (tune.quniform(0.0, 1.0, 0.25), Interval(0.0, 1.0, step=0.25)),
        (tune.qloguniform(0.01, 1.0, 0.01), Interval(0.01, 1.0, log=True, step=0.01)),
        (tune.qrandint(3, 20, 4), Interval(4, 20, integer=True, step=4)),
        (tune.qlograndint(4, 64, 4), Interval(4, 64, log=True, integer=True, step=4)),
    ],
)
def test_ray_tunes_own_domains_are_taken(theirs: Any, ours: Any) -> None:
    assert from_ray_tune(theirs) == ours
    assert ours.problem() is None


def test_what_has_no_counterpart_is_named_and_what_is_no_domain_is_left_alone() -> None:
    with pytest.raises(ValueError, match=r"tune\.sample_from has no counterpart here; taken are"):
        from_ray_tune(tune.sample_from(lambda _: 1))
    for value in (3, "a", {"a": 1}, Choice((1,)), [1, 2]):
        assert from_ray_tune(value) is value
