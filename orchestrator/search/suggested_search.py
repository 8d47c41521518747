"""The Optuna study of an objective that suggests its values while it runs."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final

import optuna
from optuna.distributions import BaseDistribution, json_to_distribution
from optuna.samplers import BaseSampler, RandomSampler, TPESampler
from optuna.trial import TrialState as OptunaState
from optuna.trial import create_trial

from orchestrator.kernel.problem import Key, SearchProblem, key_of
from orchestrator.search.optuna_search import MAX_ATTEMPTS, OptunaSearch, Suggestion
from orchestrator.search.optuna_study import CAN_RUN
from orchestrator.search.suggested import SPACE, VALUES
from orchestrator.space.knob import MOST_OF_A_TEXT
from orchestrator.trial import Report, Stage, Trial, TrialResult, TrialState

_RANDOM_ATTEMPTS: Final = 500
"""Random draws in a row that were trained before, after which the space counts as used up."""


class SuggestedSearch(OptunaSearch):
    """A search whose knobs become known with the trials.

    A trial gets a value for each name that an earlier one has suggested, and that may be suggested
    with the others; it draws the rest at random, as Optuna's samplers do for a name without
    results. The study receives what the objective has suggested, and only this.

    Args:
        problem: A problem of the knob :data:`~orchestrator.search.suggested.VALUES`.
        trials: Distinct configs to ask for at most.
        sampler: The sampler.
    """

    def __init__(self, problem: SearchProblem, *, trials: int, sampler: BaseSampler) -> None:
        self._known: dict[str, BaseDistribution] = {}
        self._trained: defaultdict[tuple[str, ...], set[Key]] = defaultdict(set)
        self._together: set[tuple[str, Any, str]] = set()  # name, value and a name suggested too
        self._curves: defaultdict[Key, dict[int, float]] = defaultdict(dict)
        self._noted: list[str] = []
        self._ended: Key = ()
        self._random = RandomSampler(seed=problem.seed)
        goals = [each.metric for each in problem.objectives if each.bound is None]
        self._goal = goals[0] if len(goals) == 1 else ""
        super().__init__(problem, trials=trials, sampler=sampler)

    # -- results

    def should_stop(self, trial: Trial, report: Report) -> bool:
        """Return True where Optuna's median pruner does: of one objective, by number of report."""
        if trial.stage is not Stage.TRAIN or trial.repeat or self._goal not in report.metrics:
            return False
        curve = self._curves[key_of(self._problem, trial.config)]
        curve[report.epoch] = report.metrics[self._goal]
        running = create_trial(state=OptunaState.RUNNING, intermediate_values=dict(curve))
        return self.study.pruner.prune(self.study, running)

    def tell(self, trial: Trial, result: TrialResult) -> None:
        """Learn names from the trial, and tell the study once all runs of the config have ended."""
        self._ended = key_of(self._problem, trial.config)
        super().tell(trial, result)
        is_baseline = trial.config == self._problem.baseline and not trial.repeat
        if is_baseline and SPACE in result.tags:
            values, _ = _found(result)
            self._noted.append(f"the baseline, {trial.config[VALUES]}, is {json.dumps(values)}")

    def notes(self) -> list[str]:
        """Return the notes for the user that were not returned yet."""
        noted, self._noted = self._noted, []
        return noted

    def _enqueued(self, varied: Mapping[str, Any]) -> None:
        """Enqueue nothing: what the objective will suggest is not known yet."""

    def _conclude(self, trial: optuna.Trial | None, results: Sequence[TrialResult]) -> None:
        found = next((each for each in results if SPACE in each.tags), None)
        if found is None:  # it suggested nothing
            return
        values, space = _found(found)
        self._trained[tuple(values)].add(tuple(values.values()))
        self._together |= {(*pair, other) for pair in values.items() for other in values}
        try:
            trial = self._trial_of(values, space)
        except ValueError as error:  # choices of a name that differ from trial to trial
            self._noted.append(f"Optuna cannot use a trial of {values}: {error}")
            return
        self._known |= space
        for step, figure in self._curves.pop(self._ended, {}).items():
            trial.report(figure, step)
        is_stopped = bool(self._goal) and results[0].state is TrialState.STOPPED
        if is_stopped and isinstance(self.study.sampler, TPESampler):  # others ignore pruned ones
            trial.set_constraint(CAN_RUN, -1.0)
            self.study.tell(trial, state=OptunaState.PRUNED)
        else:
            self._by_config.conclude(trial, results)

    # -- suggestions

    def _suggested(self) -> Suggestion | None:
        """Return a config that no trial has trained, or None where none is left."""
        for attempt in range(MAX_ATTEMPTS + _RANDOM_ATTEMPTS) if self._known else ():
            values = self._active(self._sampled() if attempt < MAX_ATTEMPTS else self._drawn())
            config = self._config(self._varied(values))
            if len(config[VALUES]) > MOST_OF_A_TEXT:
                self._noted.append(f"more than {MOST_OF_A_TEXT:,} characters: drawn at random")
                break
            is_trained = any(  # its trial would suggest the same
                values.keys() >= set(names) and tuple(values[name] for name in names) in trained
                for names, trained in self._trained.items()
            )
            if is_trained or not self._is_new(config):
                continue
            if self._problem.admissible(config):
                return config, None
            self._excluded.add(key_of(self._problem, config))
        else:
            if self._known:
                return None
        draw = self._unasked.nearest({})
        return None if draw is None else (self._config(draw), None)

    def _varied(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        return {VALUES: json.dumps(params)}

    def _sampled(self) -> dict[str, Any]:
        """Return a value of the sampler for each known name."""
        trial = self.study.ask(self._known)
        self.study.tell(trial, state=OptunaState.FAIL)  # its own follows, without idle names
        return trial.params

    def _drawn(self) -> dict[str, Any]:
        draw, nothing = self._random.sample_independent, create_trial(state=OptunaState.RUNNING)
        return {name: draw(self.study, nothing, name, of) for name, of in self._known.items()}

    def _active(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values that the objective suggests together, as far as trials show.

        A name is left out where trials with a value of an earlier name have never suggested it.
        A name left out by mistake is drawn at random in the trial, which shows that it belongs.
        """
        active: dict[str, Any] = {}
        for name, value in values.items():
            earlier = active.items()
            if all(
                (*e, name) in self._together or (*e, e[0]) not in self._together for e in earlier
            ):
                active[name] = value
        return active


def _found(result: TrialResult) -> tuple[dict[str, Any], dict[str, BaseDistribution]]:
    """Return what an objective has suggested: values and distributions by name."""
    pairs = json.loads(result.tags[SPACE])
    values = {name: value for name, (value, _) in pairs.items()}
    return values, {name: json_to_distribution(text) for name, (_, text) in pairs.items()}
