"""Columns of the trials table, and which rows are comparable."""

from pathlib import Path

import pandas as pd
import pytest

from orchestrator.analysis.columns import (
    configs_of,
    rows_of,
    tagged,
    varying_params_of,
    write_csv,
)
from orchestrator.analysis.comparable import GROUP, group_notes
from orchestrator.analysis.recommendation.selection import select
from orchestrator.space.configs import same_config
from tests.orchestrator.analysis.made_runs import MadeRun, config


def test_a_config_is_read_from_a_row_in_the_types_of_its_knobs() -> None:
    run = MadeRun()
    run.add(config(fanouts=(5, 10), persistent_workers=False, allocator="jemalloc"))
    (read,) = configs_of(run.trials, run.record)
    assert read == config(fanouts=(5, 10), persistent_workers=False, allocator="jemalloc")
    assert {name: type(value) for name, value in read.items()} == {
        name: type(value) for name, value in config().items()
    }


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"num_workers": 3}, [False, True, False]),
        ({"fanouts": (5, 10)}, [False, False, True]),
        ({"fanouts": [5, 10]}, [False, False, True]),
        ({"unknown": 1, "num_workers": 3}, [False, True, False]),
        ({}, [True, True, True]),
    ],
    ids=str,
)
def test_rows_of_a_config_are_those_with_its_values(
    changes: dict[str, object], expected: list[bool]
) -> None:
    run = MadeRun()
    for c in (config(), config(num_workers=3), config(fanouts=(5, 10))):
        run.add(c)
    assert rows_of(run.trials, changes).tolist() == expected


def test_a_knob_varies_where_its_cells_differ() -> None:
    table = pd.DataFrame(
        {
            "params.word": ["a", "a"],
            "params.number": pd.Series([1, 1], dtype="Int64"),
            "params.lr": [0.1, 0.2],
            "params.absent": pd.Series([1, None], dtype="Int64"),
            "params.object": pd.Series([(1,), (1,)], dtype="object"),
        }
    )
    assert varying_params_of(table) == ["params.lr", "params.absent", "params.object"]
    assert varying_params_of(table[["params.word", "params.number"]]) == ["params.word"]
    assert varying_params_of(table.iloc[:1]) == ["params.word"], "one, so that it can be grouped by"
    assert varying_params_of(table[[]]) == []


@pytest.mark.parametrize(
    ("cell", "is_set"),
    [("9 %", True), ("true", True), ("False", False), ("no", False), ("", False), (None, False)],
)
def test_a_tag_is_set_if_it_is_anything_but_no(cell: str | None, is_set: bool) -> None:
    rows = pd.DataFrame({"tags.one": [cell]}, dtype="str")
    assert tagged(rows, "one").tolist() == [is_set]


def test_configs_from_json_and_from_tables_are_the_same() -> None:
    assert same_config({"fanouts": (5, 10), "lr": 0.1}, {"fanouts": [5, 10]})
    assert not same_config({"fanouts": (5, 10)}, {"fanouts": [5, 10], "lr": 0.1})


SPEED = "metrics.samples_per_s"
NODES = {"a": "Xeon 2.2 GHz", "b": "Xeon 2.2 GHz", "c": "EPYC 7763"}


def run_of(*rows: tuple[int, float, dict[str, object]]) -> MadeRun:
    """Runs of (num_workers, samples/s, other cells)."""
    run = MadeRun()
    for workers, speed, cells in rows:
        run.add(config(num_workers=workers), **{SPEED: speed, "metrics.val_acc": 0.9, **cells})
    return run


def groups_of(run: MadeRun) -> list[str]:
    return run.tables.grouped[GROUP].tolist()


def notes_of(run: MadeRun) -> list[str]:
    return group_notes(run.tables.grouped, run.tables.main_group)


def test_rows_of_differing_devices_are_not_ranked_together() -> None:
    gpu = {"device": "NVIDIA H200"}
    run = run_of((0, 1000, {}), (3, 2000, {}), (6, 1500, {}), (0, 9000, gpu), (8, 9900, gpu))
    assert groups_of(run) == ["device cpu"] * 3 + ["device NVIDIA H200"] * 2
    selection = select(run.tables)
    assert selection.config == config(num_workers=3)
    assert notes_of(run) == [
        "2 trials completed under other conditions (device NVIDIA H200); their speeds are not "
        "ranked with those of device cpu"
    ]


def test_two_gpus_of_a_kind_are_a_configs_choice_and_not_another_device() -> None:
    run = run_of((0, 1000, {"device": "V100"}), (3, 2000, {"device": "V100, V100"}))
    assert set(groups_of(run)) == {"all"}


def test_where_the_device_is_varied_it_is_the_question() -> None:
    run = run_of((0, 1000, {}), (3, 9000, {"device": "NVIDIA H200"}))
    run.sweep["space"]["device"] = "choice('cpu', 'cuda')"
    selection = select(run.tables)
    assert selection.config == config(num_workers=3)


def test_nodes_of_one_kind_are_ranked_together_and_of_two_separately() -> None:
    nodes = [{"node": f"node-{name}", "tags.cpu_model": model} for name, model in NODES.items()]
    groups = groups_of(run := run_of((0, 1000, nodes[0]), (3, 2000, nodes[1]), (6, 5000, nodes[2])))
    assert groups[0] == groups[1] != groups[2]
    assert "EPYC 7763" in groups[2]
    assert select(run.tables).config == config(num_workers=3)


@pytest.mark.parametrize("column", ["tags.cpu_model", "tags.versions", "tags.clocks"])
def test_a_condition_that_a_row_records_keeps_it_separate(column: str) -> None:
    run = run_of((0, 1000, {column: "one"}), (3, 900, {column: "one"}), (6, 5000, {column: "two"}))
    assert groups_of(run)[2] == f"{column.removeprefix('tags.')} two"
    assert select(run.tables).config == config()


def test_an_allocator_that_is_varied_is_a_config_and_one_that_is_not_is_a_condition() -> None:
    cells: list[dict[str, object]] = [{"tags.allocator": name} for name in ("tuned", "default")]
    run = run_of((0, 1000, cells[0]), (3, 900, cells[0]), (6, 5000, cells[1]))
    assert len(set(groups_of(run))) == 2
    run.sweep["space"]["allocator"] = "choice('tuned', 'default')"
    assert len(set(groups_of(run))) == 1


def test_rows_that_never_ran_are_no_separate_kind() -> None:
    run = run_of((0, 1000, {}), (3, 5000, {"device": "H200"}))
    run.add(config(ranks=2), state="infeasible", reason="needs 2 GPUs")
    assert groups_of(run) == ["device cpu", "device H200", "device cpu"]


def test_a_spreadsheet_computes_no_cell_of_a_csv(tmp_path: Path) -> None:
    cells = ["=HYPERLINK(1)", "+1+cmd", "@sum", "-2+3", "\tx", "-0.5", "+3", "a=b", None]
    table = pd.DataFrame({"text": cells, "=name": -1.5, "kind": pd.Categorical(["=a"] * 9)})
    write_csv(table, tmp_path / "table.csv")
    read = pd.read_csv(tmp_path / "table.csv", dtype=str, keep_default_na=False)
    assert [*read["text"]] == [
        "'=HYPERLINK(1)", "'+1+cmd", "'@sum", "'-2+3", "'\tx", "-0.5", "+3", "a=b", "",
    ]  # fmt: skip
    assert [*read.columns] == ["text", "'=name", "kind"]
    assert [read["'=name"][0], read["kind"][0]] == ["-1.5", "'=a"]
    assert table.columns[1] == "=name", "the table itself stays"
