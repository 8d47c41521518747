"""The confirm stage: pairs, one trial at a time, the test split once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from orchestrator.domains import choice
from orchestrator.search import Grid
from orchestrator.search.base import WAIT, Proposal, SearchProblem
from orchestrator.search.confirm import Confirmed
from orchestrator.trial import Report, Stage, Trial, TrialResult, TrialState
from tests.orchestrator.search.playing import Answer, Config, play, problem, smooth, trial_of

BEST = {"lr": 0.1, "workers": 6, "prefetch": 2, "batch": 1000}


def at(**changes: object) -> SearchProblem:
    space = Config(workers=choice(0, 3, 6), batch=choice(100, 1000))
    return problem(space=space, **changes)


def confirming(
    selected: Mapping[str, Any] | None, repeats: int = 3, where: SearchProblem | None = None
) -> Confirmed:
    here = where or at()
    return Confirmed(Grid().start(here), here, repeats, lambda _results: selected)


def confirm_trials(search: Confirmed, answer: Answer = smooth, at_once: int = 1) -> list[Trial]:
    trials = play(search, answer, at_once=at_once).trials
    return [trial for trial in trials if trial.stage is Stage.CONFIRM]


def test_the_selected_config_and_the_baseline_run_in_pairs() -> None:
    trials = confirm_trials(confirming(BEST))

    assert [trial.repeat for trial in trials] == [0, 0, 1, 1, 2, 2]
    for pair in (trials[0:2], trials[2:4], trials[4:6]):
        assert sorted(trial.config["workers"] for trial in pair) == [0, 6]


def test_the_order_within_pairs_varies() -> None:
    trials = confirm_trials(confirming(BEST, repeats=20))
    first = [trial.config["workers"] for trial in trials[::2]]

    assert 4 <= first.count(0) <= 16


def test_confirm_trials_wait_for_the_search_and_for_each_other() -> None:
    search = confirming(BEST)
    out = []
    while isinstance(asked := search.ask(), Proposal):
        out.append(trial_of(asked))
    assert asked is WAIT
    for position, trial in enumerate(out):
        assert search.ask() is WAIT, f"{len(out) - position} trials are still out"
        search.tell(trial, smooth(trial))

    first = search.ask()
    assert isinstance(first, Proposal)
    assert first.stage is Stage.CONFIRM
    assert search.ask() is WAIT
    search.tell(trial_of(first), smooth(trial_of(first)))
    assert isinstance(search.ask(), Proposal)


def test_the_config_is_selected_once_from_all_trials() -> None:
    seen: list[list[tuple[Trial, TrialResult]]] = []

    def select(results: list[tuple[Trial, TrialResult]]) -> Mapping[str, Any]:
        seen.append(results)
        return max(results, key=lambda pair: pair[1].metrics["samples_per_s"])[0].config

    here = at(repeats=2)
    trials = confirm_trials(Confirmed(Grid().start(here), here, 2, select), at_once=3)

    assert [len(results) for results in seen] == [12]
    assert {trial.config["workers"] for trial in trials} == {0, 6}
    assert all(trial.budget == here.budget for trial in trials)


def test_the_test_split_is_looked_at_once_for_what_was_selected() -> None:
    trials = confirm_trials(confirming(BEST))
    looked = [trial for trial in trials if trial.evaluate_test]

    assert [(dict(trial.config), trial.repeat) for trial in looked] == [(BEST, 0)]


def test_where_the_first_look_failed_the_next_run_looks() -> None:
    def answer(trial: Trial) -> TrialResult:
        if trial.evaluate_test and trial.repeat == 0:
            return TrialResult(state=TrialState.FAILED, reason="raised")
        return smooth(trial)

    trials = confirm_trials(confirming(BEST), answer=answer)

    assert [trial.repeat for trial in trials if trial.evaluate_test] == [0, 1]


def test_a_selected_baseline_runs_alone() -> None:
    # Said in another way: without workers, prefetch has no effect.
    same = {"lr": 0.1, "workers": 0, "prefetch": 4, "batch": 100}
    trials = confirm_trials(confirming(same))

    assert [trial.repeat for trial in trials] == [0, 1, 2]
    assert [trial.evaluate_test for trial in trials] == [True, False, False]
    assert trials[0].config == at().baseline


@pytest.mark.parametrize(("selected", "repeats"), [(None, 3), (BEST, 0)])
def test_without_a_selected_config_or_repeats_there_is_no_such_stage(
    selected: Mapping[str, Any] | None, repeats: int
) -> None:
    assert confirm_trials(confirming(selected, repeats)) == []


def test_the_search_hears_of_its_own_trials_alone() -> None:
    class Listening:
        """Asks for one config and stops every trial."""

        def __init__(self) -> None:
            self.told: list[Stage] = []
            self.stopped: list[Stage] = []
            self._left = [Proposal(config=BEST, budget=at().budget)]

        def ask(self) -> Proposal | None:
            return self._left.pop() if self._left else None

        def tell(self, trial: Trial, result: TrialResult) -> None:
            self.told.append(trial.stage)

        def should_stop(self, trial: Trial, report: Report) -> bool:
            self.stopped.append(trial.stage)
            return True

    inner = Listening()
    search = Confirmed(inner, at(), 1, lambda _results: BEST)
    report = Report(step=1, epoch=1, samples=1, elapsed_s=1.0, metrics={})
    verdicts = [(t.stage, search.should_stop(t, report)) for t in play(search).trials]

    assert inner.told == inner.stopped == [Stage.TRAIN]
    assert verdicts == [(Stage.TRAIN, True), (Stage.CONFIRM, False), (Stage.CONFIRM, False)]
