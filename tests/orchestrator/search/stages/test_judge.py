"""Repeats that the judge names; interim analyses; a confirm stage in proportion to its search."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from orchestrator.kernel.search import ComparedRun
from orchestrator.search import Grid
from orchestrator.search.stages.confirm import Confirming
from orchestrator.search.stages.judge import MAX_CONTENDERS, Judge, Results
from orchestrator.search.stages.repeats import Repeating
from orchestrator.search.stages.sequence import Searching, Stages
from orchestrator.sweep.rigor import Rigor
from orchestrator.trial import Stage, Trial, TrialResult, TrialState
from tests.orchestrator.search.playing import key, play, six_configs, smooth
from tests.orchestrator.search.stages.test_confirm import BEST, CONTENDER, Deciding


def confirmed(*, share: float = 9.0, runs: int = 0, last: int = 3) -> tuple[list[Trial], list[str]]:
    """Return the confirm trials and the notes; a short run takes a tenth of a whole one."""
    here = six_configs()
    confirming = Confirming(
        analyses=Rigor(confirm=3, max_confirm=last).analyses,
        judge=Deciding([BEST, CONTENDER], runs),
        run=ComparedRun(replace(here.budget, steps=384, evaluated=False)),
        allowance=share,
    )
    search = Stages(here, [Searching(Grid().start(here)), confirming])

    def answer(trial: Trial) -> TrialResult:
        is_short = not trial.budget.evaluated
        return replace(smooth(trial), wall_s=0.1 if is_short else 1.0)

    trials = play(search, answer).trials
    return [trial for trial in trials if trial.stage is Stage.CONFIRM], search.notes()


def test_short_runs_are_compared_and_a_whole_test_run_follows() -> None:
    (*compared, test_run), notes = confirmed()
    assert [t.budget.steps for t in compared] == [384] * 9
    assert not any(t.budget.evaluated for t in compared)
    assert (dict(test_run.config), test_run.evaluate_test) == (BEST, True)
    assert test_run.budget == six_configs().budget
    assert test_run.repeat > compared[-1].repeat
    assert notes == []


def test_rounds_beyond_the_first_analysis_end_with_the_allowance() -> None:
    # Six trainings came before: 2.4 s are allowed. A round takes 0.3, and 1.0 is for the test run.
    trials, notes = confirmed(share=0.4, runs=99, last=13)
    compared = [trial for trial in trials if not trial.budget.evaluated]
    assert len(compared) == 3 * 4
    assert any("ended after 4 rounds, undecided" in note for note in notes)


# -- repeats

SLOW = {**BEST, "workers": 0, "batch": 100}
FAST = BEST


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


def test_repeats_continue_those_of_the_search_and_end_at_the_bound() -> None:
    trials = play(repeating(Naming(FAST, enough=99), max_runs=4, repeats=2)).trials

    assert [(t.config["workers"], t.repeat) for t in trials[12:]] == [(6, 2), (6, 3)]


def test_a_config_that_never_completes_is_not_repeated_for_ever() -> None:
    def answer(trial: Trial) -> TrialResult:
        failed = TrialResult(state=TrialState.FAILED, reason="raised")
        return failed if trial.repeat else smooth(trial)

    trials = play(repeating(Naming(FAST, enough=99), max_runs=5), answer).trials
    assert len(trials) == 6 + 4


class NamingAnother(Judge):
    """Names another config each time, as if each run changed the best one."""

    def to_repeat(self, results: Results, *, max_runs: int) -> Sequence[Mapping[str, Any]]:
        configs = {key(trial.config): trial.config for trial, _ in results}
        runs = Counter(key(trial.config) for trial, _ in results)
        return [config for each, config in configs.items() if runs[each] < max_runs][:1]


def test_there_are_no_more_repeats_than_in_the_plan() -> None:
    trials = play(repeating(NamingAnother(), max_runs=2)).trials
    assert len(trials) == 6 + 1 + MAX_CONTENDERS


# -- interim analyses


@pytest.mark.parametrize(
    ("first", "last", "at"),
    [(3, 9, (3, 5, 9)), (3, 3, (3,)), (3, 4, (3, 4)), (1, 4, (1, 2, 4)), (5, 2, (5,))],
)
def test_the_analyses_grow_from_first_to_last(first: int, last: int, at: tuple[int, ...]) -> None:
    assert Rigor(confirm=first, max_confirm=last).analyses == at
