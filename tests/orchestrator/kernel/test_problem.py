"""The distinct configs of a search, and the count of what was left out."""

from __future__ import annotations

from orchestrator.kernel.problem import config_of, key_of, varied_within
from orchestrator.search import Grid
from orchestrator.space.domains import choice
from tests.orchestrator.search.playing import Config, problem, small_batches_only


def test_combinations_are_counted_merged_and_excluded() -> None:
    found = Grid().candidates(problem(constraints=small_batches_only()))

    # 3 lr x 3 workers x 2 prefetch x 2 batch; without workers prefetch has no effect.
    assert found.num_combinations == 36
    assert found.num_merged == 6
    assert found.num_excluded == 15
    assert len(found.keys) == 1 + 15
    assert found.baseline_added  # lr 0.1 is not one of the three points


def test_a_baseline_on_the_grid_is_not_added() -> None:
    found = Grid().candidates(problem(space=Config(workers=choice(0, 3))))

    assert not found.baseline_added
    assert len(found.keys) == 2


def test_a_config_and_its_key_are_each_other_s_inverse() -> None:
    asked = problem()
    config = {**asked.base, "workers": 3, "batch": 1000}
    assert config_of(asked, key_of(asked, config)) == config
    assert key_of(asked, dict(reversed(config.items()))) == key_of(asked, config)


def test_values_that_give_a_config_where_the_space_has_it() -> None:
    asked = problem(space=Config(workers=choice(0, 3), prefetch=choice(4, 8), batch=choice(1, 9)))
    base = dict(asked.base)
    with_workers = {**base, "workers": 3, "prefetch": 8, "batch": 9}

    assert varied_within(asked, with_workers) == {"workers": 3, "prefetch": 8, "batch": 9}
    idle = varied_within(asked, {**base, "workers": 0, "batch": 1})
    assert idle is not None, "without workers prefetch is at its default, outside of the domain"
    assert (idle["workers"], idle["batch"]) == (0, 1)
    for outside in ({"batch": 2}, {"lr": 0.5, "batch": 1}, {"workers": 3, "batch": 1}):
        assert varied_within(asked, {**base, **outside}) is None
    assert varied_within(asked, {**base, "batch": 1, "another": 1}) is None
