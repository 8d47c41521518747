"""Files that the analysis leaves in a run directory."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from analysis.report.write import write_all
from tests.analysis.made_runs import MadeRun


def test_the_files_are_written_from_the_tables_alone(made: MadeRun, run_dir: Path) -> None:
    before = {path: path.read_bytes() for path in run_dir.iterdir()}
    recommendation = write_all(made.tables, run_dir)
    assert all(path.read_bytes() == content for path, content in before.items())
    written = {path.name for path in run_dir.iterdir()} - {path.name for path in before}
    assert written == {"front.csv", "front.png", "recommended.json", "report.html"}
    content = json.loads((run_dir / "recommended.json").read_text())
    assert content == json.loads(json.dumps(recommendation.to_json()))
    assert content["config"]["num_workers"] == 3
    assert (run_dir / "front.png").read_bytes().startswith(b"\x89PNG")

    front = pd.read_csv(run_dir / "front.csv", dtype={"trial_ids": str})
    assert front["params.num_workers"].tolist() == [8, 3, 8]
    assert {c for c in made.trials if str(c).startswith("params.")} <= {*front.columns}
    row = made.trials[made.trials["trial_id"] == front["trial_ids"][0]].iloc[0]
    assert front["metrics.samples_per_s"][0] == pytest.approx(row["metrics.samples_per_s"])
