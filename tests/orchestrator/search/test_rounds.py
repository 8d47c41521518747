"""Configs in rounds, and more of them where a search is extended."""

from __future__ import annotations

import pytest

from orchestrator.kernel.search import Proposal, Search, SearchSpec
from orchestrator.search import Grid, Random
from tests.orchestrator.search.playing import play, problem, six_configs


def extended(search: Search, trials: int) -> Search:
    assert search.extends
    search.extend(trials)
    return search


@pytest.mark.parametrize("spec", [Grid(points=2, trials=4), Random(4)], ids=["grid", "random"])
@pytest.mark.parametrize("asked_before", [0, 2, 4])
def test_an_extended_search_asks_for_as_many_more(spec: SearchSpec, asked_before: int) -> None:
    search = spec.start(problem())
    before = [proposal for _ in range(asked_before) if (proposal := search.ask())]
    configs = [dict(one.config) for one in before if isinstance(one, Proposal)]
    configs += play(extended(search, 7)).configs
    assert len(configs) == 7
    assert all(configs.count(config) == 1 for config in configs)
    first = play(spec.start(problem())).configs
    assert configs[:4] == first, "those that it was started with come first"


def test_draws_go_on_as_they_would_have() -> None:
    configs = play(extended(Random(4).start(problem()), 7)).configs
    of_seven = play(Random(7).start(problem())).configs
    assert all(config in of_seven for config in configs)


def test_new_configs_are_repeated_as_the_others() -> None:
    of_six = six_configs(repeats=2)
    trials = play(extended(Grid(trials=2).start(of_six), 4)).trials
    assert len({trial.config["workers"] * 1000 + trial.config["batch"] for trial in trials}) == 4
    assert [trial.repeat for trial in trials] == [0, 0, 1, 1, 0, 0, 1, 1]


def test_a_space_that_is_used_up_has_no_more() -> None:
    assert len(play(extended(Grid(trials=5).start(six_configs()), 100)).trials) == 6
    assert len(play(extended(Grid(trials=5).start(six_configs()), 3)).trials) == 5
