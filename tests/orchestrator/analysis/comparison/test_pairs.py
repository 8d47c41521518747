"""Rows of two runs that may be compared, and those that may not."""

import re
from dataclasses import replace
from typing import Any

import pytest

from orchestrator.analysis.comparison.compare import Comparison, compare
from orchestrator.errors import SweepError
from tests.orchestrator.analysis.comparison.drawn import (
    SPEED,
    base_run,
    run_of,
    with_cells,
    with_sweep,
)
from tests.orchestrator.analysis.made_runs import partly_contaminated_run


def mismatches_of(comparison: Comparison) -> dict[str, int]:
    return {str(difference): count for difference, count in comparison.mismatches.items()}


def test_rows_of_differing_devices_are_not_compared_and_are_named() -> None:
    first, second = run_of(1), run_of(2)
    device = second.trials["device"].mask(second.trials["params.num_workers"] == 3, "H200")
    comparison = compare(first, with_cells(second, device=device))
    assert sorted(comparison.table["params.num_workers"]) == [0, 6, 8]
    assert mismatches_of(comparison) == {"device: cpu and H200": 1}


def test_where_all_rows_differ_the_difference_is_the_message() -> None:
    first, second = run_of(1), with_cells(run_of(2), isolation="shared")
    with pytest.raises(SweepError, match="isolation: leased and shared") as refused:
        compare(first, second)
    assert refused.value.hint.endswith("--across isolation")
    table = compare(first, second, across=["isolation"]).table
    assert table["isolation"].tolist() == ["leased and shared"] * 4


@pytest.mark.parametrize(
    ("column", "values"),
    [("tags.cpu_model", ("Xeon", "EPYC")), ("tags.allocator", ("tuned", "default")),
     ("tags.clocks", ("performance", "powersave")),
     ("tags.gpu_settings", ("driver 1, power limit 700 W", "driver 1, power limit 300 W")),
     ("tags.threads", ("1", "2")),
     ("tags.deterministic", ("off", "algorithms"))],
)  # fmt: skip
def test_conditions_that_rows_record_are_named_with_both_values(
    column: str, values: tuple[str, str]
) -> None:
    first, second = (with_cells(run_of(s), **{column: v}) for s, v in enumerate(values))
    with pytest.raises(SweepError, match=f"{column}: {values[0]} and {values[1]}"):
        compare(first, second)
    with pytest.raises(SweepError, match=f"{column}: {values[0]} and not recorded"):
        compare(first, run_of(2))
    assert len(compare(first, with_cells(run_of(2), **{column: values[0]})).table) == 4


def test_rows_of_differing_nodes_are_distinguished_by_their_processors() -> None:
    is_other = run_of(1).trials["params.num_workers"] == 3
    ours, theirs = (
        with_cells(run_of(1), **{"tags.cpu_model": is_other.map({True: model, False: "Xeon"})})
        for model in ("EPYC", "Xeon 8")
    )
    assert len(compare(ours, ours).table) == 4
    assert mismatches_of(compare(ours, theirs)) == {"tags.cpu_model: EPYC and Xeon 8": 1}


def test_where_no_config_is_in_both_the_knob_is_named() -> None:
    with pytest.raises(SweepError) as refused:
        compare(run_of(1), with_cells(run_of(2), **{"params.allocator": "default"}))
    assert "params.allocator: tuned and default" in refused.value.hint


def test_a_contaminated_run_counts_for_its_accuracy_and_not_for_its_speed() -> None:
    first, second = run_of(1), partly_contaminated_run().tables
    table = compare(first, second).table.set_index("params.num_workers")
    assert table.loc[3, "speed_second"] == pytest.approx(1300.0)
    assert table.loc[3, "runs_second"] == 2
    assert table.loc[3, "accuracy_second"] == pytest.approx((0.9 + 0.9 + 0.897) / 3)


def test_a_config_that_fails_in_the_second_run_alone_is_named() -> None:
    first, second = run_of(1), run_of(2)
    is_lost = second.trials["params.num_workers"] == 8
    failed = with_cells(second, state=second.trials["state"].mask(is_lost, "failed"))
    assert compare(first, second).notes == ()
    assert compare(first, failed).notes == (
        "1 config completed in the first run and failed in the second: "
        "lr=0.003 batch_size=1000 num_workers=8",
    )
    is_once = is_lost & (second.trials["repeat"] == 0)
    once = with_cells(second, state=second.trials["state"].mask(is_once, "failed"))
    assert compare(first, once).notes == (), "it completed in its other repeats"
    assert compare(failed, second).notes == ()


def test_a_run_of_which_nothing_completed_or_without_the_speed_is_named() -> None:
    failed = with_cells(run_of(2), state="failed")
    with pytest.raises(SweepError, match="the second run has no completed trial with samples_per"):
        compare(run_of(1), failed)
    unmeasured = replace(failed, trials=failed.trials.drop(columns=SPEED))
    with pytest.raises(SweepError, match="has no figure samples_per_s"):
        compare(run_of(1), unmeasured)


HARDWARE = dict(base_run(3).sweep.hardware)
VERSIONS = dict(base_run(3).sweep.versions)


@pytest.mark.parametrize(
    ("fields", "key", "values"),
    [
        ({"hardware": HARDWARE | {"cpu_model": "EPYC"}}, "hardware.cpu_model", "2.2 GHz and EPYC"),
        ({"versions": VERSIONS | {"torch": "2.11.0"}}, "versions.torch", "2.15.0 and 2.11.0"),
        ({"versions": VERSIONS | {"glibc": "2.41"}}, "versions.glibc", "not recorded and 2.41"),
        ({"cores_per_trial": 2}, "cores_per_trial", "4 and 2"),
        ({"data_fingerprint": ""}, "data_fingerprint", "9f0c1d and not recorded"),
    ],
)  # fmt: skip
def test_a_difference_of_the_runs_is_refused_by_its_key_and_may_be_allowed(
    fields: dict[str, Any], key: str, values: str
) -> None:
    first, second = run_of(1), with_sweep(run_of(2), **fields)
    with pytest.raises(SweepError) as refused:
        compare(first, second)
    assert re.search(f"{re.escape(key)}: .*{re.escape(values)}", str(refused.value))
    assert f"--across {key}" in refused.value.hint
    assert len(compare(first, second, across=[key]).table) == 4


def test_a_package_that_may_differ_may_differ_in_the_rows_too() -> None:
    runs = [
        with_sweep(
            with_cells(run_of(seed), **{"tags.versions": f"torch {torch} numpy 2.4.6"}),
            versions=VERSIONS | {"torch": torch},
        )
        for seed, torch in ((1, "2.15.0"), (2, "2.11.0"))
    ]
    assert len(compare(*runs, across=["versions.torch"]).table) == 4


@pytest.mark.parametrize(
    "fields",
    [
        {"git": {"commit": "other"}},
        {"versions": VERSIONS | {"mlflow": "4.0"}},
        {"hardware": HARDWARE | {"memory_gib": 15.61}},
    ],
)
def test_what_no_timed_step_depends_on_may_differ(fields: dict[str, Any]) -> None:
    assert len(compare(run_of(1), with_sweep(run_of(2), **fields)).table) == 4
