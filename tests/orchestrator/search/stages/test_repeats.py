"""Repeats that the judge asks for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from orchestrator.search import Grid
from orchestrator.search.stages.judge import Judge, Results
from orchestrator.search.stages.repeats import MAX_CONTENDERS, Repeating
from orchestrator.search.stages.sequence import Searching, Stages
from orchestrator.trial import Stage, Trial, TrialResult, TrialState
from tests.orchestrator.search.playing import key, play, six_configs, smooth

SLOW = {"lr": 0.1, "workers": 0, "prefetch": 2, "batch": 100}
FAST = {"lr": 0.1, "workers": 6, "prefetch": 2, "batch": 1000}


class Naming(Judge):
    """Names these configs until each has so many completed runs."""

    def __init__(self, *configs: Mapping[str, Any], enough: int) -> None:
        self._configs = configs
        self._enough = enough

    def to_repeat(self, results: Results, *, max_runs: int) -> Sequence[Mapping[str, Any]]:
        runs = Counter(
            key(trial.config) for trial, result in results if result.state == "completed"
        )
        return [config for config in self._configs if runs[key(config)] < self._enough]


def repeating(judge: Judge, max_runs: int = 9, **changes: object) -> Stages:
    problem = six_configs(**changes)
    search = Grid().start(problem)
    return Stages(
        problem,
        [Searching(search), Repeating(runs=problem.repeats, max_runs=max_runs, judge=judge)],
    )


@pytest.mark.parametrize("capacity", [1, 3])
def test_configs_that_the_judge_names_are_repeated_until_it_names_none(capacity: int) -> None:
    trials = play(repeating(Naming(SLOW, FAST, enough=3)), capacity=capacity).trials

    added = trials[6:]
    assert sorted((t.config["workers"], t.repeat) for t in added) == [
        (0, 1), (0, 2), (6, 1), (6, 2),
    ]  # fmt: skip
    assert {t.stage for t in added} == {Stage.TRAIN}
    assert len({t.id for t in trials}) == len(trials)


def test_repeats_go_on_from_those_of_the_search_and_end_at_the_bound() -> None:
    trials = play(repeating(Naming(FAST, enough=99), max_runs=4, repeats=2)).trials

    assert [(t.config["workers"], t.repeat) for t in trials[12:]] == [(6, 2), (6, 3)]


def test_a_config_that_never_completes_is_not_repeated_for_ever() -> None:
    def answer(trial: Trial) -> TrialResult:
        failed = TrialResult(state=TrialState.FAILED, reason="raised")
        return failed if trial.repeat else smooth(trial)

    trials = play(repeating(Naming(FAST, enough=99), max_runs=5), answer).trials
    assert len(trials) == 6 + 4


class NamingAnother(Judge):
    """Names another config each time, as where each run changes which one is the best."""

    def to_repeat(self, results: Results, *, max_runs: int) -> Sequence[Mapping[str, Any]]:
        configs = {key(trial.config): trial.config for trial, _ in results}
        runs = Counter(key(trial.config) for trial, _ in results)
        return [config for each, config in configs.items() if runs[each] < max_runs][:1]


def test_there_are_no_more_repeats_than_the_plan_says() -> None:
    trials = play(repeating(NamingAnother(), max_runs=2)).trials
    assert len(trials) == 6 + 1 + MAX_CONTENDERS
