from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from orchestrator.analysis.knobs.figures import Figures, Kind, Verdict
from orchestrator.analysis.knobs.of_run import asked_figures, figures_of
from orchestrator.trial import LOAD
from tests.orchestrator.analysis.knobs.frames import ACCURACY, figures, frame
from tests.orchestrator.analysis.made_runs import ACCURACY as ACCURACY_COLUMN
from tests.orchestrator.analysis.made_runs import MadeRun, config, factored_run, products_run


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
    assert found.marks[LOAD].sum() == (0 if is_learned else 1)


def test_the_noise_of_an_accuracy_is_that_between_seeds() -> None:
    run = MadeRun()
    for seed, accuracy in enumerate((0.90, 0.92, 0.94)):
        run.add(config(), repeat=seed, **{ACCURACY_COLUMN: accuracy})
    run.add(config(lr=0.01), **{ACCURACY_COLUMN: 0.93})
    for seed, accuracy in enumerate((0.91, 0.93)):
        run.add(config(lr=0.01), stage="confirm", repeat=100 + seed, **{ACCURACY_COLUMN: accuracy})
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
    mean = found.effect(np.array([0]), np.array([4]))
    assert np.isnan([mean["low"], mean["high"], mean["p"]]).all()


def test_knobs_are_asked_of_by_their_roles() -> None:
    speed, accuracy = asked_figures(products_run().tables)
    assert speed.knobs == ["batch_size", "num_workers"]
    assert accuracy.knobs == ["lr", "batch_size"]


# -- mean differences

ROWS = [{"a": a, "fanouts": text} for a in (0, 1) for text in ("10,25", "5,5", "3,3")]


def one(**cells: object) -> Figures:
    (found,) = figures(frame(ROWS, [1, 2, 3, 2, 4, 6], **cells), a=0, fanouts=(5, 5))
    return found


def mean(some: Figures) -> dict[str, Any]:
    return some.effect(np.array([0, 1, 2]), np.array([3, 4, 5]))


def test_the_reference_is_the_baselines_value_as_the_table_has_it() -> None:
    found = one()
    assert found.points.values["fanouts"][found.references["fanouts"]] == "5,5"
    assert found.code("fanouts", (10, 25)) == 0
    assert found.code("fanouts", (1, 1)) is None


def test_differences_of_the_same_runs_are_one() -> None:
    # the second and third pair are of the runs of the first
    found = mean(replace(one(), runs=np.array([7, 7, 7, 8, 8, 8])))
    assert found["num"] == 1
    nothing = replace(one(), runs=np.array([1, 2, 3, 1, 2, 3]))
    row = nothing.effect(np.array([0]), np.array([3]))
    assert (row["num"], row["verdict"]) == (0, Verdict.SAME_RUNS)


def test_contaminated_differences_count_where_there_is_no_other() -> None:
    some = replace(one(), marks=one().marks | {LOAD: np.array([True, *[False] * 4, True])})
    assert (mean(some)["num"], mean(some)["contaminated"]) == (1, False)
    every = replace(one(), marks=one().marks | {LOAD: np.ones(6, dtype=np.bool_)})
    assert (mean(every)["num"], mean(every)["contaminated"]) == (3, True)


def test_an_interval_of_half_of_all_points_is_not_shown() -> None:
    table = frame(ROWS[:4], [1, 1, 1, 1]).assign(**{f"metrics.{ACCURACY}": [0.1, 0.9, 0.5, 0.2]})
    (found,) = figures(table, ACCURACY)
    wide = replace(found, variances=np.full(4, 0.04), df=np.full(4, 9.0))
    pair = wide.effect(np.array([0]), np.array([3]))
    assert pair["effect"] == pytest.approx(0.1)
    assert np.isnan(pair["low"])
    assert pair["p"] > 0.05
