"""The contract of all searches."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.kernel.search import SearchSpec
from orchestrator.machine import requires
from orchestrator.search import SEARCHES, Grid, Optuna, Random
from orchestrator.search.grid import every_combination
from orchestrator.space.configs import canonical
from orchestrator.space.domains import choice, integers
from orchestrator.trial import Trial, TrialResult, TrialState
from tests.orchestrator.search.playing import (
    Config,
    asked_in,
    completed,
    key,
    play,
    problem,
    replay,
    small_batches_only,
    smooth,
)

SPECS: dict[str, SearchSpec] = {
    "grid": Grid(),
    "random": Random(12),
    "sobol": Optuna(12, sampler="sobol"),
    "tpe": Optuna(12),
    "nsga2": Optuna(12, sampler="nsga2"),
    "gp": Optuna(4, sampler="gp"),  # it takes a fifth of a second for each config
}
QUICK = [name for name in SPECS if name != "gp"]


@pytest.fixture(params=[*QUICK, pytest.param("gp", marks=pytest.mark.slow)])
def spec(request: pytest.FixtureRequest) -> SearchSpec:
    return SPECS[request.param]


def num_configs(spec: SearchSpec) -> int:
    """Return the fewest distinct configs that a search has in the space of these tests."""
    return getattr(spec, "trials", None) or 12


def test_every_search_has_a_name_on_the_command_line() -> None:
    # A factored search keeps to other promises, in its own tests: it tries some configs twice.
    assert {*SPECS, "optuna", "factored"} == set(SEARCHES)
    assert all(SEARCHES[name].with_trials(9) == spec.with_trials(9) for name, spec in SPECS.items())
    assert SEARCHES["optuna"] == SEARCHES["tpe"]


def test_the_baseline_comes_first(spec: SearchSpec) -> None:
    baseline = Config(lr=0.2, workers=1, prefetch=3)
    game = play(spec.start(problem(baseline=baseline)))

    assert game.configs[0] == {"lr": 0.2, "workers": 1, "prefetch": 3, "batch": 100}
    assert game.configs.count(game.configs[0]) == 1


@pytest.mark.parametrize("capacity", [1, 4])
def test_every_config_is_canonical_and_runs_as_often_as_asked(
    spec: SearchSpec, capacity: int
) -> None:
    game = play(spec.start(problem(repeats=3)), capacity=capacity)
    runs = Counter(key(config) for config in game.configs)

    assert set(runs.values()) == {3}
    assert len(runs) >= num_configs(spec)
    assert {(key(trial.config), trial.repeat) for trial in game.trials} == {
        (one, repeat) for one in runs for repeat in range(3)
    }
    for config in game.configs:
        assert canonical(Config(**config)) == Config(**config)


def test_excluded_configs_are_not_tried(spec: SearchSpec) -> None:
    game = play(spec.start(problem(constraints=small_batches_only())))

    assert {config["batch"] for config in game.configs} == {100}


def test_a_limit_counts_distinct_configs_the_baseline_among_them(spec: SearchSpec) -> None:
    limited = spec.with_trials(5)
    game = play(limited.start(problem(repeats=2)))

    assert type(limited) is type(spec)
    assert len({key(config) for config in game.configs}) == 5
    assert len(play(spec.with_trials(1).start(problem())).trials) == 1


def test_a_small_space_is_tried_whole_and_then_left(spec: SearchSpec) -> None:
    space = Config(workers=choice(0, 3), prefetch=choice(2, 4))
    game = play(spec.start(problem(space=space)))

    assert len(game.trials) == 3  # without workers, prefetch is the same


def test_an_infeasible_config_is_not_run_again(spec: SearchSpec) -> None:
    def answer(trial: Trial) -> TrialResult:
        if trial.config["workers"] == 6:
            return TrialResult(state=TrialState.INFEASIBLE, reason="no")
        return smooth(trial)

    game = play(spec.start(problem(repeats=3)), answer)
    runs = Counter(key(config) for config in game.configs)

    assert {count for one, count in runs.items() if one[1] == 6} <= {1}
    assert {count for one, count in runs.items() if one[1] != 6} == {3}


def test_the_seed_makes_the_plan(spec: SearchSpec) -> None:
    def order(seed: int) -> list[dict[str, Any]]:
        return play(spec.start(problem(seed=seed, repeats=2))).configs

    assert order(0) == order(0)
    assert order(0) != order(1)


def awkward(trial: Trial) -> TrialResult:
    """Some trials fail, diverge, report NaN, lack a metric or are stopped."""
    kind = sum(map(ord, trial.id)) % 7
    if kind == 0:
        return TrialResult(state=TrialState.FAILED, reason="raised")
    if kind == 1:
        return TrialResult(state=TrialState.INFEASIBLE, reason="out of memory")
    if kind == 2:
        return completed(samples_per_s=1000.0, val_acc=float("nan"))
    if kind == 3:
        return completed(samples_per_s=1000.0)
    if kind == 4:
        return TrialResult(state=TrialState.STOPPED, metrics=smooth(trial).metrics)
    return smooth(trial)


@pytest.mark.parametrize("name", QUICK)
@settings(max_examples=12, deadline=None)
@given(
    seed=st.integers(0, 100),
    repeats=st.integers(1, 3),
    capacity=st.integers(1, 5),
    order=st.integers(),
    cut=st.floats(0, 1),
)
def test_the_same_calls_give_the_same_answers(
    name: str, seed: int, repeats: int, capacity: int, order: int, cut: float
) -> None:
    at = problem(seed=seed, repeats=repeats, constraints=small_batches_only())
    spec = SPECS[name].with_trials(8)
    game = play(spec.start(at), awkward, capacity=capacity, order=order)

    assert replay(spec.start(at), game.calls) == asked_in(game.calls)
    # Whatever was replayed so far, the rest is what it would have been.
    part = game.calls[: int(len(game.calls) * cut)]
    assert replay(spec.start(at), part) == asked_in(part)


@st.composite
def finite_spaces(draw: st.DrawFn) -> Config:
    """A space of a few to 150 combinations; without workers, prefetch has no effect."""
    counts = st.lists(st.sampled_from([0, 1, 3, 6]), min_size=1, max_size=3, unique=True)
    ahead = st.lists(st.sampled_from([1, 2, 4, 8]), min_size=1, max_size=2, unique=True)
    rates = st.lists(st.sampled_from([0.1, 0.2, 0.3]), min_size=1, max_size=3, unique=True)
    return Config(
        workers=choice(*draw(counts)),
        prefetch=choice(*draw(ahead)),
        lr=choice(*draw(rates)),
        batch=integers(100, 100 + draw(st.integers(0, 8))),
    )


def assert_all_once(spec: SearchSpec, space: Config, seed: int, capacity: int) -> None:
    """Every config that the constraints allow is asked for exactly once, and no other."""
    # It excludes some configs of each such space, and never the baseline.
    odd = requires(lambda c: c.workers == 0 or c.batch % 2 == 0, "odd")
    at = problem(space=space, constraints=[odd], seed=seed)
    every = every_combination(at)
    assert every is not None
    canonical_configs = map(at.canonical, every)
    allowed = {key(config) for config in canonical_configs if at.admissible(config)}
    game = play(spec.start(at), awkward, capacity=capacity)
    asked = Counter(key(config) for config in game.configs)

    assert set(asked.values()) == {1}
    assert set(asked) == allowed | {key(at.baseline)}


@pytest.mark.parametrize("name", QUICK)
@settings(max_examples=10, deadline=None)
@given(space=finite_spaces(), seed=st.integers(0, 100), capacity=st.integers(1, 4))
def test_every_config_of_a_small_space_is_asked_for_once(
    name: str, space: Config, seed: int, capacity: int
) -> None:
    spec = Grid(points=9) if name == "grid" else SPECS[name].with_trials(500)
    assert_all_once(spec, space, seed, capacity)
