"""What is not a whole training of the search goes through both kinds of halving unchanged."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.metrics import maximize
from orchestrator.search.base import WAIT, Pause, Proposal
from orchestrator.search.grid import Grid
from orchestrator.search.random import Random
from orchestrator.search.stages.sequence import Searching, Stages
from orchestrator.search.stopping import Asha
from orchestrator.trial import Budget, Report, Stage, Trial, TrialResult, TrialState
from tests.orchestrator.search.playing import completed, key, problem, trial_of

ASHA = Asha("val_acc", grace=1, factor=3)
OF = problem(epochs=9, objectives=(maximize("samples_per_s"), maximize("val_acc")))
OTHER = {**OF.baseline, "lr": 0.5}
BOTH = pytest.mark.parametrize("pauses", [True, False])


class Script:
    """A search that asks for what it is given, and notes what it is told."""

    def __init__(self, *proposals: Proposal) -> None:
        self._left = list(proposals)
        self.told: list[Trial] = []

    def ask(self) -> Proposal | Pause | None:
        return self._left.pop(0) if self._left else None

    def tell(self, trial: Trial, result: TrialResult) -> None:
        self.told.append(trial)

    def should_stop(self, trial: Trial, report: Report) -> bool:
        return report.epoch == 7

    def notes(self) -> list[str]:
        return ["a note"]


@BOTH
@pytest.mark.parametrize(
    "proposal",
    [
        Proposal(config=OTHER, budget=OF.budget, stage=Stage.PROBE),
        Proposal(config=OTHER, budget=replace(OF.budget, pause_after=2)),
        Proposal(config=OTHER, budget=Budget(epochs=2)),
        Proposal(config=OTHER, budget=replace(OF.budget, evaluated=False)),
    ],
    ids=["probe", "own pause", "shorter", "speed alone"],
)
def test_what_is_no_whole_training_is_left_alone(proposal: Proposal, pauses: bool) -> None:
    inner = Script(proposal)
    search = ASHA.start(inner, OF, pauses=pauses)
    assert search.ask() == proposal
    trial = trial_of(proposal)
    bad = Report(step=1, epoch=1, samples=1, elapsed_s=1.0, metrics={"val_acc": 0.0})
    assert not search.should_stop(trial, bad)
    search.tell(trial, completed(val_acc=0.0))
    assert inner.told == [trial]
    assert search.ask() is None


@BOTH
def test_the_search_may_stop_trials_too_and_its_notes_are_heard(pauses: bool) -> None:
    proposal = Proposal(config=OF.baseline, budget=OF.budget)
    search = ASHA.start(Script(proposal), OF, pauses=pauses)
    assert search.ask() == proposal, "the baseline never pauses"
    at_7 = Report(step=7, epoch=7, samples=7, elapsed_s=7.0, metrics={"val_acc": 0.5})
    assert search.should_stop(trial_of(proposal), at_7)
    assert getattr(search, "notes")() == ["a note"]  # noqa: B009 - not of every search


@BOTH
def test_a_search_that_is_extended_goes_on(pauses: bool) -> None:
    search = ASHA.start(Random(3).start(OF), OF, pauses=pauses)

    def played() -> set[tuple[object, ...]]:
        configs = set()
        while isinstance(proposal := search.ask(), Proposal):
            trial = trial_of(proposal)
            configs.add(key(trial.config))
            paused = trial.budget.pause_after
            state = TrialState.STOPPED if paused else TrialState.COMPLETED
            search.tell(trial, TrialResult(state=state, metrics={"val_acc": 0.5}))
        return configs

    assert len(played()) == 3
    getattr(search, "extend")(5)  # noqa: B009 - not of every search
    assert len(played()) >= 2


@BOTH
def test_only_a_search_that_can_be_extended_is(pauses: bool) -> None:
    for inner, can in ((Random(3).start(OF), True), (Script(), False)):
        around = ASHA.start(inner, OF, pauses=pauses)
        assert Stages(OF, [Searching(inner)]).extends is can
        assert Stages(OF, [Searching(around)]).extends is can


class Generations:
    """A search that waits for the results of four configs before it asks for the next four."""

    def __init__(self) -> None:
        self._search = Grid(trials=12).start(OF)
        self._num_asked = self.num_told = 0

    def ask(self) -> Proposal | Pause | None:
        if self._num_asked - self.num_told and self._num_asked % 4 == 0:
            return WAIT
        self._num_asked += 1
        return self._search.ask()

    def tell(self, trial: Trial, result: TrialResult) -> None:
        self.num_told += 1

    def should_stop(self, trial: Trial, report: Report) -> bool:
        return False


def test_a_search_that_waits_for_results_does_not_wait_for_ever() -> None:
    inner = Generations()
    search = ASHA.start(inner, OF, pauses=True)
    asked: list[Trial] = []
    while (proposal := search.ask()) is not None:
        assert isinstance(proposal, Proposal), "nothing runs, so there is nothing to wait for"
        asked.append(trial_of(proposal))
        state = TrialState.STOPPED if proposal.budget.pause_after else TrialState.COMPLETED
        metrics = {"val_acc": len(asked) * 7 % 5 / 5}
        search.tell(asked[-1], TrialResult(state=state, metrics=metrics))
    assert inner.num_told == 12
    assert len({key(trial.config) for trial in asked}) == 12
