"""Speeds of settings that were not tried, and the errors of those that were."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from orchestrator.analysis.bottlenecks.prediction import Predictions, predictions
from orchestrator.analysis.statistics.by_config import by_config
from tests.orchestrator.analysis.made_runs import MadeRun, config

CORES = 4
SPEED = "metrics.samples_per_s"


def bounded(workers: int, *, loader_s: float, compute_s: float) -> dict[str, float]:
    """What a machine that follows the bounds would measure, a little noise aside."""
    processes = max(min(workers, CORES), 1)
    if workers == 0:
        speed = 1 / (loader_s + compute_s)
    else:
        speed = 1 / max(loader_s / workers, compute_s, (loader_s + compute_s) / CORES)
    return {
        SPEED: speed,
        "metrics.loader_only_samples_per_s": processes / loader_s,
        "metrics.compute_only_samples_per_s": 1 / compute_s,
        "metrics.cpu_util": (loader_s + compute_s) * speed / CORES,
        "metrics.val_acc": 0.9,
    }


def run_of(*workers: int, loader_s: float = 4e-4, compute_s: float = 1.5e-4) -> MadeRun:
    run, rng = MadeRun(), np.random.default_rng(0)
    for lr in (3e-3, 1e-2):
        for count in workers:
            cells = bounded(count, loader_s=loader_s, compute_s=compute_s)
            noisy: dict[str, Any] = {name: value * math.exp(0.01 * rng.standard_normal())
                     for name, value in cells.items() if name != "metrics.val_acc"}  # fmt: skip
            run.add(config(num_workers=count, lr=lr), **cells | noisy)
    return run


def predicted(run: MadeRun) -> Predictions:
    composed = predictions(by_config(run.trials), run.record)
    assert composed is not None
    return composed


def test_speeds_of_worker_counts_that_were_not_tried_follow_from_the_ceilings() -> None:
    composed = predicted(run_of(0, 1))
    speeds = {prediction.config["num_workers"]: prediction.speed for prediction in composed.untried}
    assert set(speeds) == {2, 3, 4}
    for workers, speed in speeds.items():
        truth = bounded(workers, loader_s=4e-4, compute_s=1.5e-4)[SPEED]
        assert speed == pytest.approx(truth, rel=0.05)
    assert composed.untried[0].speed == max(speeds.values())
    assert all(
        prediction.measured is None and prediction.error is None for prediction in composed.untried
    )


def test_each_count_that_was_tried_is_predicted_from_the_others_alone() -> None:
    run = run_of(0, 1, 3, 4)
    composed = predicted(run)
    assert len(composed.checked) == 6, (
        "a loader in the training process does not follow from workers"
    )
    assert composed.median_error is not None
    assert composed.median_error < 0.05
    # Another figure of its own changes its error, and not what is predicted.
    before = [
        prediction.speed for prediction in composed.checked if prediction.config["num_workers"] == 3
    ]
    for row in run.rows:
        if row["params.num_workers"] == 3:
            row[SPEED] *= 2
    again = [
        prediction for prediction in predicted(run).checked if prediction.config["num_workers"] == 3
    ]
    assert [prediction.speed for prediction in again] == before
    assert all(prediction.error is not None and prediction.error < -0.4 for prediction in again)


def test_no_speed_without_workers_is_predicted_from_speeds_with_them() -> None:
    composed = predicted(run_of(1, 3))
    assert {prediction.config["num_workers"] for prediction in composed.untried} == {2, 4}


def test_one_count_alone_predicts_unchecked() -> None:
    composed = predicted(run_of(0))
    assert composed.median_error is None
    assert {prediction.config["num_workers"] for prediction in composed.untried} == {1, 2, 3, 4}


def prefetching(*settings: tuple[int, str], device: str = "cpu", copy_s: float = 0.0) -> MadeRun:
    """A trainable that can prefetch, as a machine that follows the bounds would measure it."""
    loader_s, compute_s = 4e-4, 3e-4
    run = MadeRun()
    knob = {"role": "systems", "default": "off", "allowed": "one of 'off', 'thread', 'stream'"}
    pinned = {"role": "systems", "default": False, "allowed": "one of False, True"}
    run.sweep["knobs"] |= {"prefetch": knob, "pin_memory": pinned}
    for workers, prefetch in settings:
        fetch_s = loader_s / max(workers, 1)
        step_s = compute_s + copy_s if prefetch == "off" else max(compute_s, copy_s)
        if workers == 0 and prefetch != "thread":
            speed = 1 / (fetch_s + step_s)
        else:
            speed = 1 / max(fetch_s + copy_s * (prefetch == "thread"), step_s)
        drained_s = loader_s + copy_s * (prefetch == "thread")
        ahead = "transfer_ms" if prefetch == "off" else "copy_ms"
        cells: dict[str, Any] = {
            SPEED: speed,
            "metrics.loader_only_samples_per_s": max(workers, 1) / drained_s,
            "metrics.compute_only_samples_per_s": 1 / (compute_s + copy_s * (prefetch == "off")),
            "metrics.cpu_util": 0.4,
            "metrics.step_ms": 1000 / speed,
            f"metrics.{ahead}": 1000 * copy_s,
            "device": device,
        }
        run.add({**config(num_workers=workers), "prefetch": prefetch, "pin_memory": True}, **cells)
    return run


def settings_of(composed: Predictions) -> dict[tuple[int, str], float]:
    return {
        (prediction.config["num_workers"], prediction.config["prefetch"]): prediction.speed
        for prediction in composed.untried
    }


def test_a_thread_that_prefetches_fetches_while_the_model_computes() -> None:
    composed = settings_of(predicted(prefetching((0, "off"))))
    assert set(composed) == {(w, p) for w in range(5) for p in ("off", "thread")} - {(0, "off")}
    assert composed[0, "thread"] == pytest.approx(1 / 4e-4)
    assert composed[2, "thread"] == pytest.approx(1 / 3e-4)
    undone = settings_of(predicted(prefetching((0, "thread"))))
    assert undone[0, "off"] == pytest.approx(1 / 7e-4)


@pytest.mark.parametrize("copy_s", [1e-4, 6e-4])
def test_copies_ahead_overlap_the_model_on_a_gpu(copy_s: float) -> None:
    tried, meant = (2, "off"), [(2, "stream"), (2, "thread"), (1, "stream")]
    composed = settings_of(predicted(prefetching(tried, device="made-up GPU", copy_s=copy_s)))
    would = prefetching(*meant, device="made-up GPU", copy_s=copy_s)
    measured = dict(zip(meant, [row[SPEED] for row in would.rows], strict=True))
    assert {setting: composed[setting] for setting in meant} == pytest.approx(measured)
    back = settings_of(predicted(would))
    off = prefetching((2, "off"), device="made-up GPU", copy_s=copy_s)
    assert back[2, "off"] == pytest.approx(off.rows[0][SPEED])


def test_each_way_to_prefetch_is_checked_against_the_others() -> None:
    run = prefetching((2, "off"), (2, "thread"), (4, "off"))
    composed = predicted(run)
    # Each from another worker count; the two with two workers from each other, too.
    assert len(composed.checked) == 5
    assert composed.num_checked == 3
    assert composed.median_error == pytest.approx(0.0, abs=1e-9)
    run.rows[1][SPEED] /= 2
    assert [
        prediction.error
        for prediction in predicted(run).checked
        if prediction.config["prefetch"] == "thread"
    ] == [
        pytest.approx(1.0),
        pytest.approx(1.0),
    ]


def test_each_number_of_batches_ahead_is_checked_against_the_others() -> None:
    """They change no bound: what one was measured to be is predicted of the other."""
    run = prefetching((2, "off"), (2, "off"))
    for row, ahead in zip(run.rows, (2, 8), strict=True):
        row["params.prefetch_factor"] = ahead
    knob = {"role": "systems", "default": 2, "allowed": "an int, at least 1"}
    run.sweep["knobs"]["prefetch_factor"] = knob
    assert [prediction.error for prediction in predicted(run).checked] == [
        pytest.approx(0.0, abs=1e-9)
    ] * 2
    run.rows[1][SPEED] *= 1.25
    assert [prediction.error for prediction in predicted(run).checked][1] == pytest.approx(-0.2)


def test_knobs_that_mean_nothing_in_a_config_are_not_predicted() -> None:
    run = prefetching((0, "off"))
    run.rows[0]["tags.idle"] = "prefetch_factor, prefetch"
    assert set(settings_of(predicted(run))) == {(w, "off") for w in range(1, 5)}
    run.rows[0]["tags.idle"] = "num_workers, prefetch_factor, prefetch"
    assert predicted(run).untried == ()


def test_workers_that_are_started_in_every_short_epoch_are_not_predicted() -> None:
    """What starting them takes is in no ceiling, and most of such an epoch."""
    run = run_of(0, 2, 3)
    for row in run.rows:
        row |= {"params.persistent_workers": False, "metrics.epoch_s": 0.2}
    composed = predicted(run)
    assert {
        prediction.config["num_workers"] for prediction in (*composed.untried, *composed.checked)
    } <= {0}
    for row in run.rows:
        row["metrics.epoch_s"] = 20.0
    assert {prediction.config["num_workers"] for prediction in predicted(run).untried} == {1, 4}
    assert {prediction.config["num_workers"] for prediction in predicted(run).checked} >= {2, 3}


def test_without_ceilings_nothing_is_predicted() -> None:
    run = MadeRun()
    run.add(config())
    assert predictions(by_config(run.trials), run.record) is None
