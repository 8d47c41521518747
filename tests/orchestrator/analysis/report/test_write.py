"""Files that the analysis leaves in a run directory."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from orchestrator.analysis.findings.codes import Reason
from orchestrator.analysis.findings.findings import Findings
from orchestrator.analysis.report.summary import summary
from orchestrator.analysis.report.write import write_all
from tests.orchestrator.analysis.made_runs import MadeRun, content_of, products_run


def test_the_files_are_written_from_the_tables_alone(made: MadeRun, run_dir: Path) -> None:
    before = {path: path.read_bytes() for path in run_dir.iterdir()}
    write_all(made.tables, run_dir)
    assert all(path.read_bytes() == content for path, content in before.items())
    written = {path.name for path in run_dir.iterdir()} - {path.name for path in before}
    assert written == {
        "answer.md",
        "figures",
        "front.csv",
        "front.svg",
        "recommended.json",
        "report.html",
    }
    content = json.loads((run_dir / "recommended.json").read_text())
    assert content == content_of(made.tables)
    assert content["config"]["num_workers"] == 3
    assert (run_dir / "front.svg").read_text().startswith("<svg")

    front = pd.read_csv(run_dir / "front.csv", dtype={"trial_ids": str})
    assert front["params.num_workers"].tolist() == [8, 3, 8]
    assert {c for c in made.trials if str(c).startswith("params.")} <= {*front.columns}
    row = made.trials[made.trials["trial_id"] == front["trial_ids"][0]].iloc[0]
    assert front["metrics.samples_per_s"][0] == pytest.approx(row["metrics.samples_per_s"])


def with_objectives(*metrics: str) -> MadeRun:
    run = products_run()
    run.sweep["objectives"] = [{"metric": metric, "goal": "maximize"} for metric in metrics]
    return run


def last_lines(run: MadeRun, found: Findings) -> str:
    return "\n".join(summary(run.tables, found, run_dir=Path("run")))


@pytest.mark.parametrize(
    "metrics",
    [("samples_per_s", "my_score"), ("my_speed", "val_acc"), ("my_speed", "my_score")],
    ids=" ".join,
)
def test_a_run_in_which_no_trial_reported_an_objective_has_all_files_and_says_so(
    metrics: tuple[str, str], tmp_path: Path
) -> None:
    run = with_objectives(*metrics)
    missing = " and ".join(metric for metric in metrics if metric.startswith("my_"))

    found = write_all(run.tables, tmp_path)

    assert found.config is None
    assert (found.why.code, found.why["metrics"]) == (Reason.NOT_REPORTED, missing.split(" and "))
    text = last_lines(run, found)
    assert f"front:       none: no completed trial has reported {missing}" in text
    assert f"no settings can be recommended: no completed trial has reported {missing}" in text
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert f"o completed trial has reported {missing}" in page
    assert (tmp_path / "front.svg").stat().st_size > 0


def test_a_third_objective_that_nothing_reports_is_named(tmp_path: Path) -> None:
    run = with_objectives("samples_per_s", "val_acc", "my_score")
    found = write_all(run.tables, tmp_path)
    assert found.config is None
    text = last_lines(run, found)
    assert "front:       none: no completed trial has reported my_score" in text
    assert "no settings can be recommended: no completed trial has reported my_score" in text


def test_a_run_of_which_nothing_completed_is_reported_on(tmp_path: Path) -> None:
    run = with_objectives("my_speed", "my_score")
    run.rows = [row for row in run.rows if row["state"] in ("infeasible", "failed")]
    found = write_all(run.tables, tmp_path)
    assert found.config is None
    assert "no settings can be recommended: no trial completed" in last_lines(run, found)
