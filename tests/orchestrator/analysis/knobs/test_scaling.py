"""Scaling: speeds over a knob; cost and savings of a further step."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import orchestrator.analysis as an
from orchestrator.analysis.knobs.scaling import turning_point
from orchestrator.analysis.rule import TIME
from tests.orchestrator.analysis.made_runs import MadeRun, config
from tests.orchestrator.analysis.made_scaling import by_ranks

CEILING = "ceiling_samples_per_s"


def made_run(**speeds: float) -> MadeRun:
    """A run with a config a speed: ``w1=100`` is one of one worker."""
    made = MadeRun()
    for name, speed in speeds.items():
        made.add_runs(config(num_workers=int(name[1:])), [speed])
    return made


def test_speedup_and_efficiency_are_over_the_smallest_value() -> None:
    table = an.scaling(made_run(w4=360.0, w1=100.0, w2=190.0).tables)
    assert table.columns[0] == "params.num_workers"
    assert table["params.num_workers"].tolist() == [1, 2, 4]
    assert table["speedup"].tolist() == pytest.approx([1.0, 1.9, 3.6])
    assert table["efficiency"].tolist() == pytest.approx([1.0, 0.95, 0.9])
    assert table["speedup_low"].tolist() == pytest.approx([1.0, np.nan, np.nan], nan_ok=True)


def test_the_interval_is_that_of_two_means_with_the_pooled_spread() -> None:
    made = MadeRun()
    made.add_runs(config(num_workers=1), [100.0, 121.0])
    made.add_runs(config(num_workers=2), [200.0, 242.0])
    table = an.scaling(made.tables)
    # Both variances are of log 1.21 over two runs; Student's t with two degrees of freedom.
    error = math.sqrt(2 * (math.log(1.21) ** 2 / 2) / 2)
    assert table["speedup_high"][1] == pytest.approx(2 * math.exp(4.30265 * error), rel=1e-4)
    assert table["speedup_low"][1] == pytest.approx(2 * math.exp(-4.30265 * error), rel=1e-4)


def test_configs_that_differ_in_another_knob_are_another_family(run: an.RunTables) -> None:
    table = an.scaling(run)
    families = table.groupby("family")
    assert families.ngroups == 6
    assert (families["params.num_workers"].apply(list).map(tuple) == (0, 3, 6, 8)).all()
    assert (families["params.lr"].nunique() == 1).all()
    of_batch = an.scaling(run, knob="batch_size")
    assert of_batch.groupby("family").ngroups == 8
    assert set(of_batch["params.batch_size"]) == {500, 1000, 4000}


def test_the_ceiling_is_the_slower_of_loader_and_model() -> None:
    made = MadeRun()
    for workers, speed, loader in ((0, 50.0, 100.0), (1, 90.0, 100.0), (2, 100.0, 200.0)):
        ceilings = {
            "metrics.loader_only_samples_per_s": loader,
            "metrics.compute_only_samples_per_s": 110.0,
        }
        made.add_runs(config(num_workers=workers), [speed], **ceilings)
    table = an.scaling(made.tables).set_index("params.num_workers")
    assert table[CEILING].to_dict() == pytest.approx({0: 100.0, 1: 100.0, 2: 110.0})
    columns = an.scaling(made_run(w0=1, w1=2).tables).columns.tolist()
    assert an.scaling(made.tables).columns.tolist() == columns


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda run: an.scaling(run, knob="num_worker"), "did you mean 'num_workers'"),
        (lambda run: an.scaling(run, knob="allocator"), "allocator is no number"),
        (lambda run: an.scaling(run, knob="params.threads"), "not varied; its values: 0"),
        (lambda run: an.scaling(MadeRun().tables), "none, since no config completed"),
    ],
)
def test_wrong_use_is_one_message(
    ask: Callable[[an.RunTables], Any], message: str, run: an.RunTables
) -> None:
    with pytest.raises(an.TableError, match=message):
        ask(run)


def test_a_step_pays_while_it_saves_a_larger_share_of_the_time_than_it_adds_to_the_bill() -> None:
    # Ranks times the time squared: 10,000, 6,050, 6,400 and 11,552.
    run = by_ranks({1: [100.0] * 2, 2: [55.0] * 2, 4: [40.0] * 2, 8: [38.0] * 2}).tables
    table = an.scaling(run, "ranks", target=0.9, best=True)
    assert table["pays"].tolist() == ["", "yes", "no", "no"]
    assert turning_point(table) == 2
    assert table[TIME].tolist() == pytest.approx([100.0, 55.0, 40.0, 38.0])
    assert (table[f"{TIME}_low"] < table[TIME]).all()
    assert table["device_s"].tolist() == pytest.approx([100.0, 110.0, 160.0, 304.0])
    assert table["energy_j"].tolist() == pytest.approx([30_000.0, 33_000.0, 48_000.0, 91_200.0])
    assert table["cost"].tolist() == pytest.approx([2 * s / 3600 for s in (100, 110, 160, 304)])
    assert table["metrics.val_acc"].tolist() == pytest.approx([0.89, 0.88, 0.86, 0.82])


def test_within_the_noise_it_is_not_decided_and_what_never_gets_there_does_not_pay() -> None:
    times = {1: [100.0] * 2, 2: [55.0] * 2, 4: [40.0] * 2}
    noisy = an.scaling(by_ranks(times, spread=0.1).tables, "ranks", target=0.9, best=True)
    assert noisy["pays"].tolist()[2] == "not decided"
    assert turning_point(noisy) is None
    once = an.scaling(
        by_ranks({n: s[:1] for n, s in times.items()}).tables, "ranks", target=0.9, best=True
    )
    assert once["pays"].tolist() == ["", "not decided", "not decided"]
    never = an.scaling(by_ranks({**times, 8: [2000.0] * 2}).tables, "ranks", target=0.9, best=True)
    assert never["pays"].tolist() == ["", "yes", "no", "no"]
    assert math.isnan(never[TIME][3])


def test_of_each_value_the_config_that_is_there_first_is_taken() -> None:
    made = by_ranks({1: [100.0] * 2, 2: [55.0] * 2})
    slower = by_ranks({1: [140.0] * 2, 2: [70.0] * 2})
    for row in slower.rows:
        row |= {"trial_id": f"f{row['trial_id'][1:]}", "params.lr": 0.1}
    for report in slower.curves:
        report["trial_id"] = f"f{report['trial_id'][1:]}"
    made.rows, made.curves = slower.rows + made.rows, slower.curves + made.curves
    table = an.scaling(made.tables, "ranks", target=0.9, best=True)
    assert table["params.lr"].tolist() == [0.003, 0.003]
    assert table[TIME].tolist() == pytest.approx([100.0, 55.0])
    with pytest.raises(an.TableError, match="no two configs differ in params"):
        an.scaling(made.tables, "ranks")  # a batch belongs to each number of ranks
