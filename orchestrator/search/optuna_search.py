"""The search that drives an Optuna study."""

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import optuna
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, NSGAIISampler

from orchestrator.kernel.problem import Key, SearchProblem, key_of, varied_within
from orchestrator.kernel.search import Pause, Proposal, Search
from orchestrator.search.grid import every_combination, first_draws
from orchestrator.search.layers import non_dominated_layers, ordered
from orchestrator.search.optuna_study import (
    ConfigStudy,
    distribution,
    is_ordered,
    params_of,
    place,
    values_of,
)
from orchestrator.space.domains import Choice
from orchestrator.trial import Trial, TrialResult, TrialState

MAX_ATTEMPTS: Final = 10
"""Suggestions in a row that are known or excluded before one is drawn at random instead. In a
finite space the first such suggestion is enough, since the nearest new config takes its place. On
a space of 2,160 configs TPE so finds more of the front than with more attempts."""

TOGETHER: Final = 4
"""Configs that run in rounds if each runs several times: a drift of the machine meets all of them
alike, and the sampler does not wait much longer for their results."""

_SAME: Final = 1e-9
"""Distances that differ by less are the same, but for rounding."""

EARLIER_SHARE: Final = 1 / 4
"""Most of a search's configs that are asked for because they were the best of earlier runs."""

Suggestion = tuple[Mapping[str, Any], optuna.Trial | None]
"""A config, and Optuna's trial of it, or None for a baseline that lies outside the space."""


class OptunaSearch(Search):
    """A search that asks for what a sampler suggests, and gives it the mean over repeats.

    The baseline comes first, then the best configs of earlier runs, then what the sampler
    suggests. No config is suggested twice: where the sampler suggests nothing new, the nearest new
    config takes its place, or one drawn at random.

    Args:
        problem: The space, objectives and seed.
        trials: Distinct configs to ask for at most.
        sampler: The sampler.

    Attributes:
        study: Optuna's own record of suggestions and results.
    """

    extends = True

    def __init__(self, problem: SearchProblem, *, trials: int, sampler: BaseSampler) -> None:
        self._problem = problem
        self._num_trials = trials
        self._by_config = ConfigStudy(problem.objectives, sampler)
        self.study = self._by_config.study
        self._space = {name: distribution(d) for name, d in problem.domains.items()}
        self._asked: dict[Key, optuna.Trial | None] = {}
        self._results = defaultdict[Key, list[TrialResult]](list)
        self._num_open = Counter[Key]()  # runs that are due or out
        self._due: list[Proposal] = []
        self._excluded: set[Key] = set()
        rng = random.Random(f"optuna of {problem.seed}")
        self._unasked = Unasked(problem, lambda key: key in self._asked, rng)
        self._order = random.Random(f"repeats of {problem.seed}")
        for earlier in problem.earlier:
            varied = varied_within(problem, earlier.config)
            if varied is not None:
                self._conclude(self._enqueued(varied), earlier.results)
        self._earlier = self.study.get_trials(states=[optuna.trial.TrialState.COMPLETE])
        self._suggestions = self._all_suggestions()

    def ask(self) -> Proposal | Pause | None:
        """Return the next run; None at the end."""
        self._due = self._due or self._next_runs()
        return self._due.pop(0) if self._due else None

    def tell(self, trial: Trial, result: TrialResult) -> None:
        """Tell the study once all runs of the config have ended."""
        key = key_of(self._problem, trial.config)
        self._results[key].append(result)
        self._num_open[key] -= 1
        if result.state is TrialState.INFEASIBLE:  # it would be so again
            left = [each for each in self._due if key_of(self._problem, each.config) != key]
            self._num_open[key] -= len(self._due) - len(left)
            self._due = left
        if self._num_open[key] == 0:
            self._conclude(self._asked[key], self._results[key])

    def _conclude(self, trial: optuna.Trial | None, results: Sequence[TrialResult]) -> None:
        if trial is not None:
            self._by_config.conclude(trial, results)

    def extend(self, trials: int) -> None:
        """Continue to ``trials`` configs in all."""
        self._num_trials = max(trials, self._num_trials)

    # -- asking

    def _next_runs(self) -> list[Proposal]:
        """Return the runs of new configs, round by round; none at the end."""
        repeats, budget = self._problem.repeats, self._problem.budget
        most = min(TOGETHER if repeats > 1 else 1, self._num_trials - len(self._asked))
        configs = []
        for config, trial in islice(self._suggestions, max(most, 0)):
            key = key_of(self._problem, config)
            self._asked[key], self._num_open[key] = trial, repeats
            configs.append(config)
        orders = [configs, *(self._order.sample(configs, len(configs)) for _ in range(1, repeats))]
        return [
            Proposal(config=config, budget=budget, repeat=repeat)
            for repeat, order in enumerate(orders)
            for config in order
        ]

    def _all_suggestions(self) -> Iterator[Suggestion]:
        """Yield new configs until none is left, each found when it is asked for."""
        baseline = self._problem.baseline
        varied = varied_within(self._problem, baseline)
        yield baseline, None if varied is None else self._enqueued(varied)
        for best in self._best_of_earlier():
            config = self._config(best)
            if self._is_new(config):
                yield config, self._enqueued(best)
        while suggestion := self._suggested():
            yield suggestion

    def _suggested(self) -> Suggestion | None:
        """Return a config that is new and not excluded, or None where none is left."""
        for _ in range(1 if self._unasked.is_finite else MAX_ATTEMPTS):
            trial = self.study.ask(self._space)
            varied = values_of(trial.params, self._problem.domains)
            config = self._config(varied)
            if self._is_new(config):
                if self._problem.admissible(config):
                    return config, trial
                self._excluded.add(key_of(self._problem, config))
                self._by_config.tell_infeasible(trial)
            else:
                # It does not get its result a second time: that would draw the sampler to it again.
                self.study.tell(trial, state=optuna.trial.TrialState.FAIL)
        other = self._unasked.nearest(varied)
        return None if other is None else (self._config(other), self._enqueued(other))

    def _is_new(self, config: Mapping[str, Any]) -> bool:
        key = key_of(self._problem, config)
        return key not in self._asked and key not in self._excluded

    def _config(self, varied: Mapping[str, Any]) -> Mapping[str, Any]:
        return self._problem.canonical({**self._problem.base, **varied})

    def _enqueued(self, varied: Mapping[str, Any]) -> optuna.Trial | None:
        """Return Optuna's trial of given values, which its sampler is not asked for."""
        return self._trial_of(params_of(varied, self._problem.domains), self._space)

    def _trial_of(
        self, params: Mapping[str, Any], space: Mapping[str, BaseDistribution]
    ) -> optuna.Trial:
        self.study.enqueue_trial(dict(params))
        trial = self.study.ask(dict(space))
        sampler = self.study.sampler
        if isinstance(sampler, NSGAIISampler):  # it takes its parents from generations alone
            sampler.get_trial_generation(self.study, self.study.get_trials()[-1])
        return trial

    def _best_of_earlier(self) -> list[Mapping[str, Any]]:
        """Return the best of the earlier configs that can run and keep the bounds, spread out."""
        best = [t for t in self._earlier if all(v <= 0 for v in t.constraints.values())]
        points, signs = [trial.values for trial in best], self._by_config.signs
        num_front = len(next(iter(non_dominated_layers(points, signs)), []))
        most = min(num_front, int(EARLIER_SHARE * self._num_trials))
        chosen = [best[i] for i in ordered(points, signs)[:most]]
        return [self._varied(trial.params) for trial in chosen]

    def _varied(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the values of the knobs that vary, of Optuna's parameters."""
        return values_of(params, self._problem.domains)


class Unasked:
    """New configs, for where a sampler suggests nothing new.

    Args:
        problem: The space.
        is_asked: Returns True for a config's key that does not count any more.
        rng: Decides between configs that are as near as each other, and draws where the space is
            infinite or has more than :data:`~orchestrator.search.grid.MAX_ENUMERATED`
            combinations.

    Attributes:
        is_finite: True where the combinations are enumerated, and nothing is drawn.
    """

    def __init__(
        self, problem: SearchProblem, is_asked: Callable[[Key], bool], rng: random.Random
    ) -> None:
        self._problem, self._is_asked, self._rng = problem, is_asked, rng
        self.is_finite = every_combination(problem) is not None

    def nearest(self, near: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Return values that give a new and admissible config; None where none is left.

        Args:
            near: The suggestion that was not new. In a finite space the result is nearest to it:
                the sum over knobs of the distance on the knob's own scale, 0 to 1, or of 1 for
                values without an order that differ.
        """
        if not self.is_finite:
            draws = self._admissible(first_draws(self._problem, self._rng))
            return next((varied for key, varied in draws if not self._is_asked(key)), None)
        left = np.flatnonzero([not self._is_asked(key) for key, _ in self._combinations])
        if not len(left):
            return None
        domains = self._problem.domains.values()
        unordered = [isinstance(d, Choice) and not is_ordered(d) for d in domains]
        differences = np.abs(self._places[left] - self._place(near))
        distances = np.where(np.array(unordered), differences > 0, differences).sum(axis=1)
        nearest = [int(index) for index in left[distances <= distances.min() + _SAME]]
        return self._combinations[self._rng.choice(nearest)][1]

    @cached_property
    def _combinations(self) -> list[tuple[Key, Mapping[str, Any]]]:
        """All combinations of a finite space that the sweep's constraints allow."""
        return list(self._admissible(every_combination(self._problem) or iter(())))

    def _admissible(
        self, configs: Iterator[dict[str, Any]]
    ) -> Iterator[tuple[Key, Mapping[str, Any]]]:
        problem = self._problem
        for config in configs:
            canonical = problem.canonical(config)
            if problem.admissible(canonical):
                yield key_of(problem, canonical), {name: config[name] for name in problem.domains}

    @cached_property
    def _places(self) -> npt.NDArray[np.float64]:
        """Place of each combination, ``(N, D)``."""
        places = [self._place(varied) for _, varied in self._combinations]
        return np.array(places).reshape(len(places), len(self._problem.domains))

    def _place(self, varied: Mapping[str, Any]) -> npt.NDArray[np.float64]:
        return np.array([place(d, varied[name]) for name, d in self._problem.domains.items()])
