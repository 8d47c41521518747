from __future__ import annotations

import pytest

from orchestrator.analysis.recommendation.boundary import at_boundary
from tests.orchestrator.analysis.made_runs import Config, MadeRun, config


def tried(*configs: Config) -> MadeRun:
    run = MadeRun()
    for c in configs:
        run.add_runs(c, [1000.0])
    return run


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        (4000, "the largest batch_size tried, 4000, was chosen: the best may lie beyond it"),
        (1000, ""),
        (500, "the smallest batch_size tried, 500, was chosen: the best may lie below it"),
    ],
)
def test_a_value_at_the_edge_of_three_or_more_is_named(chosen: int, words: str) -> None:
    run = tried(*(config(batch_size=size) for size in (500, 1000, 4000)))
    assert at_boundary(run.tables, config(batch_size=chosen)) == [words] * bool(words)


def test_two_values_have_no_middle_to_miss() -> None:
    run = tried(config(batch_size=500), config(batch_size=1000))
    assert at_boundary(run.tables, config(batch_size=1000)) == []


def test_a_value_as_small_as_the_knob_allows_is_no_edge() -> None:
    run = tried(*(config(num_workers=n) for n in (0, 3, 6)))
    assert at_boundary(run.tables, config(num_workers=0)) == []


def test_of_values_drawn_from_an_interval_one_is_always_the_largest() -> None:
    run = tried(*(config(batch_size=size) for size in (500, 1000, 4000)))
    run.sweep["space"]["batch_size"] = "int_range(500, 4000)"
    assert at_boundary(run.tables, config(batch_size=4000)) == []
