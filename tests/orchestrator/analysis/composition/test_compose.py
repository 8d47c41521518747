"""Composed configs: by hand, against a grid, and what is left out."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.analysis.composition.compose import COMPOSED, compose
from orchestrator.analysis.composition.parts import COMBINATION, curve_ends, learned_of
from orchestrator.analysis.statistics.by_config import by_config
from orchestrator.metrics import minimize
from orchestrator.space.knob import Role
from orchestrator.trial import TrialState
from tests.orchestrator.analysis.composition.made_factored import (
    ACCURACY,
    OBJECTIVES,
    ROLES,
    SPEED,
    Factory,
    accuracy_of,
    candidates,
    composed,
    grid,
    row_of,
)


def test_figures_of_a_config_by_hand() -> None:
    """Setting (2 workers, batch 1) was probed at 900 and 1,600/s, combination (1, 0.2) trained."""
    factory = Factory()
    slow, fast = grid((0, 2), (1,), (0.1,))
    for repeat, speed in enumerate((900.0, 1600.0)):
        factory.probe(fast, repeat, **{SPEED: speed, "metrics.peak_rss_gib": 2.0})
    factory.train(slow)
    curve = factory.train({**slow, "lr": 0.2}, wall_s=40.0)
    curve |= {"metrics.train_s": 30.0, "metrics.eval_s": 4.5, ACCURACY: 0.9}
    row = row_of(composed(factory, grid((0, 2), (1,), (0.1, 0.2))), workers=2, batch=1, lr=0.2)
    assert row[SPEED] == pytest.approx(1200.0)  # the geometric mean
    assert row[ACCURACY] == pytest.approx(0.9)
    # A thousand samples an epoch, a start of 0.1 s: nine epochs and their evaluations.
    assert row["metrics.epoch_s"] == pytest.approx(0.1 + 1000 / 1200)
    assert row["metrics.train_s"] == pytest.approx(9 * (0.1 + 1000 / 1200))
    assert row["metrics.eval_s"] == pytest.approx(4.5)
    # The set-up comes from the setting's probes, half a second, not from the curve.
    assert row["wall_s"] == pytest.approx(0.5 + row["metrics.train_s"] + 4.5)
    assert row["metrics.peak_rss_gib"] == pytest.approx(2.0)
    assert (row["num_runs"], row["num_all_runs"]) == (2, 1)
    assert row["timed_ids"] == ("p000", "p001")
    assert row["curve_ids"] == ("t003",)
    assert row["trial_ids"] == ("p000", "p001", "t003")
    assert row[COMPOSED]


def test_spread_of_probes_is_pooled_over_settings() -> None:
    configs = grid()
    factory = Factory(speed_noise=0.02).factored(configs, probes=4)
    table = composed(factory, configs)
    logs = np.log(factory.trials.query("stage == 'probe'")[SPEED].to_numpy().reshape(6, 4))
    variance = logs.var(axis=1, ddof=1).mean() / 4
    assert table["variance"].to_numpy() == pytest.approx(variance)
    assert set(table["df"]) == {18}
    half = 2.100922 * math.sqrt(variance)  # Student's t at 18 degrees of freedom
    width = np.log(table[f"{SPEED}_high"] / table[f"{SPEED}_low"])
    assert width.to_numpy() == pytest.approx(2 * half, rel=1e-5)


@settings(max_examples=8, deadline=None)
@given(
    seed=st.integers(0, 1000),
    workers=st.integers(1, 4),
    batches=st.integers(1, 3),
    rates=st.integers(1, 3),
)
def test_a_composed_table_equals_that_of_the_whole_grid(
    seed: int, workers: int, batches: int, rates: int
) -> None:
    configs = grid(range(workers), range(1, batches + 1), [0.05 * 2**n for n in range(rates)])
    whole, parts = Factory(seed, 0.005, 0.0005), Factory(seed + 1, 0.005, 0.0005)
    for c in configs:
        whole.train(c)
    parts.factored(configs, probes=2, seeds=2)
    measured, made = by_config(whole.trials), composed(parts, configs)
    columns = ["params.workers", "params.batch", "params.lr"]
    both = measured.merge(made, on=columns, suffixes=("", "_made"), how="outer")
    assert len(both) == len(made) == len(configs)
    for column, tolerance in ((SPEED, 0.04), ("metrics.train_s", 0.04), (ACCURACY, 0.004)):
        assert both[f"{column}_made"].to_numpy() == pytest.approx(
            both[column].to_numpy(), rel=tolerance
        )


def test_a_knob_that_proved_to_be_both_has_separate_curves() -> None:
    configs = grid()
    factory = Factory().factored(configs)
    roles = {**ROLES, "workers": Role.BOTH}
    table = composed(factory, configs, roles=roles)
    # Only combinations without workers were trained.
    assert set(table["params.workers"]) == {0}
    factory.train({"workers": 2, "batch": 1, "lr": 0.1}, **{ACCURACY: 0.5})
    table = composed(factory, configs, roles=roles)
    assert row_of(table, workers=2, batch=1, lr=0.1)[ACCURACY] == 0.5
    assert row_of(table, workers=0, batch=1, lr=0.1)[ACCURACY] > 0.9


def test_settings_that_cannot_run_and_combinations_that_were_lost_are_left_out() -> None:
    factory = Factory().factored(grid())
    for row in factory.rows:
        if row["stage"] == "probe" and row["params.workers"] == 2:
            row |= {"state": "infeasible", SPEED: math.nan}
        if row["stage"] == "train" and row["params.lr"] == 0.2:
            row |= {"state": "failed"}
    table = composed(factory, grid())
    assert set(table["params.workers"]) == {0, 1}
    assert set(table["params.lr"]) == {0.1}


def test_a_time_as_the_objective_is_composed_with_the_interval_of_the_speed() -> None:
    factory = Factory(speed_noise=0.02).factored(grid(), probes=3)
    objectives = (minimize("train_s"), OBJECTIVES[1])
    table = composed(factory, grid(), objectives=objectives)
    usual = composed(factory, grid())
    time, speed = (t[f"metrics.{n}"] for t, n in ((table, "train_s"), (usual, "samples_per_s")))
    assert time.to_numpy() == pytest.approx((9 * 0.1 + 9000 / speed).to_numpy())
    widths = [
        np.log(one[f"metrics.{name}_high"] / one[f"metrics.{name}_low"]).to_numpy()
        for one, name in ((table, "train_s"), (usual, "samples_per_s"))
    ]
    assert widths[0] == pytest.approx(widths[1])


@pytest.mark.parametrize("stage", ["probe", "train", "neither"])
def test_nothing_is_composed_without_both_kinds_of_rows(stage: str) -> None:
    factory = Factory().factored(grid())
    table = compose(
        factory.trials[factory.trials["stage"] == stage],
        factory.curves,
        candidates=candidates(grid()),
        roles=ROLES,
        objectives=OBJECTIVES,
    )
    if stage == "train":  # a setting that was never probed has the speed of its trainings
        assert set(table["params.workers"]) == {0}
        return
    assert table.empty
    assert {SPEED, COMPOSED, "group", "trial_ids", "num_runs"} <= set(table.columns)


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
    # The spread between seeds is unknown.
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


def test_memory_is_that_of_trainings_and_of_probes_by_what_trainings_have_more() -> None:
    configs, memory = grid((0, 1), (1,), (0.1,)), "metrics.peak_rss_gib"
    factory = Factory().factored(configs)
    for row in factory.rows:
        row[memory] = 3.0 if row["stage"] == "train" else 2.0 + row["params.workers"]
    table = composed(factory, configs)
    assert row_of(table, workers=0, batch=1, lr=0.1)[memory] == pytest.approx(3.0)
    assert row_of(table, workers=1, batch=1, lr=0.1)[memory] == pytest.approx(3.0 * 1.5)


def test_a_time_to_a_target_scales_with_the_time_of_an_epoch() -> None:
    configs = grid((0, 2), (1,), (0.1,))
    factory = Factory().factored(configs)
    factory.rows[-1]["metrics.time_to_accuracy_s"] = 4 * factory.rows[-1]["metrics.epoch_s"]
    row = row_of(composed(factory, configs), workers=2, batch=1, lr=0.1)
    assert row["metrics.time_to_accuracy_s"] == pytest.approx(4 * row["metrics.epoch_s"])


def test_a_start_of_a_setting_is_counted_once_and_from_its_probes() -> None:
    configs = grid((0, 2), (1,), (0.1,))
    factory = Factory()
    steps = {"metrics.steps": 50.0, "metrics.step_ms": 10.0, "metrics.epochs": 1.0}
    times = {"metrics.train_s": 0.6 + 6.0, "wall_s": 0.6 + 6.0 + 14.0}
    factory.probe(configs[0], **steps, **{"metrics.train_s": 0.6, "wall_s": 0.7})
    factory.probe(configs[1], **steps, **times)
    curve = factory.train(configs[1])
    curve |= {"metrics.first_epoch_s": curve["metrics.epoch_s"] + 6.0, "wall_s": 40.0}
    curve["metrics.train_s"] += 6.0
    curve["metrics.time_to_accuracy_s"] = 6.0 + 4 * curve["metrics.epoch_s"]
    plain, compiled = composed(factory, configs).to_dict("records")
    for row, setup_s, warm_up_s in ((plain, 0.1, 0.0), (compiled, 14.0, 6.0)):
        train_s = warm_up_s + 9 * row["metrics.epoch_s"]
        assert row["metrics.train_s"] == pytest.approx(train_s)
        assert row["wall_s"] == pytest.approx(setup_s + train_s + 9 * 0.5)
        reached_s = warm_up_s + 4 * row["metrics.epoch_s"]
        assert row["metrics.time_to_accuracy_s"] == pytest.approx(reached_s)


def test_a_curve_that_was_paused_and_resumed_counts_once() -> None:
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
    assert row["wall_s"] == pytest.approx(0.5 + row["metrics.train_s"] + 9 * 0.5)
