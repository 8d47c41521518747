"""Random search: distinct configs, drawn on each knob's own scale."""

from __future__ import annotations

import math
from collections import Counter

from orchestrator.search import Random
from orchestrator.space.domains import integers
from tests.orchestrator.search.playing import Config, play, problem


def test_values_are_drawn_on_the_domains_own_scale() -> None:
    configs = play(Random(1001).start(problem())).configs[1:]

    halves = Counter(math.log10(config["lr"]) < -1.5 for config in configs)
    assert abs(halves[True] - 500) < 60
    assert abs(Counter(config["batch"] for config in configs)[100] - 500) < 60


def test_what_ten_thousand_draws_miss_is_gone_through() -> None:
    """Of 5,000 configs the last few are drawn so rarely that the draws alone give up before."""
    space = Config(batch=integers(1, 5000))
    found = Random(6000).candidates(problem(space=space))

    assert len(found.keys) == 5000
    assert len(Random(4990).candidates(problem(space=space)).keys) == 4990
