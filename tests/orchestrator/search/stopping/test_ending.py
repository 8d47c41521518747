"""Halving without pauses: a trial ends where the definition says so, at a rung and nowhere else."""

from __future__ import annotations

import random

from orchestrator.kernel.search import Proposal
from orchestrator.metrics import maximize
from orchestrator.search.grid import Grid
from orchestrator.search.stopping import Asha
from orchestrator.trial import Report
from tests.orchestrator.search.playing import problem, trial_of
from tests.orchestrator.search.stopping.halving import (
    EPOCHS,
    baseline,
    expected_stop,
    play,
    table,
)

NUM_TABLES = 300


def test_no_decision_differs_from_the_definition_on_random_tables() -> None:
    num_stopped = 0
    for seed in range(NUM_TABLES):
        of = table(seed)
        search, _ = of.search()
        log = play(of, search, capacity=random.Random(seed).randint(1, 4))
        for position, event in enumerate(log):
            if event.what == "reported":
                assert event.stops == expected_stop(of, log[:position], event), (seed, position)
                num_stopped += event.stops
        ended = [event for event in log if event.what == "ended" and event.epoch == EPOCHS]
        failed = [event.name for event in log if event.what == "failed"]
        assert baseline(of) in [event.name for event in ended] + failed
    assert num_stopped > NUM_TABLES, "the tables have much to decide"


def test_all_that_is_asked_for_is_told_as_it_ended() -> None:
    of = table(11)
    search, inner = of.search()
    log = play(of, search, capacity=2)
    ends = [event.name for event in log if event.what in ("ended", "failed")]
    assert [name for name, _ in inner.told] == ends


def test_a_trial_without_the_figure_trains_on_until_it_has_one() -> None:
    of = problem(epochs=9, objectives=(maximize("samples_per_s"), maximize("val_acc")))
    search = Asha("val_acc", grace=1, factor=3).start(Grid().start(of), of)
    trials = []
    for _ in range(3):
        proposal = search.ask()
        assert isinstance(proposal, Proposal)
        trials.append(trial_of(proposal))

    def stops(trial: int, epoch: int, **metrics: float) -> bool:
        given = Report(step=epoch, epoch=epoch, samples=epoch, elapsed_s=1.0, metrics=metrics)
        return search.should_stop(trials[trial], given)

    assert not stops(1, 1, val_acc=0.5)
    assert not stops(2, 1, train_loss=3.0)
    assert stops(2, 2, val_acc=0.4), "compared at its first report with the figure"
    assert stops(2, 2, val_acc=0.4), "its process may not have heard of it yet"
    assert not stops(2, 1, val_acc=0.6), "a retry comes to the rung once more"
