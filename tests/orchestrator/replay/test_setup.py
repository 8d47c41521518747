"""A measured run, replayed from the command line as a user does."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from orchestrator.storage.sweep_record import read_sweep
from tests.conftest import ROOT
from tests.forking import Finished
from tests.orchestrator.conftest import FinishedRun
from tests.orchestrator.driver.speed_sweeps import write_sweep
from tests.orchestrator.helpers.in_process import run_main
from tests.orchestrator.helpers.journalled import lines_of


@pytest.fixture(autouse=True)
def in_a_new_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


def replayed(
    run: FinishedRun,
    *more: str | Path,
    out: str = "replay",
    file: Path | None = None,
    **options: Any,  # noqa: ANN401 - of run_main
) -> Finished:
    words = ("--executor", "replay", "--set", f"replay.table={run.out}", "--out", out)
    return run_main(file or run.file, *words, *more, **options)


def decisions(run_dir: Path) -> list[tuple[str, ...]]:
    """Return the trials asked for and their results, in order."""
    found = []
    for event in lines_of(run_dir / "journal.jsonl"):
        if event["event"] == "asked":
            found.append(("asked", event["trial"]["id"]))
        elif event["event"] == "finished":
            found.append(("finished", event["trial_id"], event["result"]["state"]))
    return found


def core_s(run_dir: Path) -> float:
    trials = pd.read_parquet(run_dir / "trials.parquet")
    return float((trials["wall_s"] * trials["cores"]).sum())


def test_a_sweep_on_its_own_runs_takes_the_same_decisions(finished_run: FinishedRun) -> None:
    replayed(finished_run)
    asked = [one for one in decisions(finished_run.out) if one[0] == "asked"]
    assert [one for one in decisions(Path("replay")) if one[0] == "asked"] == asked
    assert sorted(decisions(Path("replay"))) == sorted(decisions(finished_run.out))
    assert core_s(Path("replay")) == pytest.approx(core_s(finished_run.out), rel=0.05)
    before, after = (
        json.loads((folder / "recommended.json").read_text())["config"]
        for folder in (finished_run.out, Path("replay"))
    )
    assert after == before


def test_the_same_command_writes_the_same_journal(finished_run: FinishedRun) -> None:
    journals = []
    for name in ("one", "two"):
        replayed(finished_run, "--set", "replay.cores=3")
        journals.append(Path("replay").rename(name).joinpath("journal.jsonl").read_bytes())
    assert journals[0] == journals[1]


def test_summary_report_and_record_name_the_replay(finished_run: FinishedRun) -> None:
    done = replayed(finished_run, page=True)
    assert f"recorded runs of {finished_run.out} on a simulated clock" in done.stdout
    assert "simulated:   0:" in done.stdout
    assert "core-hours" in done.stdout
    assert "A replay, not a measurement." in Path("replay", "report.html").read_text()
    record, table = read_sweep(Path("replay")), read_sweep(finished_run.out)
    assert record.replayed == str(finished_run.out)
    assert record.hardware == table.hardware
    assert record.started_at == table.started_at
    assert not list(Path().glob("runs/mlflow*")), "MLflow is written where asked alone"


def test_a_replay_is_neither_resumed_nor_a_table(finished_run: FinishedRun) -> None:
    replayed(finished_run)
    again = run_main("--resume", "replay", code=2)
    assert "is a replay, which cannot be resumed" in again.stderr
    nested = run_main(
        finished_run.file, "--executor", "replay", "--set", "replay.table=replay", code=2
    )
    assert "is itself a replay" in nested.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--set", "replay.table=nowhere"], "is not a run directory"),
        (["--set", "replay.table=RUN", "--cores-per-trial", "2"], "that of its table"),
        (["--set", "replay.table=RUN", "--epochs", "5"], "for 2 epochs, and 5"),
        (["--set", "replay.table=RUN", "num_workers=3"], "has no run of "),
    ],
)
def test_what_cannot_be_replayed_is_one_message(
    finished_run: FinishedRun, options: list[str], message: str
) -> None:
    typed = [word.replace("RUN", str(finished_run.out)) for word in options]
    done = run_main(finished_run.file, "--executor", "replay", "--out", "replay", *typed, code=2)
    assert message in done.stderr
    assert done.stderr.count("error: ") == 1
    assert "Traceback" not in done.stderr
    assert not Path("replay").exists(), "nothing was started"


def test_repeats_that_run_out_on_the_way_are_an_error_or_drawn_again(
    finished_run: FinishedRun, tmp_path: Path
) -> None:
    file = write_sweep(
        tmp_path, "step_ms=choice(12.0, 4.0)", confirm=3, baseline=12.0, max_repeats=1
    )
    refused = replayed(finished_run, file=file, code=1)
    assert "replay.reuse_repeats=true" in refused.stderr
    reused = ("--set", "replay.reuse_repeats=true")
    replayed(finished_run, *reused, out="again", file=file)


def test_an_objective_that_no_run_has_is_refused(finished_run: FinishedRun, tmp_path: Path) -> None:
    file = write_sweep(tmp_path, "step_ms=choice(12.0, 4.0)", baseline=12.0)
    objectives = 'objectives=[maximize("samples_per_s"), minimize("peak_gpu_gib")],'
    text = file.read_text().replace(
        "    cores_per_trial=1,", f"    cores_per_trial=1, {objectives}"
    )
    file.write_text(text.replace("choice, maximize", "choice, maximize, minimize"))
    done = replayed(finished_run, file=file, code=2)
    assert "no run of it has the objective peak_gpu_gib" in done.stderr


def test_the_plan_is_of_the_simulated_machine_and_the_recorded_times(
    finished_run: FinishedRun,
) -> None:
    done = replayed(finished_run, "--plan", "--set", "replay.cores=8", "replay.nodes=2")
    assert "2 nodes of 8 cores" in done.stdout
    assert "earlier trial" in done.stdout
    assert not Path("replay").exists()
