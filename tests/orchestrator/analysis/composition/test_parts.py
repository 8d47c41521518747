"""Accuracies of learning combinations: means over seeds, their intervals, and which rows count."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from orchestrator.analysis.composition.parts import COMBINATION, curve_ends, learned_of
from orchestrator.trial import TrialState
from tests.orchestrator.analysis.composition.composing import ACCURACY, composed, row_of
from tests.orchestrator.analysis.composition.made_factored import Factory, grid


def test_interval_of_the_accuracy_is_pooled_over_the_combinations_with_seeds() -> None:
    factory = Factory()
    configs = grid((0, 1), (1,), (0.1, 0.2))
    factory.factored(configs)
    factory.rows[-1][ACCURACY] = 0.90
    for seed, accuracy in ((1, 0.92), (2, 0.94)):
        factory.train(configs[1], seed)[ACCURACY] = accuracy
    table = composed(factory, configs)
    many, single = (row_of(table, workers=1, batch=1, lr=rate) for rate in (0.2, 0.1))
    assert many[ACCURACY] == pytest.approx(0.92)
    assert (many["num_all_runs"], single["num_all_runs"]) == (3, 1)
    # The spread is 0.02 with two degrees of freedom, for which t is 4.302653.
    assert many[f"{ACCURACY}_high"] - 0.92 == pytest.approx(4.302653 * 0.02 / math.sqrt(3))
    assert single[f"{ACCURACY}_high"] - single[ACCURACY] == pytest.approx(4.302653 * 0.02)


def test_a_curve_that_was_stopped_gives_no_final_accuracy() -> None:
    factory = Factory()
    configs = grid((0, 1), (1,), (0.1, 0.2, 0.4))
    factory.factored(configs)
    left = factory.rows[-1]
    left |= {"state": "stopped", "metrics.epochs": 3.0, ACCURACY: 0.8}
    completed = composed(factory, configs)
    stopped = composed(factory, configs, state=TrialState.STOPPED)
    assert set(completed["params.lr"]) == {0.1, 0.2}
    assert set(stopped["params.lr"]) == {0.4}
    assert set(stopped[ACCURACY]) == {0.8}


def test_two_trainings_of_one_seed_are_no_two_seeds() -> None:
    factory = Factory()
    configs = grid((0, 1), (1,), (0.1,))
    for c, accuracy in zip(configs, (0.90, 0.92), strict=True):
        factory.train(c)[ACCURACY] = accuracy
    trials = factory.trials.assign(**{COMBINATION: 0})
    ends = curve_ends(trials, TrialState.COMPLETED, to_target=False)
    (row,) = learned_of(ends, ["val_acc"]).to_dict("records")
    assert row["num_all_runs"] == 2
    assert row[ACCURACY] == pytest.approx(0.91)
    # They tell nothing of the spread between seeds.
    assert math.isnan(row[f"{ACCURACY}_low"])


def test_a_curve_that_was_ended_at_the_target_is_whole_where_the_time_to_it_counts() -> None:
    factory = Factory()
    (c,) = grid((0,), (1,), (0.1,))
    factory.train(c, epochs=3)["metrics.time_to_accuracy_s"] = 6.0
    trials = factory.trials.assign(**{COMBINATION: 0})
    ends = {
        to_target: [len(curve_ends(trials, state, to_target=to_target)) for state in STATES]
        for to_target in (True, False)
    }
    assert ends == {True: [1, 0], False: [0, 1]}


STATES = (TrialState.COMPLETED, TrialState.STOPPED)


def test_objectives_that_were_not_learned_get_no_interval_here() -> None:
    factory = Factory()
    (c,) = grid((0,), (1,), (0.1,))
    factory.train(c)
    trials = factory.trials.assign(**{COMBINATION: 0})
    ends = curve_ends(trials, TrialState.COMPLETED, to_target=False)
    table: pd.DataFrame = learned_of(ends, ["samples_per_s", "val_acc"])
    assert [name for name in table.columns if name.endswith("_low")] == [f"{ACCURACY}_low"]
