"""Times composed of set-up, starts of epochs, samples over speed, and evaluations."""

from __future__ import annotations

import pytest

from tests.orchestrator.analysis.composition.composing import ACCURACY, SPEED, composed, row_of
from tests.orchestrator.analysis.composition.made_factored import Factory, accuracy_of, grid


def test_epochs_too_short_for_a_steady_state_have_their_start_in_the_rate() -> None:
    factory = Factory()
    configs = grid((0, 1), (1,), (0.1,))
    factory.factored(configs)
    for row in factory.rows:
        row["tags.rate"] = "epochs"
    row = row_of(composed(factory, configs), workers=1, batch=1, lr=0.1)
    assert row["metrics.epoch_s"] == pytest.approx(1000 / row[SPEED])


def test_a_start_of_an_epoch_is_that_of_trainings_where_the_setting_has_any() -> None:
    factory = Factory()
    configs = grid((0, 1), (1,), (0.1,))
    factory.factored(configs)
    for row in factory.rows:
        row["metrics.epoch_start_s"] = 2.0 if row["stage"] == "probe" else 0.25
    table = composed(factory, configs)
    assert row_of(table, workers=0, batch=1, lr=0.1)["metrics.epoch_start_s"] == 0.25
    assert row_of(table, workers=1, batch=1, lr=0.1)["metrics.epoch_start_s"] == 2.0


def test_samples_are_told_from_rates_where_no_report_is_known() -> None:
    factory = Factory()
    factory.factored(grid())
    with_curves = composed(factory, grid())
    factory.reports = []
    without = composed(factory, grid())
    assert without["metrics.train_s"].to_numpy() == pytest.approx(
        with_curves["metrics.train_s"].to_numpy()
    )


def test_a_time_to_a_target_scales_with_the_time_of_an_epoch() -> None:
    factory = Factory()
    configs = grid((0, 2), (1,), (0.1,))
    factory.factored(configs)
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
