"""Which configs lie in the space: those of the searches do, and a knob without effect may not."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.search.within import not_within
from orchestrator.space.domains import choice
from tests.orchestrator.search.playing import SPACE, Config, problem

CONFIG = {"lr": 0.1, "workers": 3, "prefetch": 4, "batch": 100}


@given(st.integers(0, 2**32))
def test_what_is_drawn_from_the_domains_is_within(seed: int) -> None:
    at, rng = problem(), random.Random(seed)
    config = {name: domain.sample(rng) for name, domain in at.domains.items()}
    assert not_within(at, config) is None
    assert not_within(at, at.canonical(config)) is None


def test_a_knob_without_effect_has_its_default_wherever_that_lies() -> None:
    at = problem(space=Config(workers=choice(0, 3), prefetch=choice(4, 8), batch=100))
    idle = {**CONFIG, "workers": 0, "prefetch": 2}
    assert dict(at.canonical(idle)) == idle
    assert not_within(at, idle) is None
    assert not_within(at, {**idle, "prefetch": 3}) is not None
    assert not_within(at, {**idle, "workers": 3}) is not None
    fixed = problem(space=Config(workers=choice(0, 3), prefetch=4))
    assert not_within(fixed, idle) is None
    assert not_within(fixed, {**idle, "workers": 3}) is not None


@pytest.mark.parametrize(
    ("changes", "text", "allowed"),
    [
        ({"batch": 10}, "batch = 10, which is not in the space", "choice(100, 1000)"),
        ({"workers": 3.5}, "workers = 3.5, which is not in the space", "choice(0, 3, 6)"),
        ({"btach": 1}, "'btach', which is not a knob; did you mean 'batch'?", "the knobs lr, "),
        ({3: 1}, "3, which is not a knob", "the knobs lr, workers, prefetch, batch"),
    ],
)
def test_what_is_outside_is_told_with_what_is_allowed(
    changes: dict[Any, object], text: str, allowed: str
) -> None:
    found = not_within(problem(space=SPACE), {**CONFIG, **changes})
    assert found is not None
    assert found[0] == text
    assert found[1].startswith(allowed)
