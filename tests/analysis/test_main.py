from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from tests.analysis.made_runs import MadeRun, products_run
from tests.conftest import RunCli
from tests.helping import check_help


def test_a_run_is_written_again_from_its_tables(run_cli: RunCli, run_dir: Path) -> None:
    before = {path: path.read_bytes() for path in run_dir.iterdir()}
    done = run_cli(run_dir, module="analysis")
    assert (done.returncode, done.stderr) == (0, "")
    assert "recommended: lr=0.01 batch_size=4000 num_workers=3" in done.stdout
    assert all(path.read_bytes() == content for path, content in before.items())
    written = {path.name for path in run_dir.iterdir()} - {path.name for path in before}
    assert written == {"front.csv", "front.png", "recommended.json", "report.html"}
    said = json.loads((run_dir / "recommended.json").read_text())
    assert said["config"]["num_workers"] == 3
    assert (run_dir / "front.png").read_bytes().startswith(b"\x89PNG")

    front = pd.read_csv(run_dir / "front.csv", dtype={"trial_ids": str})
    trials = pd.read_parquet(run_dir / "trials.parquet")
    assert front["params.num_workers"].tolist() == [8, 3, 8]
    assert {c for c in trials if str(c).startswith("params.")} <= {*front.columns}
    row = trials[trials["trial_id"] == front["trial_ids"][0]].iloc[0]
    assert front["metrics.samples_per_s"][0] == pytest.approx(row["metrics.samples_per_s"])


def test_two_runs_are_compared(run_cli: RunCli, run_dir: Path, tmp_path: Path) -> None:
    other = products_run(seed=1).write(tmp_path / "other")
    done = run_cli("compare", run_dir, other, module="analysis")
    assert done.returncode == 0
    assert "one run" in done.stdout
    assert "none shown" in done.stdout
    assert "in common, confirm: the 2 configs together" in done.stdout


def test_runs_of_two_machines_are_refused(run_cli: RunCli, made: MadeRun, tmp_path: Path) -> None:
    first = made.write(tmp_path / "first")
    made.sweep["hardware"]["cpu_model"] = "EPYC 7763"
    done = run_cli("compare", first, made.write(tmp_path / "second"), module="analysis")
    assert done.returncode == 2
    assert "hardware.cpu_model: Xeon 2.2 GHz and EPYC 7763" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("words", [["nowhere"], ["compare", "nowhere"], ["a", "b"]])
def test_a_wrong_request_gets_one_message_and_exit_code_2(
    run_cli: RunCli, words: list[str]
) -> None:
    done = run_cli(*words, module="analysis")
    assert done.returncode == 2
    assert done.stderr
    assert "Traceback" not in done.stderr


def test_a_directory_that_cannot_be_written_is_named(run_cli: RunCli, run_dir: Path) -> None:
    (run_dir / ".front.csv.tmp").mkdir()  # root may write anywhere: stand in its way instead
    done = run_cli(run_dir, module="analysis")
    assert done.returncode == 2
    assert "front.csv.tmp: cannot be used: Is a directory" in done.stderr
    assert "Traceback" not in done.stderr


def test_help_needs_no_second() -> None:
    check_help("analysis", says="RUN_DIR")
