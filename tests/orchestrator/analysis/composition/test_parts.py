"""Accuracies and times of learning combinations, and which rows count."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from orchestrator.analysis.composition.parts import COMBINATION, curve_ends, learned_of
from orchestrator.trial import TrialState
from tests.orchestrator.analysis.composition.made_factored import (
    ACCURACY,
    SPEED,
    Factory,
    accuracy_of,
    composed,
    grid,
    row_of,
)


def test_interval_of_the_accuracy_is_pooled_over_the_combinations_with_seeds() -> None:
    configs = grid((0, 1), (1,), (0.1, 0.2))
    factory = Factory().factored(configs)
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
    configs = grid((0, 1), (1,), (0.1, 0.2, 0.4))
    factory = Factory().factored(configs)
    left = factory.rows[-1]
    left |= {"state": "stopped", "metrics.epochs": 3.0, ACCURACY: 0.8}
    completed = composed(factory, configs)
    stopped = composed(factory, configs, state=TrialState.STOPPED)
    assert set(completed["params.lr"]) == {0.1, 0.2}
    assert set(stopped["params.lr"]) == {0.4}
    assert set(stopped[ACCURACY]) == {0.8}


def ends_of(
    factory: Factory, state: TrialState = TrialState.COMPLETED, *, to_target: bool = False
) -> pd.DataFrame:
    """The ends of the curves of one combination."""
    trials = factory.trials.assign(**{COMBINATION: 0})
    return curve_ends(trials, state, to_target=to_target)


def test_two_trainings_of_one_seed_are_no_two_seeds() -> None:
    factory = Factory()
    configs = grid((0, 1), (1,), (0.1,))
    for c, accuracy in zip(configs, (0.90, 0.92), strict=True):
        factory.train(c)[ACCURACY] = accuracy
    (row,) = learned_of(ends_of(factory), ["val_acc"]).to_dict("records")
    assert row["num_all_runs"] == 2
    assert row[ACCURACY] == pytest.approx(0.91)
    # They tell nothing of the spread between seeds.
    assert math.isnan(row[f"{ACCURACY}_low"])


def test_a_curve_that_was_ended_at_the_target_is_whole_where_the_time_to_it_counts() -> None:
    factory = Factory()
    (c,) = grid((0,), (1,), (0.1,))
    factory.train(c, epochs=3)["metrics.time_to_accuracy_s"] = 6.0
    ends = [
        [len(ends_of(factory, state, to_target=to_target)) for to_target in (True, False)]
        for state in (TrialState.COMPLETED, TrialState.STOPPED)
    ]
    assert ends == [[1, 0], [0, 1]]


def test_objectives_that_were_not_learned_get_no_interval_here() -> None:
    factory = Factory()
    (c,) = grid((0,), (1,), (0.1,))
    factory.train(c)
    table = learned_of(ends_of(factory), ["samples_per_s", "val_acc"])
    assert [name for name in table.columns if name.endswith("_low")] == [f"{ACCURACY}_low"]


def test_epochs_too_short_for_a_steady_state_have_their_start_in_the_rate() -> None:
    configs = grid((0, 1), (1,), (0.1,))
    factory = Factory().factored(configs)
    for row in factory.rows:
        row["tags.rate"] = "epochs"
    row = row_of(composed(factory, configs), workers=1, batch=1, lr=0.1)
    assert row["metrics.epoch_s"] == pytest.approx(1000 / row[SPEED])


def test_a_start_of_an_epoch_is_that_of_trainings_where_the_setting_has_any() -> None:
    configs = grid((0, 1), (1,), (0.1,))
    factory = Factory().factored(configs)
    for row in factory.rows:
        row["metrics.epoch_start_s"] = 2.0 if row["stage"] == "probe" else 0.25
    table = composed(factory, configs)
    assert row_of(table, workers=0, batch=1, lr=0.1)["metrics.epoch_start_s"] == 0.25
    assert row_of(table, workers=1, batch=1, lr=0.1)["metrics.epoch_start_s"] == 2.0


def test_a_time_to_a_target_scales_with_the_time_of_an_epoch() -> None:
    configs = grid((0, 2), (1,), (0.1,))
    factory = Factory().factored(configs)
    factory.rows[-1]["metrics.time_to_accuracy_s"] = 4 * factory.rows[-1]["metrics.epoch_s"]
    row = row_of(composed(factory, configs), workers=2, batch=1, lr=0.1)
    assert row["metrics.time_to_accuracy_s"] == pytest.approx(4 * row["metrics.epoch_s"])


def test_a_curve_that_was_paused_and_gone_on_with_counts_once() -> None:
    factory = Factory()
    configs = grid((0, 1), (1,), (0.1,))
    factory.probe(configs[0])
    factory.probe(configs[1])
    for epochs in (1, 3, 9):
        row = factory.train(configs[0], epochs=epochs, curve="one")
        if epochs > 1:  # its own process took only the epochs since the pause
            row |= {"metrics.earlier_epochs": epochs / 3, "wall_s": 1.0}
    (row,) = composed(factory, configs[1:]).to_dict("records")
    assert row["num_all_runs"] == 1
    assert row[ACCURACY] == pytest.approx(accuracy_of(configs[0]))
    # The set-up is of the first process, which is 3 s.
    assert row["wall_s"] == pytest.approx(3.0 + row["metrics.train_s"] + 9 * 0.5)
