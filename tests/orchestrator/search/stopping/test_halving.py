"""What is not a whole training of the search goes through halving unchanged."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.kernel.search import Pause, Proposal, Search
from orchestrator.metrics import maximize
from orchestrator.search.random import Random
from orchestrator.search.stages.sequence import Searching, Stages
from orchestrator.search.stopping import Asha
from orchestrator.trial import Budget, Report, Stage, Trial, TrialResult
from tests.orchestrator.search.playing import completed, key, problem, trial_of

ASHA = Asha("val_acc", grace=1, factor=3)
OF = problem(epochs=9, objectives=(maximize("samples_per_s"), maximize("val_acc")))
OTHER = {**OF.baseline, "lr": 0.5}


class Script(Search):
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
def test_what_is_no_whole_training_is_left_alone(proposal: Proposal) -> None:
    inner = Script(proposal)
    search = ASHA.start(inner, OF)
    assert search.ask() == proposal
    trial = trial_of(proposal)
    bad = Report(step=1, epoch=1, samples=1, elapsed_s=1.0, metrics={"val_acc": 0.0})
    assert not search.should_stop(trial, bad)
    search.tell(trial, completed(val_acc=0.0))
    assert inner.told == [trial]
    assert search.ask() is None


def test_the_search_may_stop_trials_too_and_its_notes_are_heard() -> None:
    proposal = Proposal(config=OF.baseline, budget=OF.budget)
    search = ASHA.start(Script(proposal), OF)
    assert search.ask() == proposal, "it is a whole training"
    at_7 = Report(step=7, epoch=7, samples=7, elapsed_s=7.0, metrics={"val_acc": 0.5})
    assert search.should_stop(trial_of(proposal), at_7)
    assert search.notes() == ["a note"]


def test_a_search_that_is_extended_goes_on() -> None:
    search = ASHA.start(Random(3).start(OF), OF)

    def played() -> set[tuple[object, ...]]:
        configs = set()
        while isinstance(proposal := search.ask(), Proposal):
            trial = trial_of(proposal)
            configs.add(key(trial.config))
            search.tell(trial, completed(val_acc=0.5))
        return configs

    assert len(played()) == 3
    search.extend(5)
    assert len(played()) >= 2


def test_only_a_search_that_can_be_extended_is() -> None:
    for inner, can in ((Random(3).start(OF), True), (Script(), False)):
        around = ASHA.start(inner, OF)
        assert Stages(OF, [Searching(inner)]).extends is can
        assert Stages(OF, [Searching(around)]).extends is can
