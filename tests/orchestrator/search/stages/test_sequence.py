"""What comes before and after a search: looks, repeats, and runs without company."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

import pytest

from orchestrator.search import Grid, Optuna, Random
from orchestrator.search.base import Proposal, SearchProblem, SearchSpec
from orchestrator.search.stages.confirm import Confirming
from orchestrator.search.stages.interference import NO_COMPANY, InterferenceCheck
from orchestrator.search.stages.interim_analyses import LEVEL, InterimAnalyses
from orchestrator.search.stages.interleaving import MayInterleave, never
from orchestrator.search.stages.judge import Interference, Judge, Results
from orchestrator.search.stages.repeats import Repeating
from orchestrator.search.stages.sequence import Searching, Stages
from orchestrator.space.domains import choice
from orchestrator.trial import Report, Stage, Trial, TrialResult, TrialState
from tests.orchestrator.search.playing import (
    Answer,
    Config,
    Game,
    SilentJudge,
    asked_in,
    journalled,
    key,
    play,
    problem,
    replay,
    smooth,
    trial_of,
)  # fmt: skip

REPORT = Report(step=1, epoch=1, samples=1, elapsed_s=1.0, metrics={})


def at(**changes: object) -> SearchProblem:
    space = Config(workers=choice(0, 3, 6), batch=choice(100, 1000))
    return problem(space=space, **changes)


# -- looks


@pytest.mark.parametrize(
    ("first", "last", "looks"),
    [(3, 12, (3, 5, 8, 12)), (3, 3, (3,)), (3, 4, (3, 4)), (1, 4, (1, 2, 3, 4)), (5, 2, (5,))],
)
def test_the_looks_grow_from_the_first_to_the_last(
    first: int, last: int, looks: tuple[int, ...]
) -> None:
    assert InterimAnalyses(first=first, last=last).at == looks


@pytest.mark.parametrize(("first", "last"), [(3, 12), (3, 3), (1, 4), (2, 100), (5, 2)])
def test_all_looks_together_are_wrong_in_five_of_a_hundred_cases(first: int, last: int) -> None:
    looks = InterimAnalyses(first=first, last=last)
    assert sum(map(looks.level, looks.at)) == pytest.approx(LEVEL)


def test_a_stage_that_was_broken_off_has_its_next_look_then() -> None:
    looks = InterimAnalyses(first=3, last=12)
    assert looks.level(4) == looks.level(5) < looks.level(9) == looks.level(12)
    assert looks.level(1) == looks.level(3)
    assert looks.level(40) == looks.level(12)


# -- repeats


class Naming(SilentJudge):
    """Names these configs until each has so many completed runs."""

    def __init__(self, *configs: Mapping[str, Any], enough: int) -> None:
        self._configs = configs
        self._enough = enough

    def to_repeat(self, results: Results, *, max_runs: int) -> Sequence[Mapping[str, Any]]:
        runs = Counter(
            key(trial.config) for trial, result in results if result.state == "completed"
        )
        return [config for config in self._configs if runs[key(config)] < self._enough]


SLOW = {"lr": 0.1, "workers": 0, "prefetch": 2, "batch": 100}
FAST = {"lr": 0.1, "workers": 6, "prefetch": 2, "batch": 1000}


def repeating(judge: Judge, max_runs: int = 9, **changes: object) -> Stages:
    here = at(**changes)
    search = Grid().start(here)
    return Stages(here, [Searching(search), Repeating(max_runs=max_runs, judge=judge)])


@pytest.mark.parametrize("at_once", [1, 3])
def test_what_the_judge_names_is_repeated_until_it_names_nothing(at_once: int) -> None:
    trials = play(repeating(Naming(SLOW, FAST, enough=3)), at_once=at_once).trials

    added = trials[6:]
    assert sorted((t.config["workers"], t.repeat) for t in added) == [
        (0, 1), (0, 2), (6, 1), (6, 2),
    ]  # fmt: skip
    assert {t.stage for t in added} == {Stage.TRAIN}
    assert len({t.id for t in trials}) == len(trials)


def test_repeats_go_on_from_those_of_the_search_and_end_at_the_bound() -> None:
    trials = play(repeating(Naming(FAST, enough=99), max_runs=4, repeats=2)).trials

    assert [(t.config["workers"], t.repeat) for t in trials[12:]] == [(6, 2), (6, 3)]


def test_what_never_completes_is_not_repeated_for_ever() -> None:
    def answer(trial: Trial) -> TrialResult:
        failed = TrialResult(state=TrialState.FAILED, reason="raised")
        return failed if trial.repeat else smooth(trial)

    trials = play(repeating(Naming(FAST, enough=99), max_runs=5), answer).trials
    assert len(trials) == 6 + 4


def test_the_order_of_repeats_varies() -> None:
    trials = play(repeating(Naming(SLOW, FAST, enough=20), max_runs=20)).trials[6:]
    firsts = [trial.config["workers"] for trial in trials[::2]]
    assert 3 <= firsts.count(0) <= 16


# -- company


class Found:
    """A difference as a judge states it."""

    text = "trials beside others are slower"

    def __init__(self, is_shown: bool) -> None:
        self.is_shown = is_shown


class Crowded(SilentJudge):
    """Says what company does, from how many results it was asked."""

    def __init__(self, found: Interference | None) -> None:
        self.asked: list[int] = []
        self._found = found

    def interference(self, results: Results) -> Interference | None:
        self.asked.append(len(results))
        return self._found


def checked(
    judge: Judge,
    at_once: int = 2,
    *,
    search: Any = None,  # noqa: ANN401
    may_interleave: MayInterleave = never,
    half_width: float | None = None,
) -> Stages:
    here = at(half_width=half_width)
    running = (search or Grid()).start(here)
    speed = "samples_per_s"
    return Stages(
        here,
        [
            Searching(running, num_trials=2 * at_once),
            InterferenceCheck(
                num_configs=2,
                at_once=at_once,
                speed=speed,
                judge=judge,
                may_interleave=may_interleave,
            ),
            Searching(running),
            Confirming(looks=InterimAnalyses(first=1, last=1), judge=judge),
        ],
    )


@pytest.mark.parametrize("found", [None, Found(False)])
def test_where_company_changes_nothing_the_search_goes_on_as_it_was(found: Found | None) -> None:
    judge = Crowded(found)
    trials = play(checked(judge), at_once=2).trials

    measured = [t for t in trials if not t.companion]
    stages = [trial.stage for trial in measured]
    assert stages == [Stage.TRAIN] * 4 + [Stage.PROBE] * 12 + [Stage.TRAIN] * 2
    assert judge.asked == [len(trials) - 2]
    assert not any(trial.isolated for trial in trials if trial.stage is Stage.TRAIN)


def probes_of(game: Game) -> list[Trial]:
    return [trial for trial in game.trials if trial.stage is Stage.PROBE]


@pytest.mark.parametrize("at_once", [2, 3, 4])
def test_each_round_has_every_config_both_ways_in_turn(at_once: int) -> None:
    firsts = set()
    for seed in range(8):
        here = at(seed=seed)
        running = Grid().start(here)
        checking = InterferenceCheck(
            num_configs=2, at_once=at_once, speed="samples_per_s", judge=Crowded(None)
        )
        phases = [Searching(running, num_trials=4), checking]
        probes = probes_of(play(Stages(here, phases), at_once=at_once))

        measured = [trial for trial in probes if not trial.companion]
        ways = [trial.isolated for trial in measured]
        turns = [way for way, _ in groupby(ways)]
        assert turns in ([True, False, True, False], [False, True, False, True])
        firsts.add(turns[0])
        configs = {key(trial.config) for trial in measured}
        assert len(configs) == 2
        assert key(here.baseline) in configs
        for number in (1, 2, 3):
            of_round = [t for t in measured if t.repeat == number]
            assert {(key(t.config), t.isolated) for t in of_round} == {
                (config, isolated) for config in configs for isolated in (True, False)
            }
    assert firsts == {True, False}


@pytest.mark.parametrize("at_once", [2, 3])
def test_who_is_measured_beside_others_has_them_from_its_start_to_its_end(at_once: int) -> None:
    search, out = checked(Crowded(None), at_once=at_once), list[Trial]()
    num_measured = num_stopped = 0
    while (asked := search.ask()) is not None:
        if isinstance(asked, Proposal):
            out.append(trial_of(asked))
            continue
        companions = [t for t in out if t.companion]
        measured = [t for t in out if t not in companions]
        if not measured:
            assert all(search.should_stop(t, REPORT) for t in companions)
            ended, state = companions[0], TrialState.STOPPED
            num_stopped += 1
        else:
            ended, state = measured[0], TrialState.COMPLETED
            assert not any(search.should_stop(t, REPORT) for t in out)
            if ended.stage is Stage.PROBE:
                num_measured += 1
                assert out.index(ended) == len(companions) == (at_once - 1) * (not ended.isolated)
        out.remove(ended)
        search.tell(ended, replace(smooth(ended), state=state))
    assert (num_measured, num_stopped) == (12, 3 * (at_once - 1))


def rounds_of(search: Stages, answer: Answer = smooth) -> list[list[Trial]]:
    """Plays a search, all that it asks for at once; what was out together, from the check on."""
    rounds = []
    while True:
        out = []
        while isinstance(asked := search.ask(), Proposal):
            out.append(trial_of(asked))
        for trial in out:
            search.tell(trial, answer(trial))
        rounds.append(out)
        if asked is None:
            return [out for out in rounds if any(trial.stage is Stage.PROBE for trial in out)]


@pytest.mark.parametrize("at_once", [2, 3])
def test_a_round_in_turns_has_both_ways_and_its_company_at_once(at_once: int) -> None:
    resident: list[int] = []

    def may(configs: Sequence[Mapping[str, Any]], _: Results) -> bool:
        resident.append(len(configs))
        return True

    rounds = rounds_of(checked(Crowded(None), at_once=at_once, may_interleave=may))

    assert resident == [4 + at_once - 1] * 3, "two configs both ways, and company"
    assert len(rounds) == 3
    for number, out in enumerate(rounds, start=1):
        assert all(trial.interleaved for trial in out)
        measured = [trial for trial in out if not trial.companion]
        assert [trial.repeat for trial in measured] == [number] * 4
        assert len({(key(trial.config), trial.isolated) for trial in measured}) == 4
        assert [trial.isolated for trial in out[4:]] == [False] * (at_once - 1)
        assert all(trial.companion for trial in out[4:])
    assert {out[0].isolated for out in rounds} == {True, False}, "either way comes first in some"


def test_where_a_round_in_turns_fails_the_next_ones_are_not_in_turns() -> None:
    def may(_: Sequence[Mapping[str, Any]], results: Results) -> bool:
        return all(r.state is TrialState.COMPLETED for t, r in results if t.interleaved)

    def answer(trial: Trial) -> TrialResult:
        if trial.interleaved and trial.repeat == 2:
            return TrialResult(state=TrialState.FAILED, reason="the port is in use")
        return smooth(trial)

    search = checked(Crowded(None), may_interleave=may)
    interleaved = Counter[int]()
    said = list[str]()
    for out in rounds_of(search, answer):
        said += search.notes()
        interleaved.update(
            trial.repeat for trial in out if trial.interleaved and not trial.companion
        )
    assert interleaved == {1: 4, 2: 4}, "and the third is not"
    assert ["beside others take no more turns" in note for note in said] == [True]


def test_company_has_budget_for_all_that_is_measured_beside_it() -> None:
    trials = probes_of(play(checked(Crowded(None), at_once=2, half_width=0.05), at_once=2))
    budgets = {t.companion: t.budget for t in trials}
    assert budgets[True].epochs >= 20 * budgets[False].epochs
    assert budgets[True].half_width is None, "it is not to end because its own speed is known"


def test_company_that_ends_is_followed_by_other_company() -> None:
    """Seed by seed trials end in any order, company among them."""
    probes = probes_of(play(checked(Crowded(None), at_once=2), at_once=2, order=3))
    assert sum(trial.companion for trial in probes) > 3


@pytest.mark.parametrize("interleaved", [True, False])
def test_where_company_fails_the_check_ends_and_says_so(interleaved: bool) -> None:
    may: MayInterleave = (lambda *_given: True) if interleaved else never
    search = checked(Crowded(None), at_once=3, may_interleave=may)

    def answer(trial: Trial) -> TrialResult:
        if trial.companion:
            return TrialResult(state=TrialState.FAILED, reason="raised")
        return smooth(trial)

    probes = probes_of(play(search, answer, at_once=3))
    assert sum(trial.companion for trial in probes) <= 2
    assert sum(not trial.companion for trial in probes) == 4, "one round of three"
    assert search.notes() == [NO_COMPANY]


def test_what_runs_alone_beside_the_baseline_is_not_chosen_for_its_speed() -> None:
    """What was fastest of many looks slower when it is run again, company or none."""
    places = []
    for seed in range(12):
        here = at(seed=seed)
        running = Grid().start(here)
        checking = InterferenceCheck(
            num_configs=2, at_once=2, speed="samples_per_s", judge=Crowded(None)
        )
        phases = [Searching(running, num_trials=6), checking]
        trials = play(Stages(here, phases), at_once=2).trials
        by_speed = sorted(trials[:6], key=lambda t: -smooth(t).metrics["samples_per_s"])
        (chosen,) = {key(t.config) for t in trials[6:]} - {key(here.baseline)}
        places.append([key(t.config) for t in by_speed].index(chosen))
    assert len(set(places)) >= 4


def test_what_has_no_speed_is_not_run_alone() -> None:
    def answer(trial: Trial) -> TrialResult:
        if trial.config["workers"] == 6:
            return TrialResult(state=TrialState.FAILED, reason="raised")
        return smooth(trial)

    trials = play(checked(Crowded(None)), answer).trials
    probed = {t.config["workers"] for t in trials if t.stage is Stage.PROBE}
    assert 6 not in probed


def test_where_company_costs_speed_all_run_alone_and_the_first_ones_again() -> None:
    search = checked(Crowded(Found(True)))
    told: list[str] = []
    out: list[Trial] = []

    def answer(trial: Trial) -> TrialResult:
        told.extend(search.notes())
        out.append(trial)
        return smooth(trial)

    trials = play(search, answer, at_once=2).trials

    isolated = [trial for trial in trials if trial.isolated and trial.stage is Stage.TRAIN]
    beside = [trial for trial in trials if not trial.isolated and trial.stage is Stage.TRAIN]
    assert len(beside) == 4
    assert {key(t.config) for t in isolated[:4]} == {key(t.config) for t in beside}
    assert len({key(t.config) for t in isolated}) == 6, "the whole grid is measured alone"
    assert told == ["trials beside others are slower: every trial runs alone from here on"]
    assert len({t.id for t in trials}) == len(trials)


def test_a_search_that_asks_again_for_nothing_is_told_of_its_own_trials_alone() -> None:
    for search in (Random(5), Optuna(5)):
        first = play(checked(Crowded(Found(True)), search=search), at_once=2)
        again = replay(checked(Crowded(Found(True)), search=search), first.calls)

        assert again == asked_in(first.calls)
        assert sum(isinstance(answer, Proposal) for answer in again) == len(first.trials)


@pytest.mark.parametrize("order", range(6))
@pytest.mark.parametrize("spec", [Grid(), Random(5), Optuna(5)], ids=["grid", "random", "optuna"])
def test_what_proves_infeasible_while_others_run_is_replayed_from_a_journal(
    spec: SearchSpec, order: int
) -> None:
    def answer(trial: Trial) -> TrialResult:
        if trial.config["workers"] == 6 and not trial.isolated:
            return TrialResult(
                state=TrialState.INFEASIBLE, reason="took more memory than its share"
            )
        return smooth(trial)

    calls = journalled(
        play(checked(Crowded(None), search=spec), answer, at_once=3, order=order).calls
    )
    assert replay(checked(Crowded(None), search=spec), calls) == asked_in(calls)


def test_trials_that_cannot_run_keep_nobody_company() -> None:
    def answer(trial: Trial) -> TrialResult:
        if trial.config["workers"] == 3:
            return TrialResult(state=TrialState.INFEASIBLE, reason="no")
        return smooth(trial)

    trials = play(checked(Crowded(None)), answer, at_once=2).trials
    before = trials[: [trial.stage for trial in trials].index(Stage.PROBE)]

    assert sum(trial.config["workers"] != 3 for trial in before) == 4
