"""Halving with pauses: every answer is the one by definition; each config is told once."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

from orchestrator.metrics import maximize
from orchestrator.search.base import Pause, Proposal, Search
from orchestrator.search.grid import Grid
from orchestrator.search.stopping import Asha
from orchestrator.trial import Report, Trial, TrialResult, TrialState
from tests.orchestrator.search.playing import key
from tests.orchestrator.search.stopping.halving import (
    EPOCHS,
    Event,
    Table,
    baseline,
    expected_answer,
    play,
    table,
)

NUM_TABLES = 300


def pool_of(of: Table) -> list[tuple[object, ...]]:
    """Return the configs in the order in which the search picks them."""
    inner = Grid(trials=of.num_configs).start(of.problem)
    names = []
    while isinstance(proposal := inner.ask(), Proposal):
        names.append(key(proposal.config))
    return names


def test_no_answer_differs_from_the_definition_on_random_tables() -> None:
    num_went_on = 0
    for seed in range(NUM_TABLES):
        of = table(seed)
        search, _ = of.search(pauses=True)
        log = play(of, search, capacity=random.Random(seed).randint(1, 4))
        pool = pool_of(of)
        for position, event in enumerate(log):
            if event.what in ("asked", "wait", "none"):
                assert event == expected_answer(of, log[:position], pool), (seed, position)
        asked = [event.name for event in log if event.what == "asked"]
        num_went_on += len(asked) - len(set(asked))
    assert num_went_on > NUM_TABLES, "the tables have much to decide"


def test_nothing_is_trained_twice_and_the_baseline_trains_to_the_end() -> None:
    for seed in range(100):
        of = table(seed)
        of.failing = 0.0
        search, inner = of.search(pauses=True)
        log = play(of, search, capacity=3)
        epochs = [(event.name, event.epoch) for event in log if event.what == "reported"]
        assert len(epochs) == len(set(epochs))
        assert Event(what="ended", name=baseline(of), epoch=EPOCHS) in log
        told = [name for name, _ in inner.told]
        assert sorted(told) == sorted(pool_of(of)), "one result of each config"
        ended = {event.name for event in log if event.what == "ended"}
        completed = {name for name, result in inner.told if result.state is TrialState.COMPLETED}
        assert completed <= ended


def test_the_best_is_trained_to_the_end_and_most_are_not() -> None:
    of = replace(table(3), asha=Asha("val_acc", grace=1, factor=3), num_configs=14, failing=0.0)
    of.problem = replace(
        of.problem, objectives=(maximize("samples_per_s"), maximize("val_acc")), repeats=1
    )
    names = pool_of(of)
    for place, name in enumerate(names):
        of.curves[name] = [{"samples_per_s": 1.0, "val_acc": float(place * 5 % 14)}] * EPOCHS
    log = play(of, of.search(pauses=True)[0])
    ended = [event.name for event in log if event.what == "ended"]
    best = max(names, key=lambda name: of.figures(name, EPOCHS)["val_acc"])
    assert {baseline(of), best} <= set(ended)
    assert sum(event.what == "reported" for event in log) < 14 * EPOCHS / 2


def test_a_journal_without_the_waits_gives_the_same_answers() -> None:
    for seed in range(100):
        of = table(seed)
        search, inner = of.search(pauses=True)
        calls = Calls(search)
        play(of, calls, capacity=3)
        again, inner_again = of.search(pauses=True)
        for call in calls.made:
            answer = getattr(again, call[0])(*call[1:-1])
            assert answer == call[-1]
        assert inner_again.told == inner.told


class Calls:
    """A search whose calls are noted as a journal has them: without the waits."""

    def __init__(self, search: Search) -> None:
        self._search = search
        self.made: list[tuple[Any, ...]] = []

    def ask(self) -> Proposal | Pause | None:
        answer = self._search.ask()
        if isinstance(answer, Proposal):
            self.made.append(("ask", answer))
        return answer

    def tell(self, trial: Trial, result: TrialResult) -> None:
        self._search.tell(trial, result)
        self.made.append(("tell", trial, result, None))

    def should_stop(self, trial: Trial, report: Report) -> bool:
        answer = self._search.should_stop(trial, report)
        self.made.append(("should_stop", trial, report, answer))
        return answer
