"""The recommended settings to copy."""

from __future__ import annotations

import ast
import json
from dataclasses import replace
from pathlib import Path

from orchestrator.analysis.report.to_copy import to_copy
from orchestrator.analysis.report.view import View
from tests.orchestrator.analysis.made_runs import MadeRun, config
from tests.orchestrator.analysis.report.pages import view_of_run, with_sweep


def texts_of(view: View) -> dict[str, str]:
    return {item.label: " ".join(item.parts) for item in to_copy(view)}


def test_every_form_holds_the_whole_config(view: View) -> None:
    texts = texts_of(view)
    asked = config(lr=0.01, batch_size=4000, num_workers=3)
    assert json.loads(texts["JSON"]) == {**asked, "fanouts": [10, 25]}
    assert ast.literal_eval(texts["Python"].removeprefix("config = ")) == asked


def test_the_first_command_trains_once_and_keeps_the_weights(view: View) -> None:
    there = replace(view, run_dir=Path("runs/my sweep/1"))
    first = to_copy(there)[0]
    assert first.parts == ("python -m orchestrator train", "'runs/my sweep/1'", "--save model.pt")
    assert texts_of(view)["Command"].endswith("train RUN_DIR --save model.pt")


def test_one_of_our_trainables_has_a_command_of_its_own(view: View) -> None:
    assert "Without the run" not in texts_of(view)
    ours = with_sweep(view, module="trainables.graphsage", data_arguments=("--data", "other"))
    assert texts_of(ours)["Without the run"] == (
        "python -m trainables.graphsage --epochs 3 --lr 0.01 --batch-size 4000 --num-workers 3 "
        "--data other"
    )


def test_the_command_that_measures_again_is_in_parts_that_belong_together(view: View) -> None:
    assert to_copy(view)[-1].parts == (
        "python -m orchestrator sweeps/products_loader.py", "--set lr=0.01",
        "--set batch_size=4000", "--set num_workers=3",
    )  # fmt: skip


def test_where_nothing_is_recommended_there_is_nothing_to_copy() -> None:
    run = MadeRun()
    run.add(config(), state="failed", reason="killed")
    assert to_copy(view_of_run(run)) == []
