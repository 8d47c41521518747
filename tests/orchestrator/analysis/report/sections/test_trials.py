"""All trials of the page, those that did not complete, and the ladder."""

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from orchestrator.analysis.columns import TableError
from orchestrator.analysis.report.sections.settings import ladder, ladder_of
from orchestrator.analysis.report.sections.trials import (
    counts_of_states,
    environment_of,
    lost_of,
    trials_of,
    was_resumed,
)
from orchestrator.analysis.report.view import View
from tests.orchestrator.analysis.made_runs import MadeRun, config, factored_run
from tests.orchestrator.analysis.report.pages import (
    column_of,
    html_of,
    view_of_run,
    with_sweep,
    with_tables,
)

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


def test_a_pause_that_a_later_trial_resumed_is_counted_separately() -> None:
    assert counts_of_states(TRIALS) == {
        "completed": 2,
        "stopped": 2,
        "paused and resumed": 2,
        "not run": 1,
    }
    assert list(was_resumed(TRIALS)) == [True, False, True, False, False, False, False]
    assert counts_of_states(TRIALS.drop(columns="curve"))["stopped"] == 4


def test_every_trial_has_a_row_with_its_state(view: View) -> None:
    table = trials_of(view).table
    assert table.num_left_out == 0
    assert len(table.rows) == len(view.trials) == 35
    assert set(table.marks) == {"completed", "stopped", "infeasible", "failed", "not_run"}


def test_of_many_trials_marked_ones_are_listed(view: View, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("orchestrator.analysis.report.sections.trials.MAX_ROWS", 12)
    table = trials_of(view).table
    assert (len(table.rows), table.num_left_out) == (12, len(view.trials) - 12)
    listed = {row[0].text for row in table.rows}
    marked = view.shown[view.shown["on_front"] | view.shown["is_recommended"]]
    assert {trial for ids in marked["trial_ids"] for trial in ids} <= listed


def test_lost_trials_are_counted_by_their_reason_and_name_some_configs(view: View) -> None:
    section = lost_of(view)
    lost = {cells[2].text.partition("\n")[0]: cells for cells in section.table.rows}
    assert len(lost) == 4, "numbers do not tell causes apart"
    assert [cell.text for cell in lost["the time budget ended"][:2]] == ["1", "not run"]
    infeasible = view.trials["state"] == "infeasible"
    reasons = [f"needs {n} GPUs" for n in (3, 3, 4)]
    many = view.trials[infeasible].iloc[[0, 0, 1]].assign(reason=reasons)
    again = lost_of(with_tables(view, trials=many))
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


BEST = config(num_workers=3, batch_size=4000, lr=0.01)


def run_of(*steps: tuple[Mapping[str, object], float]) -> MadeRun:
    run = MadeRun()
    run.add_runs(config(), [990.0, 1000.0, 1010.0])
    for changes, speed in steps:
        run.add_runs(config(**changes), [speed])
    return run


def test_each_step_has_what_it_brought_from_the_configs_that_were_run() -> None:
    tables = run_of(
        ({"num_workers": 3}, 1300.0),
        ({"batch_size": 4000}, 1500.0),
        ({"batch_size": 4000, "num_workers": 3}, 1800.0),
        ({"num_workers": 3, "batch_size": 4000, "lr": 0.01}, 1810.0),
    ).tables
    steps = ladder(tables, BEST)
    assert [step.text for step in steps] == ["batch_size=4000", "num_workers=3", "lr=0.01"]
    rows = [row for step in steps if (row := step.effects["samples_per_s"])]
    ratios = [row["effect"] for row in rows]
    assert ratios == pytest.approx([1500 / 1000, 1800 / 1500, 1810 / 1800], rel=1e-3)
    assert all(row["low"] < row["effect"] for row in rows)


def test_knobs_without_the_configs_between_change_together_with_a_note() -> None:
    run = run_of(
        ({"num_workers": 3}, 1300.0), ({"num_workers": 3, "batch_size": 4000, "lr": 0.01}, 1800.0)
    )
    section = ladder_of(view_of_run(run))
    steps, changes = (
        column_of(section.table, title) for title in ("step", "change of samples_per_s")
    )
    assert steps[0].text == "num_workers=3"
    assert set(steps[1].text.split()) == {"batch_size=4000", "lr=0.01"}
    assert changes[1].number == pytest.approx(1800 / 1300)
    assert section.notes[-1].startswith("what each of lr, batch_size brings is not known")


def test_without_a_figure_at_an_end_there_is_no_ladder() -> None:
    for run in (run_of(), MadeRun()):
        with pytest.raises(TableError, match="no speed of a completed searching run"):
            ladder(run.tables, BEST)
    section = ladder_of(view_of_run(run_of()))
    assert section.missing.endswith("(the config is the baseline)")
    assert (section.table, section.figures) == (None, ())


def test_a_composed_step_that_its_role_rules_out_is_not_called_unknown() -> None:
    section = ladder_of(view_of_run(factored_run()))
    steps = [cell.text for cell in column_of(section.table, "step")]
    speeds = [cell.text for cell in column_of(section.table, "change of samples_per_s")]
    accuracies = [cell.text for cell in column_of(section.table, "change of val_acc")]
    assert speeds[steps.index("lr=0.01")] == "none, by its role"
    assert accuracies[steps.index("num_workers=3")] == "none, by its role"
    assert "†" in speeds[steps.index("num_workers=3")]


def test_the_figure_has_each_step_with_its_interval(view: View) -> None:
    section = ladder_of(view)
    steps = [cell.text for cell in column_of(section.table, "step")]
    assert steps == ["num_workers=3", "batch_size=4000", "lr=0.01"]
    figure = section.figures[0]
    assert figure.layout["yaxis"]["categoryarray"] == steps
    effects = [effect for trace in figure.data for effect in trace["x"]]
    configs = view.all_configs.set_index("is_recommended")["metrics.samples_per_s"]
    baseline = view.all_configs.set_index("is_baseline")["metrics.samples_per_s"]
    assert math.prod(effects) == pytest.approx(configs[True] / baseline[True], rel=1e-6)
