"""The confirm stage: pairs, one trial at a time, the test split once."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from orchestrator.kernel.search import WAIT, Proposal, Search
from orchestrator.search import Grid
from orchestrator.search.stages.confirm import Confirming
from orchestrator.search.stages.judge import Judge, Results
from orchestrator.search.stages.sequence import Searching, Stages
from orchestrator.sweep.rigor import Rigor
from orchestrator.trial import Stage, Trial, TrialResult, TrialState
from tests.orchestrator.search.playing import (
    Answer,
    asked_in,
    play,
    replay,
    six_configs,
    smooth,
    trial_of,
)

BEST = {"lr": 0.1, "workers": 6, "prefetch": 2, "batch": 1000}


class Deciding(Judge):
    """Names finalists, and decides once there are so many runs for the best of them."""

    def __init__(
        self, finalists: Sequence[Mapping[str, Any]], runs: int = 0, best: int = 0
    ) -> None:
        self.seen: list[int] = []
        self._finalists = finalists
        self._runs = runs
        self._best = best

    def finalists(self, results: Results, *, most: int) -> Sequence[Mapping[str, Any]]:
        self.seen.append(len(results))
        return self._finalists

    def is_decided(self, results: Results) -> bool:
        confirmed = [trial for trial, _ in results if trial.stage is Stage.CONFIRM]
        return len(confirmed) >= self._runs

    def recommended(self, results: Results) -> Mapping[str, Any] | None:
        return self._finalists[self._best] if self._finalists else None


def staged(inner: Search, judge: Judge, repeats: int = 3, last: int = 0) -> Stages:
    analyses = Rigor(confirm=repeats, max_confirm=last).analyses
    return Stages(six_configs(), [Searching(inner), Confirming(analyses=analyses, judge=judge)])


def confirming(
    *selected: Mapping[str, Any], repeats: int = 3, last: int = 0, runs: int = 0
) -> Stages:
    return staged(Grid().start(six_configs()), Deciding(selected, runs), repeats, last)


def all_confirm_trials(search: Stages, answer: Answer = smooth, capacity: int = 1) -> list[Trial]:
    trials = play(search, answer, capacity=capacity).trials
    return [trial for trial in trials if trial.stage is Stage.CONFIRM]


def confirm_trials(search: Stages, answer: Answer = smooth, capacity: int = 1) -> list[Trial]:
    """Return the compared trials: all but the last one, which evaluates the test split."""
    trials = all_confirm_trials(search, answer, capacity)
    assert [trial.evaluate_test for trial in trials] == [False] * (len(trials) - 1) + [True]
    return trials[:-1]


def test_the_selected_config_and_the_baseline_run_in_pairs() -> None:
    trials = confirm_trials(confirming(BEST))

    assert [trial.repeat for trial in trials] == [0, 0, 1, 1, 2, 2]
    for pair in (trials[0:2], trials[2:4], trials[4:6]):
        assert sorted(trial.config["workers"] for trial in pair) == [0, 6]


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


def interleaved(*selected: Mapping[str, Any], may: bool = True) -> tuple[Stages, list[list[int]]]:
    """A search that may interleave confirm runs; and the workers of the configs it asked about."""
    asked: list[list[int]] = []

    def may_interleave(configs: Sequence[Mapping[str, Any]], results: Results) -> bool:
        asked.append([config["workers"] for config in configs])
        return may

    stage = Confirming(analyses=[3], judge=Deciding(selected), may_interleave=may_interleave)
    return Stages(six_configs(), [Searching(Grid().start(six_configs())), stage]), asked


def rounds_out_together(search: Stages) -> list[list[Trial]]:
    """The confirm trials that are out at the same time, one after the other."""
    found: list[list[Trial]] = []
    while (asked := search.ask()) is not None:
        out = []
        while isinstance(asked, Proposal):
            out.append(trial_of(asked))
            asked = search.ask()
        assert out, "it waits for nothing"
        if out[0].stage is Stage.CONFIRM:
            found.append(out)
        for trial in out:
            search.tell(trial, smooth(trial))
    return found


def test_the_runs_of_a_round_are_asked_for_together_where_they_may_be_interleaved() -> None:
    search, asked = interleaved(BEST, CONTENDER)
    *rounds, test_run = rounds_out_together(search)

    assert [sorted(trial.config["workers"] for trial in out) for out in rounds] == [[0, 3, 6]] * 3
    assert [{trial.repeat for trial in out} for out in rounds] == [{0}, {1}, {2}]
    assert all(trial.interleaved and trial.isolated for out in rounds for trial in out)
    assert [sorted(workers) for workers in asked] == [[0, 3, 6]] * 3
    assert [(trial.evaluate_test, trial.interleaved) for trial in test_run] == [(True, False)]


def test_on_several_nodes_the_rounds_up_to_the_next_analysis_are_side_by_side() -> None:
    stage = Confirming(analyses=[3, 5, 9], judge=Deciding([BEST], 99), side_by_side=True)
    search = Stages(six_configs(), [Searching(Grid().start(six_configs())), stage])
    out = rounds_out_together(search)
    rounds = [sorted({trial.repeat for trial in each}) for each in out]
    assert rounds == [[0, 1, 2], [3, 4], [5, 6, 7, 8], [9]]
    assert [len(each) for each in out] == [6, 4, 8, 1], "the test run is last"


def test_a_single_config_is_not_interleaved() -> None:
    search, asked = interleaved(six_configs().baseline)
    assert not any(trial.interleaved for out in rounds_out_together(search) for trial in out)
    assert asked == []


def test_the_finalists_are_named_once_from_all_trials() -> None:
    judge = Deciding([BEST])
    trials = confirm_trials(staged(Grid().start(six_configs()), judge, 2), capacity=3)

    assert judge.seen == [6]
    assert {trial.config["workers"] for trial in trials} == {0, 6}
    assert all(trial.budget == six_configs().budget for trial in trials)
    assert all(trial.isolated for trial in trials)


def lost(
    *workers: int,
    stage: Stage = Stage.CONFIRM,
    from_repeat: int = 0,
    state: TrialState = TrialState.INFEASIBLE,
) -> Answer:
    """Configs with so many workers prove infeasible, from some run of a stage on."""

    def answer(trial: Trial) -> TrialResult:
        is_lost = trial.config["workers"] in workers and trial.repeat >= from_repeat
        if trial.stage is stage and is_lost:
            return TrialResult(state=state, reason="lost")
        return smooth(trial)

    return answer


def workers_of_rounds(search: Stages, answer: Answer) -> list[list[int]]:
    """Workers of the configs that are compared, by round."""
    rounds: dict[int, list[int]] = {}
    for trial in all_confirm_trials(search, answer):
        if not trial.evaluate_test:
            rounds.setdefault(trial.repeat, []).append(trial.config["workers"])
    return [sorted(workers) for workers in rounds.values()]


CONTENDER = {**BEST, "workers": 3}


ALL = [[0, 3, 6]]
FAILED = TrialState.FAILED


@pytest.mark.parametrize(
    ("selected", "answer", "rounds"),
    [
        ([BEST, CONTENDER], lost(6, from_repeat=1), ALL * 2 + [[0, 3]] * 10),
        ([BEST], lost(6), [[0, 6]]),
        ([BEST], lost(0), [[0, 6], [6], [6]]),
        ([BEST], lost(0, stage=Stage.TRAIN), [[6]] * 3),
        ([BEST, CONTENDER], lost(0, state=FAILED), ALL * 3),
        ([BEST, CONTENDER], lost(3, state=FAILED), ALL * 3 + [[0, 6]] * 9),
        ([BEST, CONTENDER], lost(0, from_repeat=1, state=FAILED), ALL * 12),
    ],
)
def test_a_config_that_is_infeasible_or_never_completes_is_not_run_again(
    selected: list[Mapping[str, Any]], answer: Answer, rounds: list[list[int]]
) -> None:
    assert workers_of_rounds(confirming(*selected, last=12, runs=99), answer) == rounds


@pytest.mark.parametrize(("runs", "rounds"), [(0, 3), (7, 5), (10, 5), (11, 9), (99, 12)])
def test_the_stage_continues_until_an_analysis_decides(runs: int, rounds: int) -> None:
    trials = confirm_trials(confirming(BEST, repeats=3, last=12, runs=runs))

    assert len(trials) == 2 * rounds


@pytest.mark.parametrize(
    ("disturbed", "rounds"), [(range(3), 3), ((2, 3, 4), 5), ((0, 1, 3, 4), 12)]
)
def test_the_stage_ends_after_three_rounds_in_a_row_without_a_clean_pair(
    disturbed: Sequence[int], rounds: int
) -> None:
    def answer(trial: Trial) -> TrialResult:
        is_dirty = trial.stage is Stage.CONFIRM and trial.repeat in disturbed
        is_dirty &= trial.config["workers"] == 0
        return replace(smooth(trial), tags={"contaminated": "30 %" if is_dirty else "false"})

    search = confirming(BEST, CONTENDER, last=12, runs=99)
    assert confirm_trials(search, answer)[-1].repeat == rounds - 1
    assert bool(search.notes()) is (rounds < 12)


@pytest.mark.parametrize("best", [0, 1, 2])
def test_the_test_split_is_evaluated_once_for_the_config_recommended_in_the_end(best: int) -> None:
    named = [BEST, {**BEST, "workers": 3}, dict(six_configs().baseline)]
    search = staged(Grid().start(six_configs()), Deciding(named, best=best))
    trials = all_confirm_trials(search)

    (test_run,) = (trial for trial in trials if trial.evaluate_test)
    assert test_run is trials[-1]
    assert (dict(test_run.config), test_run.repeat) == (named[best], 3)
    assert test_run.isolated
    assert len(trials) == 3 * 3 + 1


def up_to_the_test_run(search: Stages) -> Trial:
    """Play all trials before the test run; return it."""
    while isinstance(asked := search.ask(), Proposal) and not asked.evaluate_test:
        search.tell(trial_of(asked), smooth(trial_of(asked)))
    assert isinstance(asked, Proposal)
    return trial_of(asked)


def test_a_test_run_that_a_budget_left_unrun_is_waited_for_by_a_new_process() -> None:
    search = confirming(BEST)
    test_run = up_to_the_test_run(search)
    search.skip(test_run)
    assert search.ask() is None

    # Up to here only a journal's questions are repeated.
    search = confirming(BEST)
    assert up_to_the_test_run(search) == test_run
    search.skip(test_run)
    search.begin()
    assert search.ask() is WAIT
    search.tell(test_run, smooth(test_run))
    assert search.ask() is None, "the test split is evaluated once"


def test_the_test_run_is_resumed_where_it_was() -> None:
    first = play(confirming(BEST))
    assert replay(confirming(BEST), first.calls) == asked_in(first.calls)


# -- a budget, and what comes after it


def limited(search: Stages, *answers: bool) -> list[tuple[int, bool]]:
    """Answer the question for room; return how many runs it was asked for, and whether kept."""
    asked: list[tuple[int, bool]] = []

    def may_start(configs: Sequence[Mapping[str, Any]], *, kept_back: bool) -> bool:
        asked.append((len(configs), kept_back))
        return answers[len(asked) - 1]

    search.limit(may_start)
    return asked


def test_room_is_asked_for_before_the_first_analysis_and_before_each_later_round() -> None:
    search = confirming(BEST, repeats=2, last=13, runs=99)
    asked = limited(search, True, True, False)
    trials = confirm_trials(search)
    assert [trial.repeat for trial in trials] == [0, 0, 1, 1, 2, 2]
    assert asked == [(2 * 2 + 1, True), (2 + 1, False), (2 + 1, False)], "the test run with them"


def test_without_room_for_the_first_analysis_nothing_is_confirmed_nor_tested() -> None:
    search = confirming(BEST)
    asked = limited(search, False)
    assert all_confirm_trials(search) == []
    assert asked == [(3 * 2 + 1, True)]


class Changing(Deciding):
    """Selects another finalist once ``name`` has set it."""

    def name(self, config: Mapping[str, Any]) -> None:
        self._finalists = [config]


def test_other_finalists_are_confirmed_in_separate_rounds() -> None:
    judge = Changing([BEST])
    search = staged(Grid().start(six_configs()), judge, repeats=2)
    assert len(all_confirm_trials(search)) == 5

    search.go_on(None)
    assert all_confirm_trials(search) == [], "the same ones are confirmed, and tested"

    judge.name({**BEST, "workers": 3})
    search.go_on(None)
    *rounds, test_run = all_confirm_trials(search)
    assert sorted((trial.repeat, trial.config["workers"]) for trial in rounds) == [
        (3, 0), (3, 3), (4, 0), (4, 3),
    ]  # fmt: skip
    assert (test_run.evaluate_test, test_run.config["workers"]) == (True, 3)


def test_the_same_finalists_continue_where_they_were() -> None:
    search = confirming(BEST, repeats=2, last=3, runs=99)
    limited(search, True, False, True)
    assert len(confirm_trials(search)) == 4
    search.go_on(None)
    rest = all_confirm_trials(search)
    assert [trial.repeat for trial in rest] == [3, 3], "the test run was repeat 2, and is not again"
