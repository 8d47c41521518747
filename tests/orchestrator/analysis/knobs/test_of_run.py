from __future__ import annotations

import numpy as np
import pytest

from orchestrator.analysis.knobs.figures import Kind
from orchestrator.analysis.knobs.of_run import figures_by_role, figures_of
from tests.orchestrator.analysis.made_runs import (
    ACCURACY,
    MadeRun,
    config,
    factored_run,
    products_run,
)


@pytest.mark.parametrize(
    ("metric", "kind"),
    [
        ("samples_per_s", Kind.RATIO),
        ("epoch_s", Kind.RATIO),
        ("peak_rss_gib", Kind.RATIO),
        ("val_acc", Kind.DIFFERENCE),
        ("train_loss", Kind.DIFFERENCE),
        ("cpu_util", Kind.DIFFERENCE),
    ],
)
def test_speeds_and_times_are_compared_by_ratio_shares_and_losses_by_difference(
    metric: str, kind: Kind
) -> None:
    (found,) = figures_of(products_run().tables, metric)
    assert found.kind is kind
    is_learned = metric in ("val_acc", "train_loss")
    assert found.known.sum() == 24
    assert found.contaminated.sum() == (0 if is_learned else 1)


def test_the_noise_of_an_accuracy_is_that_between_seeds() -> None:
    run = MadeRun()
    for seed, accuracy in enumerate((0.90, 0.92, 0.94)):
        run.add(config(), repeat=seed, **{ACCURACY: accuracy})
    run.add(config(lr=0.01), **{ACCURACY: 0.93})
    for seed, accuracy in enumerate((0.91, 0.93)):
        run.add(config(lr=0.01), stage="confirm", repeat=100 + seed, **{ACCURACY: accuracy})
    (found,) = figures_of(run.tables, "val_acc")
    pooled = (2 * 0.0004 + 1 * 0.0002) / 3
    assert found.variances == pytest.approx([pooled / 3, pooled])
    assert found.df.tolist() == [3.0, 3.0]


def test_what_was_learned_is_one_over_groups_and_a_speed_is_not() -> None:
    run = MadeRun()
    for cpu in ("old", "new"):
        for lr in (3e-3, 1e-2):
            run.add(config(lr=lr), **{"tags.cpu_model": cpu})
    assert [len(found.points) for found in figures_of(run.tables, "val_acc")] == [2]
    assert [len(found.points) for found in figures_of(run.tables, "samples_per_s")] == [2, 2]


def test_a_time_that_is_composed_of_probe_and_curve_has_no_interval() -> None:
    (found,) = figures_of(factored_run().tables, "train_s")
    mean = found.mean([np.array([0]), np.array([4])], (-1, 1))
    assert mean is not None
    assert np.isnan([mean.low, mean.high, mean.p]).all()


def test_knobs_are_asked_of_by_their_roles() -> None:
    speed, accuracy = figures_by_role(products_run().tables, None)
    assert speed.knobs == ["batch_size", "num_workers"]
    assert accuracy.knobs == ["lr", "batch_size"]
