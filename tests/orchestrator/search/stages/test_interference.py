"""The interference check: isolated and co-located runs in alternation, and what follows."""

from itertools import groupby

import pytest

from orchestrator.kernel.search import Proposal, SearchSpec
from orchestrator.search import Grid, Optuna, Random
from orchestrator.search.stages.confirm import Confirming
from orchestrator.search.stages.interference import BACKGROUND_FAILED, ROUNDS, InterferenceCheck
from orchestrator.search.stages.judge import Judge, Results
from orchestrator.search.stages.sequence import Searching, Stages
from orchestrator.trial import Report, Stage, Trial, TrialResult, TrialState
from tests.orchestrator.search.playing import (
    asked_in,
    key,
    play,
    replay,
    six_configs,
    smooth,
    trial_of,
)

REPORT = Report(step=1, epoch=1, samples=1, elapsed_s=1.0, metrics={})
FAILED = TrialResult(state=TrialState.FAILED, reason="raised")


SLOWER = "co-located trials are slower"


class Seeing(Judge):
    """States an effect, and remembers after how many results it was asked for it."""

    def __init__(self, effect: str = "") -> None:
        self.asked_after: list[int] = []
        self._effect = effect

    def interference(self, results: Results) -> str:
        self.asked_after.append(len(results))
        return self._effect


def checked(
    judge: Judge, *, capacity: int = 2, spec: SearchSpec | None = None, **changes: object
) -> Stages:
    """Return a search of six configs with the check after its first four trials."""
    problem = six_configs(**changes)
    search = (spec or Grid()).start(problem)
    check = InterferenceCheck(
        num_configs=2, capacity=capacity, num_before=4, speed="samples_per_s", judge=judge
    )
    confirming = Confirming(analyses=[1], judge=judge)
    return Stages(problem, [Searching(search, num_trials=4), check, Searching(search), confirming])


def is_background(trial: Trial) -> bool:
    return trial.stage is Stage.PROBE and trial.repeat > ROUNDS


def is_compared(trial: Trial) -> bool:
    return trial.stage is Stage.PROBE and trial.repeat <= ROUNDS


def compared(search: Stages, capacity: int = 2) -> list[Trial]:
    """Return the isolated and the co-located runs of a played search, in order."""
    return [trial for trial in play(search, capacity=capacity).trials if is_compared(trial)]


@pytest.mark.parametrize("capacity", [2, 3, 4])
def test_each_round_has_every_config_isolated_and_co_located(capacity: int) -> None:
    search = checked(Seeing(), capacity=capacity)
    runs = compared(search, capacity)

    configs = {key(trial.config) for trial in runs}
    assert len(configs) == 2
    assert key(six_configs().baseline) in configs
    assert sorted((key(t.config), t.isolated, t.repeat) for t in runs) == [
        (config, isolated, number)
        for config in sorted(configs)
        for isolated in (False, True)
        for number in range(1, ROUNDS + 1)
    ]


def test_the_way_that_comes_first_alternates_and_is_drawn_by_the_seed() -> None:
    firsts = set()
    for seed in range(8):
        ways = [trial.isolated for trial in compared(checked(Seeing(), seed=seed))]
        blocks = [isolated for isolated, _ in groupby(ways)]
        assert blocks in ([True, False, True, False], [False, True, False, True])
        firsts.add(blocks[0])
    assert firsts == {True, False}


@pytest.mark.parametrize("capacity", [2, 3])
def test_a_co_located_run_has_background_trials_from_start_to_end(capacity: int) -> None:
    """Trials end in order of age, so background trials end before the run that they disturb."""
    search, out = checked(Seeing(), capacity=capacity), list[Trial]()
    num_compared = 0
    while (asked := search.ask()) is not None:
        if isinstance(asked, Proposal):
            out.append(trial_of(asked))
            if is_compared(out[-1]):
                num_compared += 1
                assert len(out) == (1 if out[-1].isolated else capacity)
            continue
        for run in filter(is_compared, out):
            assert len(out) == (1 if run.isolated else capacity)
        ended = out.pop(0)
        search.tell(ended, smooth(ended))
    assert num_compared == 2 * 2 * ROUNDS


@pytest.mark.parametrize("capacity", [2, 3])
def test_background_trials_stop_once_no_co_located_run_is_next(capacity: int) -> None:
    search, out = checked(Seeing(), capacity=capacity), list[Trial]()
    ways, num_stopped = list[bool](), 0
    while (asked := search.ask()) is not None:
        if isinstance(asked, Proposal):
            out.append(trial_of(asked))
            ways += [asked.isolated] if is_compared(out[-1]) else []
            continue
        if all(map(is_background, out)):
            assert all(search.should_stop(trial, REPORT) for trial in out)
            num_stopped += 1
        else:
            assert not any(search.should_stop(trial, REPORT) for trial in out)
        ended = next((trial for trial in out if not is_background(trial)), out[0])
        out.remove(ended)
        search.tell(ended, smooth(ended))
    num_blocks = [isolated for isolated, _ in groupby(ways)].count(False)
    assert num_stopped == num_blocks * (capacity - 1)


def test_background_trials_are_ordinary_trials_of_the_checked_configs() -> None:
    trials = play(checked(Seeing(), capacity=3), capacity=3).trials
    background = list(filter(is_background, trials))
    configs = {key(trial.config) for trial in filter(is_compared, trials)}

    assert {key(trial.config) for trial in background} == configs
    assert {trial.budget for trial in background} == {six_configs().budget}
    assert not any(trial.isolated for trial in background)
    assert len({trial.id for trial in trials}) == len(trials)


def test_the_check_ends_with_a_note_if_a_background_trial_fails() -> None:
    def answer(trial: Trial) -> TrialResult:
        return FAILED if is_background(trial) else smooth(trial)

    search = checked(Seeing(), capacity=3)
    trials = play(search, answer, capacity=3).trials

    assert sum(map(is_background, trials)) <= 2
    assert sum(map(is_compared, trials)) < 12
    assert search.notes() == [BACKGROUND_FAILED]


def test_without_an_effect_the_search_continues_as_it_was() -> None:
    judge = Seeing()
    trials = play(checked(judge), capacity=2).trials

    trained = [trial for trial in trials if trial.stage is Stage.TRAIN]
    assert len(trained) == 6
    assert not any(trial.isolated for trial in trained)
    assert judge.asked_after == [len(trials) - 2], "once, after the check"


def test_with_an_effect_all_trials_run_isolated_and_the_first_ones_again() -> None:
    search = checked(Seeing(SLOWER))
    notes: list[str] = []

    def answer(trial: Trial) -> TrialResult:
        notes.extend(search.notes())
        return smooth(trial)

    trials = play(search, answer, capacity=2).trials

    trained = [trial for trial in trials if trial.stage is Stage.TRAIN]
    isolated = [trial for trial in trained if trial.isolated]
    co_located = [trial for trial in trained if not trial.isolated]
    assert len(co_located) == 4
    assert {key(t.config) for t in isolated[:4]} == {key(t.config) for t in co_located}
    assert len({key(t.config) for t in isolated}) == 6, "the whole grid is measured isolated"
    assert notes == ["co-located trials are slower: every trial runs isolated from here on"]
    assert len({t.id for t in trials}) == len(trials)


@pytest.mark.parametrize("spec", [Random(5), Optuna(5)], ids=["random", "optuna"])
def test_the_search_receives_only_its_trials(spec: SearchSpec) -> None:
    def search() -> Stages:
        return checked(Seeing(SLOWER), spec=spec)

    first = play(search(), capacity=2)
    again = replay(search(), first.calls)

    assert again == asked_in(first.calls)
    assert sum(isinstance(answer, Proposal) for answer in again) == len(first.trials)
