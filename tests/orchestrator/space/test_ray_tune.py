"""Ray Tune's own domains in ours."""

# ruff: noqa: ANN401 - whatever users write for Ray Tune

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ray import tune

from orchestrator.space.domains import Choice, Interval, normal
from orchestrator.space.ray_tune import from_ray_tune


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        (tune.choice([1, 2]), Choice((1, 2))),
        (tune.choice(["a", None]), Choice(("a", None))),
        (tune.grid_search([3, 4]), Choice((3, 4))),
        (tune.grid_search(np.arange(2)), Choice((0, 1))),
        (tune.uniform(0.0, 1.0), Interval(0.0, 1.0)),
        (tune.loguniform(1e-3, 1.0), Interval(1e-3, 1.0, log=True)),
        (tune.randint(0, 5), Interval(0, 4, integer=True)),
        (tune.lograndint(1, 65), Interval(1, 64, log=True, integer=True)),
        (tune.quniform(0.0, 1.0, 0.25), Interval(0.0, 1.0, step=0.25)),
        (tune.qloguniform(0.01, 1.0, 0.01), Interval(0.01, 1.0, log=True, step=0.01)),
        (tune.qrandint(8, 64, 8), Interval(8, 64, integer=True, step=8)),
        (tune.qrandint(3, 20, 4), Interval(4, 20, integer=True, step=4)),
        (tune.qrandint(0, 5), Interval(0, 4, integer=True)),
        (tune.qlograndint(4, 64, 4), Interval(4, 64, log=True, integer=True, step=4)),
        (tune.randint(1.0, 5.0), Interval(1, 4, integer=True)),  # type: ignore[arg-type]
        (tune.randint(np.int64(1), np.int32(9)), Interval(1, 8, integer=True)),
        (tune.uniform(np.float32(0.5), 1), Interval(0.5, 1.0)),
        (tune.randn(1.0, 2.0), normal(1.0, 2.0)),
        (tune.qrandn(0.3, 1.0, 0.5), normal(0.3, 1.0, step=0.5)),
    ],
)
def test_ray_tunes_own_domains_are_taken(theirs: Any, ours: Any) -> None:
    assert from_ray_tune(theirs) == ours
    assert ours.problem() is None
    if isinstance(ours, Interval):
        assert {type(end) for end in from_ray_tune(theirs).bounds()} <= {int, float}  # type: ignore[attr-defined]


def test_draws_of_both_lie_in_both() -> None:
    for theirs in (tune.qrandint(3, 20, 4), tune.quniform(-0.5, 0.5, 0.1), tune.randint(0, 5)):
        ours: Any = from_ray_tune(theirs)
        values = {ours.snapped(theirs.sample()) for _ in range(200)}
        assert values == set(ours.every_value())


def test_a_domain_without_a_counterpart_is_named() -> None:
    with pytest.raises(ValueError, match=r"tune\.sample_from has no counterpart here; taken are"):
        from_ray_tune(tune.sample_from(lambda _: 1))


def test_an_iterator_in_a_grid_search_may_be_asked_again() -> None:
    grid = tune.grid_search(map(int, "12"))
    assert [from_ray_tune(grid), from_ray_tune(grid)] == [Choice((1, 2))] * 2


def test_a_grid_search_of_no_list_is_refused() -> None:
    with pytest.raises(ValueError, match="grid_search of 5: give a list of values"):
        from_ray_tune({"grid_search": 5})


def test_what_is_no_ray_tune_domain_is_left_alone() -> None:
    for value in (3, "a", {"a": 1}, Choice((1,)), [1, 2]):
        assert from_ray_tune(value) is value
