"""Random search: distinct configs, drawn on each knob's own scale."""

from __future__ import annotations

import math
from collections import Counter

from orchestrator.search import Random
from tests.orchestrator.search.playing import key, play, problem


def test_values_are_drawn_on_the_domains_own_scale() -> None:
    configs = play(Random(1001).start(problem())).configs[1:]

    halves = Counter(math.log10(config["lr"]) < -1.5 for config in configs)
    assert abs(halves[True] - 500) < 60
    assert abs(Counter(config["batch"] for config in configs)[100] - 500) < 60


def test_more_trials_go_on_where_fewer_ended() -> None:
    few, many = (set(map(key, play(Random(trials).start(problem())).configs)) for trials in (5, 10))

    assert few < many
