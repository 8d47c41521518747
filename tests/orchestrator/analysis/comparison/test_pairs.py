"""Rows of two runs that may be compared, and those that may not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator.analysis.comparison.compare import Comparison, compare
from orchestrator.analysis.comparison.text import lost_text
from orchestrator.errors import SweepError
from orchestrator.metrics import minimize
from orchestrator.storage.sweep_record import KnobRecord
from tests.orchestrator.analysis.comparison.drawn import SPEED, run_of, with_cells, with_sweep
from tests.orchestrator.analysis.made_runs import MadeRun, config, partly_contaminated_run


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


def test_a_difference_between_rows_may_be_what_is_compared() -> None:
    table = compare(
        run_of(1), with_cells(run_of(2), isolation="shared"), across=["isolation"]
    ).table
    assert len(table) == 4
    assert set(table["isolation"]) == {"leased and shared"}


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


def test_rows_of_differing_nodes_are_told_apart_by_their_hardware() -> None:
    node = run_of(1).trials["node"].mask(run_of(1).trials["params.num_workers"] == 3, "node-b")
    nodes = {"node-a": {"cpu_model": "Xeon"}, "node-b": {"cpu_model": "EPYC"}}
    first, second = (
        with_sweep(with_cells(run_of(seed), node=node), nodes=nodes) for seed in (1, 2)
    )
    assert len(compare(first, second).table) == 4
    other = {**nodes, "node-b": {"cpu_model": "Xeon 8"}}
    assert mismatches_of(compare(first, with_sweep(second, nodes=other))) == {
        "hardware: cpu_model EPYC and cpu_model Xeon 8": 1
    }


def test_where_no_config_is_in_both_the_knob_is_named() -> None:
    with pytest.raises(SweepError) as refused:
        compare(run_of(1), with_cells(run_of(2), **{"params.allocator": "default"}))
    assert "params.allocator: tuned and default" in refused.value.hint


def test_a_knob_that_only_one_run_knows_counts_as_its_default_in_the_other() -> None:
    first, second = run_of(1), run_of(2)
    knob = KnobRecord(role=second.sweep.knobs["threads"].role, default=False, allowed="a bool")
    newer = with_sweep(second, knobs={**second.sweep.knobs, "compile": knob})
    compiled = newer.trials["params.num_workers"] == 3
    table = compare(first, with_cells(newer, **{"params.compile": compiled})).table
    assert sorted(table["params.num_workers"]) == [0, 6, 8]


def test_a_run_without_the_speed_is_refused() -> None:
    first, second = run_of(1), run_of(2)
    unmeasured = replace(second, trials=second.trials.drop(columns=SPEED))
    with pytest.raises(SweepError, match="has no figure samples_per_s"):
        compare(first, unmeasured)


def test_both_runs_are_compared_by_the_figure_of_the_first() -> None:
    first = run_of(1)
    other = with_sweep(first, objectives=(minimize("epoch_s"),))
    comparison = compare(first, other)
    assert comparison.metric == "samples_per_s"
    assert comparison.table["ratio"].tolist() == pytest.approx([1.0] * 4)


def test_contaminated_runs_are_left_out_where_there_are_clean_ones() -> None:
    first, second = MadeRun(), MadeRun()
    for run in (first, second):
        run.add_runs(config(), [1300.0, 1300.0, 1300.0])
    second.rows[-1] |= {SPEED: 900.0, "tags.contaminated": "30 %"}
    (row,) = compare(first.tables, second.tables).table.to_dict("records")
    assert row["ratio"] == pytest.approx(1)
    assert (row["runs_first"], row["runs_second"]) == (3, 2)


def test_a_contaminated_run_counts_for_its_accuracy_and_not_for_its_speed() -> None:
    first, second = run_of(1), partly_contaminated_run().tables
    table = compare(first, second).table.set_index("params.num_workers")
    assert table.loc[3, "speed_second"] == pytest.approx(1300.0)
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


def test_of_many_lost_configs_the_first_few_are_named() -> None:
    assert lost_text(["a", "b", "c", "d", "e"]).endswith("second: a; b; c and 2 more")


def test_a_run_of_which_nothing_completed_is_named() -> None:
    failed = with_cells(run_of(2), state="failed")
    with pytest.raises(SweepError, match="the second run has no completed trial with samples_per"):
        compare(run_of(1), failed)
    with pytest.raises(SweepError, match="the first run has no completed trial"):
        compare(failed, run_of(1))
