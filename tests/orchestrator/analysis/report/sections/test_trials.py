"""All trials of the page, those that did not complete, and what they ran on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from orchestrator.analysis.report.sections.trials import (
    counts_of_states,
    environment_of,
    gone_on,
    lost_of,
    trials_of,
)
from orchestrator.analysis.report.tables import Table
from orchestrator.analysis.report.view import View
from tests.orchestrator.analysis.report.pages import html_of, with_sweep, with_tables

TRIALS = pd.DataFrame(
    [
        ("a", "stopped"),  # paused, resumed twice
        ("b", "stopped"),
        ("a", "stopped"),
        ("c", "completed"),
        ("a", "completed"),
        (None, "stopped"),
        ("d", "not_run"),
    ],
    columns=["curve", "state"],
)


def table_of(view: View) -> Table:
    table = trials_of(view).table
    assert table is not None
    return table


def test_a_pause_that_a_later_trial_went_on_from_is_counted_apart() -> None:
    assert counts_of_states(TRIALS) == {
        "completed": 2,
        "stopped": 2,
        "paused and resumed": 2,
        "not run": 1,
    }
    assert list(gone_on(TRIALS)) == [True, False, True, False, False, False, False]
    assert counts_of_states(TRIALS.drop(columns="curve"))["stopped"] == 4


def test_every_trial_has_a_row_with_its_state(view: View) -> None:
    table = table_of(view)
    assert table.num_left_out == 0
    assert len(table.rows) == len(view.trials) == 35
    assert set(table.marks) == {"completed", "stopped", "infeasible", "failed", "not_run"}


def test_of_many_trials_the_marked_ones_are_listed(
    view: View, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("orchestrator.analysis.report.sections.trials.MAX_ROWS", 12)
    table = table_of(view)
    assert (len(table.rows), table.num_left_out) == (12, len(view.trials) - 12)
    listed = {row[0].text for row in table.rows}
    marked = view.shown[view.shown["on_front"] | view.shown["is_recommended"]]
    assert {trial for ids in marked["trial_ids"] for trial in ids} <= listed


def test_lost_trials_are_counted_by_their_reason_and_name_some_configs(view: View) -> None:
    section = lost_of(view)
    assert section is not None
    assert section.table is not None
    lost = {cells[2].text.partition("\n")[0]: cells for cells in section.table.rows}
    assert len(lost) == 4, "numbers do not tell causes apart"
    assert [cell.text for cell in lost["the time budget ended"][:2]] == ["1", "not run"]
    infeasible = view.trials["state"] == "infeasible"
    reasons = [f"needs {n} GPUs" for n in (3, 3, 4)]
    many = view.trials[infeasible].iloc[[0, 0, 1]].assign(reason=reasons)
    again = lost_of(with_tables(view, trials=many))
    assert again is not None
    assert again.table is not None
    ((count, _, _, configs, _),) = again.table.rows
    assert (count.text, len(configs.text.splitlines())) == ("3", 2)
    assert (
        lost_of(with_tables(view, trials=view.trials[view.trials["state"] == "completed"])) is None
    )


def test_the_environment_by_name_without_what_is_not_known(view: View) -> None:
    facts = dict(environment_of(with_sweep(view, data_fingerprint="")).facts)
    expected = {
        "command": "python -m orchestrator sweeps/products_loader.py",
        "started": "2026-09-21 14:13 UTC",
        "git commit": "0a3ebe6d1c with uncommitted changes",
        "budget of a trial": "3 epochs",
        "cpu model": "Xeon 2.2 GHz",
        "gpus": "none",
        "confirm runs": "3, up to 3",
    }
    assert expected.items() <= facts.items()
    assert "data fingerprint" not in facts


def test_a_run_that_is_in_mlflow_has_the_way_there(view: View, tmp_path: Path) -> None:
    assert "MLflow" not in dict(environment_of(replace(view, run_dir=tmp_path)).facts)
    address = "http://127.0.0.1:5000/#/experiments/1/runs/2f"
    (tmp_path / "mlflow.txt").write_text(f"mlflow ui --port 5000\nthen {address}\n")
    in_mlflow = replace(view, run_dir=tmp_path)
    facts = dict(environment_of(in_mlflow).facts)
    assert facts["MLflow"] == f"mlflow ui --port 5000 then {address}"
    assert f'<a href="{address}" rel="noreferrer">{address}</a>' in html_of(in_mlflow)
