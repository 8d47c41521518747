from __future__ import annotations

import pandas as pd
import pytest

from orchestrator.analysis.columns import (
    configs_of,
    flagged,
    rows_of,
    same_config,
    varying_params_of,
)
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
def test_a_tag_is_set_where_it_says_anything_but_no(cell: str | None, is_set: bool) -> None:
    assert flagged(pd.Series([cell], dtype="str")).tolist() == [is_set]


def test_configs_from_json_and_from_tables_are_the_same() -> None:
    assert same_config({"fanouts": (5, 10), "lr": 0.1}, {"fanouts": [5, 10]})
    assert not same_config({"fanouts": (5, 10)}, {"fanouts": [5, 10], "lr": 0.1})
