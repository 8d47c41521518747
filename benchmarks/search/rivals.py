"""Searches that train every config that they try in full, on the same draws."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pandas as pd

from benchmarks.search.score import Scorer
from benchmarks.search.truth import Draws, Truth
from orchestrator.analysis.statistics.pareto import front_of_points
from orchestrator.kernel.problem import SearchProblem
from orchestrator.kernel.search import Proposal
from orchestrator.search import SEARCHES
from orchestrator.trial import Trial, TrialResult, TrialState

Config = Mapping[str, Any]
Tries = Generator[Config, tuple[float, float], None]
"""Yields the configs to try; it is sent the speed and accuracy of each."""

TARGETS: Final = (0.95, 0.99)
"""Hypervolumes of which the cost is looked at."""

MAX_SHARE: Final = 0.5
"""Share of the grid's cost at which a rival is broken off: censored."""

MAX_TRIALS: Final = 500
"""Trials, in the mean, after which it is broken off at the latest: its own time grows with their
square, and of 2,000 configs these are a quarter."""


def by_name(name: str) -> Callable[[Truth, int], Tries]:
    """Return what yields the configs that a rival tries, each sent its figures."""
    return _plain_optuna if name == "plain optuna" else lambda truth, seed: _ours(name, truth, seed)


RIVALS: Final = ("random", "tpe", "nsga2", "plain optuna")


def cost_to_targets(
    name: str, truth: Truth, scorer: Scorer, seed: int
) -> tuple[dict[str, float], list[tuple[float, float]]]:
    """Return the share of the grid's cost at which a rival first reaches each of the targets.

    Returns:
        By target as text, infinite where it was not reached; and (share, hypervolume) after
        every trial that moved it.
    """
    most = min(MAX_SHARE, MAX_TRIALS / len(truth.configs))
    draws, limit_s = Draws(truth, seed), most * truth.grid_core_s
    spent_s, tried, seen = 0.0, list[Config](), list[tuple[float, float]]()
    reached = {f"{target:g}": float("inf") for target in TARGETS}
    path = [(0.0, 0.0)]
    source = by_name(name)(truth, seed)
    config = next(source)
    while spent_s < limit_s:
        run = draws.run(config, f"train {len(tried)}", 0)
        spent_s += run.wall_s
        figures = (run.metrics["samples_per_s"], run.metrics["val_acc"])
        tried.append(config)
        seen.append(figures)
        on_front = front_of_points(np.array(seen))
        found = [each for each, is_on in zip(tried, on_front, strict=True) if is_on]
        share, score = spent_s / truth.grid_core_s, scorer.score(found, None).hypervolume
        if score != path[-1][1]:
            path.append((share, score))
        for target in TARGETS:
            if score >= target:
                reached[f"{target:g}"] = min(reached[f"{target:g}"], share)
        if score >= TARGETS[-1]:
            break
        try:
            config = source.send(figures)
        except StopIteration:
            break
    return reached, path


def _ours(name: str, truth: Truth, seed: int) -> Tries:
    """A search of this project, one trial after the other."""
    num_configs = len(truth.configs)
    problem = replace(truth.problem, seed=seed)
    search = SEARCHES[name].with_trials(num_configs).start(problem)
    number = 0
    while isinstance(proposal := search.ask(), Proposal):
        figures = yield proposal.config
        trial = trial_of(proposal, number)
        speed, accuracy = figures
        metrics = {"samples_per_s": speed, "val_acc": accuracy}
        search.tell(trial, TrialResult(state=TrialState.COMPLETED, metrics=metrics))
        number += 1


def _plain_optuna(truth: Truth, seed: int) -> Tries:
    """TPE as Ray Tune's ``OptunaSearch`` has it: choices are categories, duplicates are run."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = optuna.samplers.TPESampler(seed=seed)
    study = optuna.create_study(directions=["maximize", "maximize"], sampler=sampler)
    problem: SearchProblem = truth.problem
    space: dict[str, optuna.distributions.BaseDistribution] = {
        name: optuna.distributions.CategoricalDistribution(domain.points(3))
        for name, domain in problem.domains.items()
    }
    for _ in range(len(truth.configs)):
        asked = study.ask(space)
        config = problem.canonical({**problem.base, **asked.params})
        figures = yield config
        study.tell(asked, list(figures))


def trial_of(proposal: Proposal, number: int) -> Trial:
    """Return the trial of a proposal."""
    return Trial(
        id=str(number),
        stage=proposal.stage,
        config=proposal.config,
        budget=proposal.budget,
        seed=proposal.repeat,
        repeat=proposal.repeat,
    )


def grid_once(truth: Truth, scorer: Scorer, seed: int) -> tuple[float, float, float]:
    """Return hypervolume, epsilon and regret of the grid, each config run once."""
    draws = Draws(truth, seed)
    configs = truth.records
    runs = [draws.run(config, "grid", 0) for config in configs]
    seen = np.array([(run.metrics["samples_per_s"], run.metrics["val_acc"]) for run in runs])
    found = [c for c, is_on in zip(configs, front_of_points(seen), strict=True) if is_on]
    score = scorer.score(found, _recommended(configs, seen, truth))
    return score.hypervolume, score.epsilon, score.regret


def _recommended(configs: Sequence[Config], seen: np.ndarray, truth: Truth) -> Config:
    frame = pd.DataFrame(seen, columns=["speed", "accuracy"])
    least = frame["accuracy"].max() - truth.sweep.rigor.accuracy_tolerance - 1e-9
    return configs[int(frame[frame["accuracy"] >= least]["speed"].idxmax())]
