"""Files that the analysis leaves in a run directory."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from orchestrator.analysis.report.summary import summary
from orchestrator.analysis.report.write import write_all
from tests.orchestrator.analysis.made_runs import MadeRun, content_of, products_run


def test_the_files_are_written_from_the_tables_alone(made: MadeRun, run_dir: Path) -> None:
    before = {path: path.read_bytes() for path in run_dir.iterdir()}
    write_all(made.tables, run_dir)
    assert all(path.read_bytes() == content for path, content in before.items())
    written = {path.name for path in run_dir.iterdir()} - {path.name for path in before}
    assert written == {
        "answer.md", "figures", "front.csv", "front.svg", "recommended.json", "report.html",
    }  # fmt: skip
    content = json.loads((run_dir / "recommended.json").read_text())
    assert content == content_of(made.tables)
    assert content["config"]["num_workers"] == 3
    assert (run_dir / "front.svg").read_text().startswith("<svg")

    front = pd.read_csv(run_dir / "front.csv", dtype={"trial_ids": str})
    assert front["params.num_workers"].tolist() == [8, 3, 8]
    assert {c for c in made.trials if str(c).startswith("params.")} <= {*front.columns}
    row = made.trials[made.trials["trial_id"] == front["trial_ids"][0]].iloc[0]
    assert front["metrics.samples_per_s"][0] == pytest.approx(row["metrics.samples_per_s"])


@pytest.mark.parametrize(
    "metrics",
    [("samples_per_s", "my_score"), ("my_speed", "my_score"),
     ("samples_per_s", "val_acc", "my_score")],
    ids=" ".join,
)  # fmt: skip
def test_a_run_in_which_no_trial_reported_an_objective_has_all_files_and_names_it(
    metrics: tuple[str, ...], tmp_path: Path
) -> None:
    run = products_run()
    run.sweep["objectives"] = [{"metric": metric, "goal": "maximize"} for metric in metrics]
    missing = [metric for metric in metrics if metric.startswith("my_")]

    found = write_all(run.tables, tmp_path)

    assert found.config is None
    text = "\n".join(summary(run.tables, found, run_dir=Path("run")))
    said = f"no completed trial has reported {' and '.join(missing)}"
    assert found.why.startswith(said)
    assert f"front:       none: {said}" in text
    assert f"no settings can be recommended: {said}" in text
    assert said[1:] in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert (tmp_path / "front.svg").stat().st_size > 0
