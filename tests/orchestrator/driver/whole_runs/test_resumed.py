"""A run that was killed, interrupted or ended by its time budget resumes where it was."""

import os
import shlex
import shutil
import signal
import sys
from pathlib import Path

import pytest

from orchestrator.storage.files import RunDirectory
from orchestrator.storage.sweep_record import read_sweep
from tests.conftest import ROOT, RunCli, StartCli
from tests.orchestrator.conftest import FinishedRun
from tests.orchestrator.driver.speed_sweeps import (
    children_in_mlflow,
    ended,
    finished_counts,
    trials_of,
    wait_for_finished,
    write_sweep,
)
from tests.orchestrator.helpers.in_process import run_main
from tests.orchestrator.helpers.journalled import lines_of


@pytest.mark.parametrize("executor", ["inline", pytest.param("ray", marks=pytest.mark.slow)])
def test_a_killed_driver_loses_nothing_and_resume_runs_what_is_missing(
    start_cli: StartCli, run_cli: RunCli, tmp_path: Path, executor: str
) -> None:
    out, common = tmp_path / "run", ("--no-mlflow", "--executor", executor)
    driver = start_cli(write_sweep(tmp_path, epochs=4, shared=True), "--out", out, *common)
    wait_for_finished(2, out, driver)
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    before = finished_counts(out)

    run_cli("--resume", out, "--executor", "inline")

    after = finished_counts(out)
    assert set(after.values()) == {1}, "no trial is finished twice"
    assert set(before) <= set(after)
    assert len(after) == 4
    assert list(trials_of(out)["state"]) == ["completed"] * 4
    # Before the kill a trial may have started twice: one that other load contaminated runs again.
    events = [(e["event"], e.get("trial_id")) for e in lines_of(out / "journal.jsonl")]
    resumed = events[events.index(("resumed", None)) :]
    again = {trial for event, trial in resumed if event == "started"}
    assert again == set(after) - set(before), "nothing done is done again"
    assert set(before.values()) == {1}


def test_a_resumption_that_is_refused_leaves_the_run_as_it_was(copied_run: FinishedRun) -> None:
    journal = copied_run.out / "journal.jsonl"
    journal.write_text(journal.read_text().replace('"step_ms":4.0', '"step_ms":0.5'))
    before = contents(copied_run.out)

    refused = run_main("--resume", copied_run.out, code=2)

    assert "the search no longer asks for what it asked for" in refused.stderr
    assert contents(copied_run.out) == before


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != ".lock"
    }


def test_a_second_driver_is_refused(copied_run: FinishedRun) -> None:
    running = RunDirectory(copied_run.out)
    second = run_main("--resume", copied_run.out, code=2)
    running.release()
    assert f"another driver (process {os.getpid()})" in second.stderr


def test_changed_source_and_data_are_noted_and_nothing_is_run_again(
    copied_run: FinishedRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    journal, before = copied_run.out / "journal.jsonl", finished_counts(copied_run.out)
    source_hash = read_sweep(copied_run.out).source_hash
    other_source = journal.read_text().replace(source_hash, "another source")
    other_data = other_source.replace('"data_fingerprint":""', '"data_fingerprint":"other data"')
    assert other_data != other_source
    journal.write_text(other_data)

    resumed = run_main("--resume", copied_run.out)

    assert "the trainable's source has changed" in resumed.stdout
    assert "the data has changed" in resumed.stdout
    assert finished_counts(copied_run.out) == before


@pytest.mark.slow
def test_a_run_is_resumed_from_another_folder(
    start_cli: StartCli, run_cli: RunCli, tmp_path: Path
) -> None:
    file, elsewhere = write_sweep(tmp_path, epochs=10, shared=True), tmp_path / "else where"
    elsewhere.mkdir()
    driver = start_cli(file.name, "--out", "my run", "--executor", "inline")
    out = tmp_path / "my run"
    wait_for_finished(1, out, driver)
    driver.send_signal(signal.SIGINT)
    stdout, _ = ended(driver, 130)
    command = shlex.split(stdout.strip().splitlines()[-1].removeprefix("to resume: "))
    assert command[1:] == ["-m", "orchestrator", file.name, "--resume", "my run"]
    assert shutil.which(command[0]) == sys.executable

    run_cli("--resume", out, cwd=elsewhere)

    assert list(trials_of(out)["state"]) == ["completed"] * 4
    assert list(elsewhere.iterdir()) == [], "MLflow's file is where it was"
    uri = f"sqlite:///{tmp_path}/runs/mlflow.db"
    assert sorted(children_in_mlflow(uri)) == sorted(finished_counts(out))


@pytest.mark.slow
def test_repeats_and_confirm_runs_that_were_added_resume_where_they_were(
    start_cli: StartCli, run_cli: RunCli, tmp_path: Path
) -> None:
    out, common = tmp_path / "run", ("--no-mlflow", "--executor", "inline")
    file = write_sweep(
        tmp_path, "step_ms=choice(4.0, 3.7, 2.5)", confirm=2, max_repeats=3, shared=True
    )
    file.write_text(file.read_text().replace("max_confirm=2", "max_confirm=4"))
    driver = start_cli(file, "--out", out, *common)
    wait_for_finished(5, out, driver)
    driver.send_signal(signal.SIGKILL)
    driver.wait()

    run_cli("--resume", out, *common)

    assert set(finished_counts(out).values()) == {1}
    trials = trials_of(out)
    confirmed = trials[trials["stage"] == "confirm"]
    compared = confirmed[confirmed["repeat"] < confirmed["repeat"].max()]
    assert len(compared) == len(confirmed) - 1, "the last one looks at the test split"
    assert len(compared) in (4, 6, 8)
    assert compared.groupby("params.step_ms").size().nunique() == 1
    assert trials[trials["stage"] == "train"].groupby("params.step_ms").size().max() <= 3

    # The guard in conftest fails this test if any other process is left.


def test_a_full_disk_ends_a_sweep_that_can_be_resumed(run_cli: RunCli, tmp_path: Path) -> None:
    out, common = tmp_path / "run", ("--no-mlflow", "--executor", "inline")

    done = run_cli(
        write_sweep(tmp_path, "step_ms=choice(4.0, 1.0, 2.0)", shared=True),
        "--out",
        out,
        *common,
        module="tests.orchestrator.helpers.on_a_full_disk",
        code=1,
    )

    message = f"error: [Errno 27] File too large: '{out / 'journal.jsonl'}'\nto resume: "
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    before = finished_counts(out)
    assert 1 <= len(before) < 3
    run_cli("--resume", out, *common)
    assert set(finished_counts(out).values()) == {1}
    assert list(trials_of(out)["state"]) == ["completed"] * 3
