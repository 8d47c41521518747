"""Commands of one program: plan, list, and the last run where none is named."""

import json
import os
import shutil
from pathlib import Path

import pytest

from tests.orchestrator.conftest import FinishedRun
from tests.orchestrator.helpers.in_process import run_main


@pytest.fixture
def runs(finished_run: FinishedRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with three runs of two sweeps, the last one ``runs/b/2``."""
    monkeypatch.chdir(tmp_path)
    for number, name in enumerate(("a/1", "b/1", "b/2")):
        run = tmp_path / "runs" / name
        shutil.copytree(finished_run.out, run)
        os.utime(run / "journal.jsonl", (1e9 + number, 1e9 + number))
    return tmp_path


@pytest.mark.usefixtures("runs")
def test_runs_are_listed_the_last_first() -> None:
    done = run_main("list")
    rows = json.loads(run_main("list", "--json").stdout)

    assert [row["run"] for row in rows] == ["runs/b/2", "runs/b/1", "runs/a/1"]
    assert done.stdout.startswith(f"runs/b/2  {rows[0]['written']}  {rows[0]['status']}\n    ")
    assert run_main("list", "runs/a").stderr == "no runs below runs/a\n"


def test_the_last_run_is_meant_where_none_is_named(runs: Path) -> None:
    shown = run_main("show")
    compared = run_main("compare", "--json")

    assert shown.stderr.startswith("runs/b/2:\n")
    assert compared.stderr.startswith("runs/b/1 and runs/b/2:\n")
    assert json.loads(compared.stdout)["command"] == "compare"
    shutil.rmtree(runs / "runs" / "b" / "1")
    refused = run_main("compare", code=2)
    assert "no 2 runs below runs" in refused.stderr


@pytest.mark.usefixtures("folder")
def test_plan_is_a_command_and_a_misspelt_one_is_named() -> None:
    planned = run_main("plan", "never.py", "--stopping", "none")
    refused = run_main("pln", "never.py", code=2)

    assert planned.stdout == run_main("never.py", "--plan").stdout
    assert "did you mean 'plan'?" in refused.stderr


def test_a_command_runs_at_the_end(finished_run: FinishedRun) -> None:
    ended = (finished_run.out.parent / "ended").read_text()

    assert ended == f"0 {finished_run.out}\n"
