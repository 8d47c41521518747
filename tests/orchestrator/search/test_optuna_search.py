"""Optuna: the results that the study learns from, and the nearest config not yet asked for."""

import math
import random
import statistics
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.distributions import IntDistribution
from optuna.samplers import RandomSampler

from orchestrator.errors import SweepFileError
from orchestrator.kernel.problem import EarlierConfig, Key, SearchProblem, key_of
from orchestrator.metrics import Objective, at_least, at_most, maximize, minimize
from orchestrator.search import Optuna, Random, Sampler
from orchestrator.search.grid import MAX_ENUMERATED
from orchestrator.search.optuna_search import OptunaSearch, Unasked
from orchestrator.search.optuna_study import CAN_RUN, ConfigStudy
from orchestrator.space.domains import choice, integers, loguniform
from orchestrator.trial import Trial, TrialResult, TrialState
from tests.helping import python
from tests.orchestrator.search.playing import (
    Config,
    completed,
    key,
    play,
    problem,
    small_batches_only,
    smooth,
)

COMPLETE, FAIL = optuna.trial.TrialState.COMPLETE, optuna.trial.TrialState.FAIL
TWO = {"objectives": [maximize("samples_per_s"), minimize("train_loss")]}


@pytest.fixture(params=Sampler, ids=str)
def sampler(request: pytest.FixtureRequest) -> Sampler:
    return request.param


def few(sampler: Sampler, others: int) -> int:
    """Number of trials: a Gaussian process takes a fifth of a second for each and more."""
    return min(others, 4) if sampler is Sampler.GP else others


def started(at: SearchProblem, trials: int = 20, sampler: Sampler = Sampler.TPE) -> OptunaSearch:
    return OptunaSearch(at, trials=trials, sampler=sampler.made(trials=trials, seed=at.seed))


def test_the_study_receives_the_mean_over_repeats() -> None:
    def answer(trial: Trial) -> TrialResult:
        return completed(samples_per_s=100.0 + trial.repeat, train_loss=float(trial.repeat))

    search = started(problem(repeats=3, **TWO), trials=4)
    play(search, answer, capacity=3)

    assert [trial.values for trial in search.study.trials] == [[101.0, 1.0]] * 4
    assert [str(direction.name) for direction in search.study.directions] == [
        "MAXIMIZE", "MINIMIZE"
    ]  # fmt: skip


def test_repeats_of_a_config_lie_among_the_runs_of_others() -> None:
    orders = []
    for seed in range(3):
        game = play(started(problem(repeats=3, seed=seed), trials=20))
        places: dict[tuple[object, ...], list[int]] = {}
        for number, trial in enumerate(game.trials):
            runs = places.setdefault(key(trial.config), [])
            assert trial.repeat == len(runs), "in the order of their numbers"
            runs.append(number)
        assert {len(runs) for runs in places.values()} == {3}
        assert len(places) == 20
        together = sum(b - a == 1 for runs in places.values() for a, b in pairwise(runs))
        assert together < 12, "of 40 pairs of runs that follow each other"
        # The sampler receives a config's result once all of its runs have ended.
        assert max(runs[-1] - runs[0] for runs in places.values()) <= 6 * 3
        orders.append(list(places.values()))
    assert orders[0] != orders[1]


def test_the_baseline_is_enqueued_if_the_space_contains_it() -> None:
    inside = started(problem())
    play(inside)
    first = inside.study.trials[0]
    assert (first.params, first.values) == (
        {"lr": 0.1, "workers": 0, "prefetch": 0, "batch": 0}, [1020.0, 0.9 - 0.0125 - 1e-3]
    )  # fmt: skip

    # Another fixed knob, or a value that the domain lacks: the study cannot know of it.
    for outside in (Config(workers=1), Config(lr=5.0)):
        search = started(problem(baseline=outside), trials=3)
        game = play(search)
        assert len(search.study.trials) == 2
        assert len(game.configs) == 3


def test_excluded_configs_teach_the_study_where_not_to_look() -> None:
    search = started(problem(constraints=small_batches_only()))
    game = play(search)
    excluded = [t for t in search.study.trials if t.params["batch"] == 1 and t.state is COMPLETE]

    assert {config["batch"] for config in game.configs} == {100}
    assert excluded
    assert all(max(trial.constraints.values()) > 0 for trial in excluded)


@pytest.mark.parametrize("sampler", [Sampler.TPE, Sampler.NSGA2], ids=str)
def test_a_region_that_cannot_run_is_left(sampler: Sampler) -> None:
    """If such trials were reported as FAIL, TPE would ask for nothing else (optuna#3472)."""

    def answer(trial: Trial) -> TrialResult:
        if trial.config["batch"] == 1000:
            return TrialResult(state=TrialState.INFEASIBLE, reason="out of memory")
        return smooth(trial)

    late = [
        config["batch"]
        for seed in range(3)
        for config in play(started(problem(seed=seed), 50, sampler), answer).configs[25:]
    ]

    assert late.count(1000) < 0.35 * len(late)  # drawn at random it is half of them


def test_another_process_asks_for_the_same(repository: Path) -> None:
    code = (
        "from orchestrator.search import Optuna, Sampler\n"
        "from tests.orchestrator.search.playing import play, problem\n"
        "from tests.orchestrator.search.test_optuna_search import few\n"
        "for sampler in Sampler:\n"
        "    search = Optuna(few(sampler, 25), sampler=sampler).start(problem())\n"
        "    print(play(search, capacity=3).configs)\n"
    )
    done = python("-c", code, cwd=repository, variables={"PYTHONHASHSEED": "1"})

    here = [
        play(Optuna(few(sampler, 25), sampler=sampler).start(problem()), capacity=3).configs
        for sampler in Sampler
    ]
    assert done.stdout.splitlines() == [str(configs) for configs in here]


def test_naming_the_search_does_not_import_optuna(repository: Path) -> None:
    code = (
        "import sys; from orchestrator.search import Optuna; Optuna(3).with_trials(4); "
        "print('optuna' in sys.modules)"
    )
    done = python("-c", code)

    assert done.stdout == "False\n"


# -- earlier runs


LEARNERS = pytest.mark.parametrize(
    "sampler",
    [Sampler.TPE, Sampler.NSGA2, pytest.param(Sampler.GP, marks=pytest.mark.slow)],
    ids=str,
)


@LEARNERS
def test_earlier_results_come_first_and_their_best_follows_the_baseline(
    sampler: Sampler,
) -> None:
    at = problem()
    before = play(Random(12).start(replace(at, seed=at.seed + 100))).trials
    earlier = [EarlierConfig(config=t.config, results=[smooth(t)]) for t in before]
    at = replace(at, earlier=earlier)
    search = started(at, 8, sampler)
    ended = search.study.get_trials(states=[COMPLETE])
    game = play(search)

    assert [trial.values for trial in ended] == [
        [e.results[0].metrics["samples_per_s"], e.results[0].metrics["val_acc"]] for e in at.earlier
    ]
    assert game.configs[0] == at.baseline
    # A quarter of the eight: the fastest of all, and what is farthest from it on the front.
    fastest = max(at.earlier, key=lambda e: e.results[0].metrics["samples_per_s"])
    assert game.configs[1] == fastest.config
    assert game.configs[2] in [e.config for e in at.earlier]
    assert len(set(map(key, game.configs))) == len(game.trials) == 8


def test_earlier_configs_that_cannot_run_or_miss_a_bound_are_not_asked_for_first() -> None:
    at = problem(objectives=[maximize("samples_per_s"), at_least("val_acc", 0.9)])
    base = at.baseline
    earlier = [
        EarlierConfig(
            config={**base, "lr": 0.5}, results=[completed(samples_per_s=9, val_acc=0.8)]
        ),
        EarlierConfig(
            config={**base, "lr": 0.4}, results=[TrialResult(state=TrialState.INFEASIBLE)]
        ),
        EarlierConfig(
            config={**base, "lr": 0.3}, results=[completed(samples_per_s=1, val_acc=0.95)]
        ),
        EarlierConfig(config={**base, "lr": 9.0}, results=[completed(samples_per_s=99, val_acc=1)]),
    ]
    search = started(replace(at, earlier=earlier), 12)
    ended = search.study.get_trials(states=[COMPLETE])
    game = play(search)

    assert [trial.params["lr"] for trial in ended] == [0.5, 0.4, 0.3], "9.0 is outside of the space"
    assert [config["lr"] for config in game.configs[:2]] == [0.1, 0.3]
    assert {0.5, 0.4}.isdisjoint(config["lr"] for config in game.configs[:3])


# -- the best of a space


def hidden_best(trial: Trial) -> TrialResult:
    """One best config of 1,000: 6 workers, a batch of 7, the learning rate nearest to 0.04."""
    config = trial.config
    speed = -abs(config["workers"] - 6) - abs(config["batch"] - 7) / 2
    return completed(samples_per_s=speed, distance=abs(math.log10(config["lr"] / 0.04)))


ONE_IN_A_THOUSAND = Config(
    workers=integers(0, 9),
    batch=integers(1, 10),
    lr=choice(*(0.001 * k for k in range(1, 101, 10))),
)


@LEARNERS
def test_each_learns_both_directions_and_beats_random_draws(sampler: Sampler) -> None:
    """Were a direction wrong, the sampler would go the other way and be worse than random."""
    trials, seeds = (25, 1) if sampler is Sampler.GP else (60, 4)

    def regret(spec: Optuna | Random, seed: int) -> float:
        at = problem(
            space=ONE_IN_A_THOUSAND,
            objectives=[maximize("samples_per_s"), minimize("distance")],
            seed=seed,
        )
        game = play(spec.start(at), hidden_best)
        results = [hidden_best(trial).metrics for trial in game.trials]
        return min(metrics["distance"] - metrics["samples_per_s"] for metrics in results)

    ours = [regret(Optuna(trials, sampler=sampler), seed) for seed in range(seeds)]
    drawn = [regret(Random(trials), seed) for seed in range(8)]

    assert statistics.mean(ours) < statistics.mean(drawn)


class Asked(set[Key]):
    """Keys asked for, and a source of configs that are not among them."""

    def __init__(self, at: SearchProblem, seed: int = 0) -> None:
        super().__init__()
        self.problem = at
        self.unasked = Unasked(at, self.__contains__, random.Random(seed))

    def take(self, **near: float) -> dict[str, Any] | None:
        """Return the nearest new config, which counts as asked for from now on."""
        varied = self.unasked.nearest(near)
        if varied is None:
            return None
        config = dict(self.problem.canonical({**self.problem.base, **varied}))
        self.add(key_of(self.problem, config))
        return config


def test_every_config_of_a_finite_space_is_given_once_the_nearest_first() -> None:
    at = problem(space=Config(batch=integers(1, 64), workers=choice(0, 3, 6)))
    asked = Asked(at)
    given = []
    while (config := asked.take(batch=40, workers=3)) is not None:
        given.append(config)

    assert len(set(map(key, given))) == len(given) == 64 * 3
    distances = [abs(c["batch"] - 40) / 63 + abs(c["workers"] - 3) / 6 for c in given]
    assert distances == pytest.approx(sorted(distances))
    assert distances[0] == 0


@pytest.mark.parametrize(
    "space",
    [Config(lr=loguniform(1e-3, 1.0)), Config(batch=integers(1, MAX_ENUMERATED + 1))],
    ids=["infinite", "large"],
)
def test_of_other_spaces_configs_are_drawn(space: Config) -> None:
    asked = Asked(problem(space=space))
    drawn = [asked.take(lr=0.1, batch=7) for _ in range(50)]

    assert len({key(config) for config in drawn if config}) == 50


# -- the study


SPACE = {"x": IntDistribution(0, 9)}
CANNOT_RUN = TrialResult(state=TrialState.INFEASIBLE, reason="out of memory")


def config_study(*objectives: Objective) -> ConfigStudy:
    return ConfigStudy(objectives, RandomSampler(seed=0))


def asked_of(study: ConfigStudy) -> optuna.Trial:
    return study.study.ask(dict(SPACE))


def test_bounds_are_constraints_and_the_others_directions() -> None:
    study = config_study(
        maximize("speed"), minimize("loss"), at_least("acc", 0.8), at_most("gib", 20.0)
    )
    study.conclude(asked_of(study), [completed(speed=7.0, loss=0.5, acc=0.9, gib=25.0)])
    (trial,) = study.study.trials

    assert [direction.name for direction in study.study.directions] == ["MAXIMIZE", "MINIMIZE"]
    assert trial.values == [7.0, 0.5]
    assert trial.constraints == pytest.approx(
        {CAN_RUN: -1.0, "acc maximize 0.8": -0.125, "gib minimize 20.0": 0.25}
    )


def test_what_cannot_run_waits_for_a_figure_and_counts_as_the_worst() -> None:
    """A loss of 0, made up before there is any, would be the best of all."""
    study = config_study(minimize("loss"), at_most("gib", 2.0))
    study.conclude(asked_of(study), [CANNOT_RUN])
    assert study.study.trials[0].state is optuna.trial.TrialState.RUNNING
    study.conclude(asked_of(study), [completed(loss=0.5, gib=1.0)])
    study.conclude(asked_of(study), [completed(loss=0.7, gib=3.0)])
    study.tell_infeasible(asked_of(study))

    trials = study.study.trials
    assert [trial.values for trial in trials] == [[0.5], [0.5], [0.7], [0.7]]
    assert [trial.constraints[CAN_RUN] for trial in trials] == [1.0, -1.0, -1.0, 1.0]
    assert [trial.constraints["gib minimize 2.0"] for trial in trials] == [-0.5, -0.5, 0.5, 0.5]


def test_a_config_without_a_figure_of_a_bound_teaches_nothing() -> None:
    study = config_study(maximize("speed"), at_least("acc", 0.8))
    study.conclude(asked_of(study), [completed(speed=7.0)])

    assert study.study.trials[0].state is FAIL


def test_a_sampler_may_be_given_by_its_name() -> None:
    assert Optuna(9, sampler="gp") == Optuna(9, sampler=Sampler.GP)
    assert Optuna(9, sampler="gp").with_trials(3) == Optuna(3, sampler=Sampler.GP)


def test_an_unknown_sampler_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(SweepFileError) as refused:
        Optuna(9, sampler="sobel")

    assert "Optuna: sampler = 'sobel' is not allowed; did you mean 'sobol'?" in str(refused.value)
    assert "allowed: tpe, nsga2, gp, sobol" in str(refused.value)


def test_earlier_results_change_what_all_but_sobol_s_sequence_suggests() -> None:
    assert {sampler: Optuna(sampler=sampler).warm_starts for sampler in Sampler} == {
        "tpe": True, "nsga2": True, "gp": True, "sobol": False
    }  # fmt: skip
