"""Optuna: what the study is told, and that it learns from it."""

from __future__ import annotations

import math
import os
import statistics
import subprocess
import sys
import warnings
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import optuna
import pytest

from orchestrator.kernel.problem import EarlierConfig, SearchProblem
from orchestrator.metrics import at_least, maximize, minimize
from orchestrator.search import Optuna, Random, Sampler
from orchestrator.search.optuna_search import OptunaSearch
from orchestrator.space.domains import choice, integers, loguniform
from orchestrator.trial import Trial, TrialResult, TrialState
from tests.orchestrator.search.playing import (
    Config,
    completed,
    key,
    play,
    problem,
    small_batches_only,
    smooth,
    trial_of,
)

COMPLETE, FAIL = optuna.trial.TrialState.COMPLETE, optuna.trial.TrialState.FAIL
TWO = {"objectives": [maximize("samples_per_s"), minimize("train_loss")]}


@pytest.fixture(params=Sampler, ids=str)
def sampler(request: pytest.FixtureRequest) -> Sampler:
    found: Sampler = request.param
    return found


def few(sampler: Sampler, others: int) -> int:
    """Number of trials: a Gaussian process takes a fifth of a second for each and more."""
    return min(others, 6) if sampler is Sampler.GP else others


def started(at: SearchProblem, trials: int = 20, sampler: Sampler = Sampler.TPE) -> OptunaSearch:
    return OptunaSearch(at, trials=trials, sampler=sampler.made(trials=trials, seed=at.seed))


def can_run(trial: optuna.trial.FrozenTrial) -> bool:
    return all(value <= 0 for value in trial.constraints.values())


def test_the_study_is_told_the_mean_over_repeats() -> None:
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
        for place, trial in enumerate(game.trials):
            runs = places.setdefault(key(trial.config), [])
            assert trial.repeat == len(runs), "in the order of their numbers"
            runs.append(place)
        assert {len(runs) for runs in places.values()} == {3}
        assert len(places) == 20
        together = sum(b - a == 1 for runs in places.values() for a, b in pairwise(runs))
        assert together < 12, "of 40 pairs of runs that follow each other"
        # The sampler is told of a config once all of its runs have ended.
        assert max(runs[-1] - runs[0] for runs in places.values()) <= 6 * 3
        orders.append(list(places.values()))
    assert orders[0] != orders[1]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_one_to_three_objectives(count: int, sampler: Sampler) -> None:
    objectives = [maximize("samples_per_s"), maximize("val_acc"), minimize("lr_cost")][:count]

    def answer(trial: Trial) -> TrialResult:
        metrics = {**smooth(trial).metrics, "lr_cost": trial.config["lr"]}
        return completed(**metrics)

    trials = few(sampler, 25)
    search = started(problem(objectives=objectives), trials, sampler)
    game = play(search, answer, capacity=2)

    assert len(set(map(key, game.configs))) == trials
    assert len(search.study.directions) == count


def test_the_baseline_is_enqueued_where_the_space_holds_it() -> None:
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


def test_an_idle_knob_does_not_keep_the_baseline_out_of_the_space() -> None:
    space = Config(workers=choice(0, 3), prefetch=choice(4, 8), lr=loguniform(0.01, 1))
    search = started(problem(space=space), trials=2)
    game = play(search)

    assert len(search.study.trials) == 2
    assert game.configs[0]["prefetch"] == 2


def test_an_infeasible_trial_is_told_as_a_violated_constraint() -> None:
    def answer(trial: Trial) -> TrialResult:
        if trial.config["batch"] == 1000:
            return TrialResult(state=TrialState.INFEASIBLE, reason="out of memory")
        return smooth(trial)

    search = started(problem())
    play(search, answer)
    told = [trial for trial in search.study.trials if trial.state is COMPLETE]

    assert {can_run(trial) for trial in told if trial.params["batch"] == 0} == {True}
    assert {can_run(trial) for trial in told if trial.params["batch"] == 1} == {False}
    assert all(all(map(math.isfinite, trial.values)) for trial in told)


def test_a_nan_is_infeasible_and_a_missing_figure_or_an_error_fails() -> None:
    answers = {
        0.2: completed(samples_per_s=math.nan, val_acc=0.5),
        0.3: completed(samples_per_s=1.0),
        0.4: TrialResult(state=TrialState.FAILED, reason="raised"),
        0.5: TrialResult(state=TrialState.STOPPED, metrics={"samples_per_s": 2.0, "val_acc": 0.1}),
    }
    space = Config(lr=choice(0.1, 0.2, 0.3, 0.4, 0.5))
    search = started(problem(space=space))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        play(search, lambda trial: answers.get(trial.config["lr"]) or smooth(trial))
    by_lr = {
        space_value(trial): (trial.state, can_run(trial))
        for trial in search.study.trials
        if trial.state is COMPLETE or space_value(trial) in (0.3, 0.4)
    }

    assert by_lr == {
        0.1: (COMPLETE, True),
        0.2: (COMPLETE, False),
        0.3: (FAIL, True),
        0.4: (FAIL, True),
        0.5: (COMPLETE, True),
    }


def space_value(trial: optuna.trial.FrozenTrial) -> float:
    return (0.1, 0.2, 0.3, 0.4, 0.5)[trial.params["lr"]]


def test_excluded_configs_teach_the_study_where_not_to_look() -> None:
    search = started(problem(constraints=small_batches_only()))
    game = play(search)
    excluded = [t for t in search.study.trials if t.params["batch"] == 1 and t.state is COMPLETE]

    assert {config["batch"] for config in game.configs} == {100}
    assert excluded
    assert not any(map(can_run, excluded))


def test_repeats_of_one_config_are_one_trial_of_the_study() -> None:
    space = Config(workers=choice(0, 3), prefetch=choice(2, 4, 8), batch=choice(100, 1000))
    search = started(problem(space=space, repeats=2), trials=50)
    game = play(search, capacity=3)
    told = [trial for trial in search.study.trials if trial.state is COMPLETE]

    assert len(set(map(key, game.configs))) == len(told) == 2 * (1 + 3)
    assert len(game.trials) == 16


@pytest.mark.parametrize("sampler", [Sampler.TPE, Sampler.NSGA2], ids=str)
def test_a_region_that_cannot_run_is_left(sampler: Sampler) -> None:
    """Telling such trials as FAIL instead has TPE ask for nothing else (optuna#3472)."""

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


def test_gaussian_processes_leave_a_region_that_cannot_run() -> None:
    def answer(trial: Trial) -> TrialResult:
        if trial.config["batch"] == 1000:
            return TrialResult(state=TrialState.INFEASIBLE, reason="out of memory")
        return smooth(trial)

    late = play(started(problem(), 16, Sampler.GP), answer).configs[6:]

    assert [config["batch"] for config in late].count(1000) <= 2  # at random it is half of ten


def test_runs_that_are_out_are_known_to_the_sampler(sampler: Sampler) -> None:
    search = started(problem(), few(sampler, 20), sampler)
    asked = [search.ask() for _ in range(6)]
    running = search.study.get_trials(states=[optuna.trial.TrialState.RUNNING])

    assert len(running) == len(asked) == 6
    search.tell(trial_of(asked[0]), smooth(trial_of(asked[0])))  # type: ignore[arg-type]
    assert len(search.study.get_trials(states=[optuna.trial.TrialState.RUNNING])) == 5


def test_tpe_keeps_away_from_what_runs() -> None:
    """Optuna's constant liar: eight configs at the same time lie apart."""

    def spread(told: bool) -> float:
        space = Config(lr=loguniform(1e-5, 1.0))
        search = started(problem(space=space, repeats=1), 60)
        for _ in range(30):
            asked = trial_of(search.ask())  # type: ignore[arg-type]
            search.tell(asked, smooth(asked))
        places = []
        for _ in range(8):
            asked = trial_of(search.ask())  # type: ignore[arg-type]
            places.append(math.log10(asked.config["lr"]))
            if told:
                search.tell(asked, smooth(asked))
        return statistics.stdev(places)

    assert spread(told=False) > 1.5 * spread(told=True)


def test_tpe_comes_nearer_to_the_best_than_random_draws() -> None:
    space = Config(lr=loguniform(1e-5, 1.0), workers=integers(0, 16), batch=integers(1, 4096))

    def best(configs: list[dict[str, float]]) -> float:
        """Least distance from where the accuracy peaks, over configs with many workers."""
        return min(
            abs(math.log10(c["lr"]) + 1.5) + (16 - c["workers"]) / 16 + c["batch"] / 4096
            for c in configs
        )

    pairs = [
        tuple(
            best(play(spec.start(problem(space=space, seed=seed))).configs)
            for spec in (Optuna(60), Random(60))
        )
        for seed in range(5)
    ]

    assert sum(ours for ours, _ in pairs) < sum(drawn for _, drawn in pairs)


def test_another_process_asks_for_the_same(repository: Path, sampler: Sampler) -> None:
    trials = few(sampler, 25)
    code = (
        "from orchestrator.search import Optuna\n"
        "from tests.orchestrator.search.playing import play, problem\n"
        f"search = Optuna({trials}, sampler='{sampler}').start(problem())\n"
        "print(play(search, capacity=3).configs)"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            cwd=repository,
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
        ).stdout
        for hash_seed in (("1",) if sampler is Sampler.GP else ("1", "2"))
    }

    here = play(Optuna(trials, sampler=sampler).start(problem()), capacity=3)
    assert outputs == {f"{here.configs}\n"}


def test_naming_the_search_does_not_import_optuna(repository: Path) -> None:
    code = (
        "import sys; from orchestrator.search import Optuna; Optuna(3).with_trials(4); "
        "print('optuna' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "False\n"


# -- earlier runs


def earlier_configs(at: SearchProblem, num_configs: int = 12) -> list[EarlierConfig]:
    """Return what a search at random has measured."""
    game = play(Random(num_configs).start(replace(at, seed=at.seed + 100)))
    return [EarlierConfig(config=t.config, results=[smooth(t)]) for t in game.trials]


LEARNERS = [sampler for sampler in Sampler if sampler.learns]


@pytest.mark.parametrize("sampler", LEARNERS, ids=str)
def test_earlier_results_are_told_first_and_their_best_asked_for_after_the_baseline(
    sampler: Sampler,
) -> None:
    at = problem()
    at = replace(at, earlier=earlier_configs(at))
    search = started(at, 8, sampler)
    told = search.study.get_trials(states=[COMPLETE])
    game = play(search)

    assert [trial.values for trial in told] == [
        [e.results[0].metrics["samples_per_s"], e.results[0].metrics["val_acc"]] for e in at.earlier
    ]
    assert game.configs[0] == at.baseline
    # A quarter of the eight: the fastest of all, and what is farthest from it on the front.
    fastest = max(at.earlier, key=lambda e: e.results[0].metrics["samples_per_s"])
    assert game.configs[1] == fastest.config
    assert game.configs[2] in [e.config for e in at.earlier]
    assert len(set(map(key, game.configs))) == len(game.trials) == 8


def test_a_genetic_search_takes_its_parents_from_earlier_runs() -> None:
    at = problem()
    search = started(replace(at, earlier=earlier_configs(at, 30)), 20, Sampler.NSGA2)
    generations = [t.system_attrs["NSGAIISampler:generation"] for t in search.study.trials]

    assert generations == sorted(generations)
    assert generations[-1] >= 5, "four of each"


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
    told = search.study.get_trials(states=[COMPLETE])
    game = play(search)

    assert [trial.params["lr"] for trial in told] == [0.5, 0.4, 0.3], "9.0 is outside of the space"
    assert [config["lr"] for config in game.configs[:2]] == [0.1, 0.3]
    assert {0.5, 0.4}.isdisjoint(config["lr"] for config in game.configs[:3])


def test_an_earlier_run_spares_a_search_the_random_beginning() -> None:
    at = problem(space=Config(lr=loguniform(1e-5, 1.0)))
    earlier = earlier_configs(at, 40)

    def distance(at: SearchProblem) -> float:
        configs = play(started(at, 12)).configs[1:]
        return statistics.median(abs(math.log10(c["lr"]) + 1.5) for c in configs)

    seeds = [replace(at, seed=seed) for seed in range(4)]
    cold = sum(distance(each) for each in seeds)
    warm = sum(distance(replace(each, earlier=earlier)) for each in seeds)

    assert warm < cold


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


@pytest.mark.parametrize("sampler", LEARNERS, ids=str)
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
        told = [hidden_best(trial).metrics for trial in game.trials]
        return min(metrics["distance"] - metrics["samples_per_s"] for metrics in told)

    ours = [regret(Optuna(trials, sampler=sampler), seed) for seed in range(seeds)]
    drawn = [regret(Random(trials), seed) for seed in range(8)]

    assert statistics.mean(ours) < statistics.mean(drawn)


@pytest.mark.parametrize("sampler", [Sampler.TPE, Sampler.NSGA2], ids=str)
def test_a_bound_draws_the_search_to_where_it_holds(sampler: Sampler) -> None:
    """Speed alone would have it ask for large batches, all of which miss the bound."""

    def answer(trial: Trial) -> TrialResult:
        batch = trial.config["batch"]
        return completed(samples_per_s=float(batch), val_acc=1.0 - batch / 1000)

    space = Config(batch=integers(1, 1000), lr=loguniform(1e-3, 1.0))
    bounded = [maximize("samples_per_s"), at_least("val_acc", 0.7)]
    late = [
        config["batch"]
        for seed in range(3)
        for config in play(
            started(problem(space=space, objectives=bounded, seed=seed), 60, sampler), answer
        ).configs[30:]
    ]

    held = [batch for batch in late if batch <= 300]
    assert len(held) > 0.5 * len(late)  # drawn at random it is 0.3 of them
    if sampler is Sampler.TPE:
        assert statistics.median(held) > 200, "within the bound the faster ones"
