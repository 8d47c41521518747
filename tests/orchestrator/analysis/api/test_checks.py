from __future__ import annotations

import pandas as pd
import pytest

import orchestrator.analysis as an
from orchestrator.analysis.api.checks import column_named, objectives_of, remembered
from orchestrator.metrics import Goal

FRAME = pd.DataFrame({"metrics.own_s": [1.0], "euros": [2.0]})


def test_a_name_stands_for_a_figure_or_for_a_column() -> None:
    assert column_named(FRAME, "own_s", "f") == "metrics.own_s"
    assert column_named(FRAME, "euros", "f") == "euros"
    with pytest.raises(an.TableError, match=r"f: .*'own'.*\n  figures: own_s"):
        column_named(FRAME, "own", "f")


def test_the_objectives_survive_filters_sorts_new_columns_and_parquet(
    run: an.RunTables, tmp_path_factory: pytest.TempPathFactory
) -> None:
    configs = an.configs(run)
    changed = configs[configs["params.num_workers"] > 3].sort_values("metrics.val_acc").copy()
    changed["own"] = 1
    assert remembered(changed) == run.sweep.objectives
    path = tmp_path_factory.mktemp("kept") / "configs.parquet"
    changed.to_parquet(path)
    assert remembered(pd.read_parquet(path)) == remembered(configs)
    assert remembered(FRAME) == ()


@pytest.mark.parametrize(
    ("name", "goal"),
    [
        ("own_s", Goal.MINIMIZE),
        ("minimize:own_s", Goal.MINIMIZE),
        ("maximize:euros", Goal.MAXIMIZE),
    ],
)
def test_a_name_has_a_direction(name: str, goal: Goal) -> None:
    (objective,) = objectives_of(name, FRAME, "f")
    assert objective.goal is goal
