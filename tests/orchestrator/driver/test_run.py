"""The real command line: from a sweep file to a recommendation, through every interruption."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import psutil
import pytest

from orchestrator.cli import main
from orchestrator.driver import run as drive
from orchestrator.storage.journal import read_journal
from tests.conftest import RunCli, StartCli
from tests.leaks import MARK
from tests.orchestrator.tracking.serving import free_port, serving

SWEEP = """
from orchestrator import Sweep, choice, maximize
from orchestrator.search import {search_class}
from tests.orchestrator.execution.workload import Config, workload

SWEEP = Sweep(
    workload,
    question="Which step is fastest?",
    space=Config({space}),
    baseline=Config(step_ms={baseline}),
    epochs={epochs},
    search={search},
    confirm={confirm},
    max_confirm={confirm},
    max_repeats={max_repeats},
    check_isolated=0,
    cores_per_trial=1,
    retries=0,
)
"""

WriteSweep = Callable[..., Path]


@pytest.fixture
def sweep_file(tmp_path: Path) -> WriteSweep:
    def write(
        space: str = "step_ms=choice(4.0, 2.0, 1.0, 3.0)",
        *,
        epochs: int = 2,
        search: str = "Grid()",
        confirm: int = 0,
        baseline: float = 4.0,
        max_repeats: int = 1,
    ) -> Path:
        path = tmp_path / "speed.py"
        search_class = search.partition("(")[0]
        path.write_text(
            SWEEP.format(
                space=space, epochs=epochs, search=search, confirm=confirm,
                search_class=search_class, baseline=baseline, max_repeats=max_repeats,
            )
        )  # fmt: skip
        return path

    return write


def finished_counts(run_dir: Path) -> Counter[str]:
    return Counter(
        event["trial_id"]
        for event in read_journal(run_dir / "journal.jsonl")
        if event["event"] == "finished"
    )


def trials_of(run_dir: Path) -> pd.DataFrame:
    return pd.read_parquet(run_dir / "trials.parquet")


@pytest.mark.parametrize("executor", [pytest.param("inline", marks=pytest.mark.slow), "ray"])
def test_a_sweep_leaves_what_it_promises(
    run_cli: RunCli, sweep_file: WriteSweep, tmp_path: Path, executor: str
) -> None:
    out = tmp_path / "run"

    done = run_cli(
        sweep_file("step_ms=choice(12.0, 4.0), act=choice('train', 'raise')", confirm=2,
                   baseline=12.0),
        "--out", out, "--executor", executor, "--no-mlflow",
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    trials = trials_of(out)
    states = Counter(zip(trials["params.act"], trials["state"], strict=True))
    assert states == {("train", "completed"): 2 + 5, ("raise", "failed"): 2}
    failed = trials[trials["state"] == "failed"].iloc[0]
    assert "ValueError: told to" in failed["reason"]
    recommended = json.loads((out / "recommended.json").read_text())
    assert recommended["config"]["step_ms"] == 4.0
    assert recommended["speedup"]["ratio"] > 1.2
    completed = trials[trials["state"] == "completed"]
    assert set(completed[completed["stage"] == "confirm"]["isolation"]) == {"exclusive"}
    assert completed["tags.cpu_model"].notna().all()
    nodes = json.loads((out / "sweep.json").read_text())["nodes"]
    assert set(completed["tags.cpu_model"]) == {node["cpu_model"] for node in nodes.values()}
    for name in ("sweep.json", "journal.jsonl", "trials.csv", "curves.parquet", "front.csv",
                 "report.html", "front.png"):  # fmt: skip
        assert (out / name).stat().st_size > 0, name
    last_lines = done.stdout.strip().splitlines()[-10:]
    assert any("recommended" in line for line in last_lines)
    assert any(str(out) in line for line in last_lines)


def test_a_sweep_outlasts_whoever_reads_its_lines(
    start_cli: StartCli, sweep_file: WriteSweep, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    driver = start_cli(sweep_file(), "--out", out, "--no-mlflow", "--executor", "inline")
    assert driver.stdout is not None
    assert driver.stderr is not None
    assert "speed: workload, 4 trials" in driver.stdout.readline()
    driver.stdout.close()  # as head does
    said = driver.stderr.read()
    assert driver.wait(timeout=60) == 0, said
    assert "Traceback" not in said
    assert list(trials_of(out)["state"]) == ["completed"] * 4
    assert (out / "report.html").exists()


def test_a_killed_driver_loses_nothing_and_resume_runs_what_is_missing(
    start_cli: StartCli, run_cli: RunCli, sweep_file: WriteSweep, tmp_path: Path
) -> None:
    out, file = tmp_path / "run", sweep_file(epochs=8)
    uri = f"sqlite:///{tmp_path}/mlflow.db"
    driver = start_cli(file, "--out", out, "--tracking-uri", uri)
    _wait_for(lambda: (out / "journal.jsonl").exists() and len(finished_counts(out)) >= 2, driver)
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    before = finished_counts(out)

    done = run_cli("--resume", out)

    assert done.returncode == 0, done.stderr
    after = finished_counts(out)
    assert set(after.values()) == {1}, "no trial is finished twice"
    assert set(before) <= set(after)
    assert len(after) == 4
    assert list(trials_of(out)["state"]) == ["completed"] * 4
    # Before the kill a trial may have started twice: one that other load disturbed runs again.
    events = [(e["event"], e.get("trial_id")) for e in read_journal(out / "journal.jsonl")]
    resumed = events[events.index(("resumed", None)) :]
    again = {trial for event, trial in resumed if event == "started"}
    assert again == set(after) - set(before), "nothing done is done again"
    assert sorted(_children(uri)) == sorted(after), "one child run a trial"


def _children(uri: str) -> list[str]:
    from mlflow import MlflowClient

    client = MlflowClient(uri)
    experiments = [experiment.experiment_id for experiment in client.search_experiments()]
    runs = client.search_runs(experiments, filter_string="tags.`mlflow.parentRunId` != ''")
    return [run.data.tags["sweep.trial_id"] for run in runs]


@pytest.mark.parametrize(
    ("executor", "number", "code"),
    [
        ("ray", signal.SIGINT, 130),
        pytest.param("inline", signal.SIGTERM, 143, marks=pytest.mark.slow),
        pytest.param("inline", signal.SIGINT, 130, marks=pytest.mark.slow),
        pytest.param("ray", signal.SIGTERM, 143, marks=pytest.mark.slow),
    ],
)
def test_an_interrupted_sweep_says_how_to_resume(
    start_cli: StartCli,
    run_cli: RunCli,
    sweep_file: WriteSweep,
    tmp_path: Path,
    executor: str,
    number: int,
    code: int,
) -> None:
    out, file = tmp_path / "run", sweep_file(epochs=20)
    driver = start_cli(file, "--out", out, "--no-mlflow", "--executor", executor)
    _wait_for(lambda: (out / "journal.jsonl").exists() and len(finished_counts(out)) >= 1, driver)
    driver.send_signal(number)
    stdout, stderr = driver.communicate(timeout=40)

    assert driver.returncode == code, stderr
    assert "Traceback" not in stderr
    assert f"--resume {out}" in stdout.strip().splitlines()[-1]
    assert len(trials_of(out)) == len(finished_counts(out)) < 4
    assert (out / "report.html").exists()

    done = run_cli("--resume", out, "--executor", executor)
    assert done.returncode == 0, done.stderr
    assert list(trials_of(out)["state"]) == ["completed"] * 4
    assert set(finished_counts(out).values()) == {1}


def test_a_sigterm_to_the_whole_group_ends_a_sweep_as_one_to_the_driver(
    start_cli: StartCli, sweep_file: WriteSweep, tmp_path: Path
) -> None:
    out, file = tmp_path / "run", sweep_file(epochs=20)
    driver = start_cli(file, "--out", out, "--no-mlflow")
    _wait_for(lambda: (out / "journal.jsonl").exists() and len(finished_counts(out)) >= 1, driver)
    os.killpg(driver.pid, signal.SIGTERM)  # as timeout(1) and a batch system do
    stdout, stderr = driver.communicate(timeout=40)

    assert driver.returncode == 143, stderr
    assert f"--resume {out}" in stdout.strip().splitlines()[-1]
    assert len(trials_of(out)) == len(finished_counts(out)) < 4
    assert (out / "report.html").exists()


def test_a_trial_ends_once_its_speed_is_known_as_well_as_asked(
    run_cli: RunCli, sweep_file: WriteSweep, tmp_path: Path
) -> None:
    out, file = tmp_path / "run", sweep_file("step_ms=choice(0.5)", epochs=400, baseline=0.5)
    file.write_text(file.read_text().replace("epochs=400,", "epochs=400, half_width=0.2,"))

    done = run_cli(file, "--out", out, "--no-mlflow", "--executor", "inline")

    assert done.returncode == 0, done.stderr
    trials = trials_of(out)
    assert set(trials["state"]) == {"completed"}
    assert trials["metrics.steps"].between(512, 4000).all()
    width = trials["metrics.samples_per_s_within_high"] - trials["metrics.samples_per_s_within_low"]
    assert (width / 2 <= 0.2 * trials["metrics.samples_per_s"]).all()


@pytest.mark.slow
def test_an_impatient_second_interrupt_loses_nothing(
    start_cli: StartCli, run_cli: RunCli, sweep_file: WriteSweep, tmp_path: Path
) -> None:
    out, file = tmp_path / "run", sweep_file(epochs=20)
    driver = start_cli(file, "--out", out, "--no-mlflow", "--executor", "inline")
    _wait_for(lambda: (out / "journal.jsonl").exists() and len(finished_counts(out)) >= 1, driver)
    driver.send_signal(signal.SIGINT)
    time.sleep(0.05)
    driver.send_signal(signal.SIGINT)
    stdout, stderr = driver.communicate(timeout=40)

    assert driver.returncode == 130, stderr
    assert "Traceback" not in stderr
    assert _says_at_last(f"--resume {out}", stdout, stderr), stderr

    done = run_cli("--resume", out, "--executor", "inline")
    assert done.returncode == 0, done.stderr
    assert set(finished_counts(out).values()) == {1}


@pytest.mark.slow
def test_repeats_and_confirm_runs_that_were_added_resume_where_they_were(
    start_cli: StartCli, run_cli: RunCli, sweep_file: WriteSweep, tmp_path: Path
) -> None:
    out, common = tmp_path / "run", ("--no-mlflow", "--executor", "inline")
    file = sweep_file("step_ms=choice(4.0, 3.7, 2.5)", confirm=2, max_repeats=3)
    file.write_text(file.read_text().replace("max_confirm=2", "max_confirm=4"))
    driver = start_cli(file, "--out", out, *common)
    _wait_for(lambda: (out / "journal.jsonl").exists() and len(finished_counts(out)) >= 5, driver)
    driver.send_signal(signal.SIGKILL)
    driver.wait()

    done = run_cli("--resume", out, *common)

    assert done.returncode == 0, done.stderr
    assert set(finished_counts(out).values()) == {1}
    trials = trials_of(out)
    confirmed = trials[trials["stage"] == "confirm"]
    compared = confirmed[confirmed["repeat"] < confirmed["repeat"].max()]
    assert len(compared) == len(confirmed) - 1, "the last one looks at the test split"
    assert len(compared) in (4, 6, 8)
    assert compared.groupby("params.step_ms").size().nunique() == 1
    assert trials[trials["stage"] == "train"].groupby("params.step_ms").size().max() <= 3


@pytest.mark.slow
@pytest.mark.parametrize("executor", ["inline", "ray"])
def test_an_optuna_sweep_resumes_where_it_was(
    start_cli: StartCli, run_cli: RunCli, sweep_file: WriteSweep, tmp_path: Path, executor: str
) -> None:
    space = "step_ms=choice(1.0, 1.5, 2.0, 2.5, 3.0, 4.0), num_workers=choice(0, 1, 2, 3)"
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    file = sweep_file(space, search="Optuna(9)")
    common = ("--no-mlflow", "--executor", executor)
    assert run_cli(file, "--out", whole, *common).returncode == 0
    driver = start_cli(file, "--out", broken, *common)
    _wait_for(
        lambda: (broken / "journal.jsonl").exists() and len(finished_counts(broken)) >= 2, driver
    )
    driver.send_signal(signal.SIGKILL)
    driver.wait()

    done = run_cli("--resume", broken, *common)

    assert done.returncode == 0, done.stderr
    assert set(finished_counts(broken).values()) == {1}
    knobs = ["params.step_ms", "params.num_workers"]
    ran, expected = (trials_of(run_dir)[knobs].to_numpy().tolist() for run_dir in (broken, whole))
    assert len(ran) == len(expected) == 9
    assert len(set(map(tuple, ran))) == 9, "no config is asked for again"
    # After a third of them the sampler goes by speeds, which no two runs have in common.
    assert ran[:3] == expected[:3]


def test_a_resumption_that_is_refused_leaves_the_run_as_it_was(
    run_cli: RunCli, sweep_file: WriteSweep, tmp_path: Path
) -> None:
    out, common = tmp_path / "run", ("--executor", "inline", "--no-mlflow")
    file = sweep_file("step_ms=choice(2.0, 1.0)", baseline=2.0)
    assert run_cli(file, "--out", out, *common).returncode == 0
    journal = out / "journal.jsonl"
    journal.write_text(journal.read_text().replace('"step_ms":1.0', '"step_ms":0.5'))
    before = contents(out)

    refused = run_cli("--resume", out)

    assert refused.returncode == 2
    assert "the search no longer asks for what it asked for" in refused.stderr
    assert contents(out) == before


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != ".lock"
    }


def test_a_run_is_gone_on_with_from_another_folder(
    start_cli: StartCli, run_cli: RunCli, sweep_file: WriteSweep, tmp_path: Path
) -> None:
    file, elsewhere = sweep_file(epochs=20), tmp_path / "else where"
    elsewhere.mkdir()
    driver = start_cli(file.name, "--out", "my run", "--executor", "inline")
    out = tmp_path / "my run"
    _wait_for(lambda: (out / "journal.jsonl").exists() and len(finished_counts(out)) >= 1, driver)
    driver.send_signal(signal.SIGINT)
    stdout, stderr = driver.communicate(timeout=60)
    assert driver.returncode == 130, stderr
    command = shlex.split(stdout.strip().splitlines()[-1].removeprefix("to go on: "))
    assert command[1:] == ["-m", "orchestrator", file.name, "--resume", "my run"]
    assert shutil.which(command[0]) == sys.executable

    done = run_cli("--resume", out, cwd=elsewhere)

    assert done.returncode == 0, done.stderr
    assert list(trials_of(out)["state"]) == ["completed"] * 4
    assert list(elsewhere.iterdir()) == [], "MLflow's file is where it was"
    uri = f"sqlite:///{tmp_path}/runs/mlflow.db"
    assert sorted(_children(uri)) == sorted(finished_counts(out))


def test_a_second_driver_is_refused(
    start_cli: StartCli, run_cli: RunCli, sweep_file: WriteSweep, tmp_path: Path
) -> None:
    out, file = tmp_path / "run", sweep_file(epochs=100)
    driver = start_cli(file, "--out", out, "--no-mlflow", "--executor", "inline")
    _wait_for((out / "journal.jsonl").exists, driver)
    second = run_cli("--resume", out, "--executor", "inline")
    assert second.returncode == 2
    assert "another driver" in second.stderr
    driver.terminate()
    driver.communicate(timeout=30)


@pytest.mark.slow
def test_a_changed_question_is_refused_and_a_changed_trainable_is_said(
    run_cli: RunCli, sweep_file: WriteSweep, tmp_path: Path
) -> None:
    out, common = tmp_path / "run", ("--executor", "inline", "--no-mlflow")
    file = sweep_file("step_ms=choice(4.0, 2.0)")
    assert run_cli(file, "--out", out, *common).returncode == 0

    sweep_file("step_ms=choice(4.0, 1.0)")
    changed = run_cli(file, "--resume", out, *common)
    assert changed.returncode == 2
    assert "choice(4.0, 2.0)" in changed.stderr
    assert "choice(4.0, 1.0)" in changed.stderr

    sweep_file("step_ms=choice(4.0, 2.0)")
    sweep = json.loads((out / "sweep.json").read_text())
    journal = out / "journal.jsonl"
    changed_source = journal.read_text().replace(sweep["source_hash"], "another source")
    other_data = changed_source.replace('"data_fingerprint":""', '"data_fingerprint":"other data"')
    assert other_data != changed_source
    journal.write_text(other_data)
    resumed = run_cli(file, "--resume", out, *common)
    assert resumed.returncode == 0, resumed.stderr
    assert "the trainable's source has changed" in resumed.stdout
    assert "the data has changed" in resumed.stdout
    assert set(finished_counts(out).values()) == {1}


@pytest.mark.slow
def test_after_the_time_budget_the_rest_is_not_run_and_resume_runs_it(
    run_cli: RunCli, sweep_file: WriteSweep, tmp_path: Path
) -> None:
    out, file = tmp_path / "run", sweep_file(epochs=10)
    common = ("--executor", "inline", "--no-mlflow")
    first = run_cli(file, "--out", out, *common, "--time-budget", "0.5s")
    assert first.returncode == 0, first.stderr
    states = Counter(trials_of(out)["state"])
    assert states["not_run"] >= 1
    assert sum(states.values()) == 4
    assert "not run" in first.stdout

    second = run_cli("--resume", out, *common)
    assert second.returncode == 0, second.stderr
    assert list(trials_of(out)["state"]) == ["completed"] * 4


@pytest.mark.slow
def test_what_the_machine_lacks_is_an_infeasible_row(
    run_cli: RunCli, sweep_file: WriteSweep, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    done = run_cli(
        sweep_file("gpus=choice(0, 64)"), "--out", out, "--no-mlflow", "--executor", "ray"
    )
    assert done.returncode == 0, done.stderr
    trials = trials_of(out).set_index("params.gpus")
    assert trials.loc[64, "state"] == "infeasible"
    assert "needs 64 GPUs" in trials.loc[64, "reason"]
    assert trials.loc[0, "state"].tolist().count("completed") == 2  # the baseline's step, too


@pytest.mark.slow
def test_a_driver_killed_at_any_moment_leaves_no_process(
    start_cli: StartCli, sweep_file: WriteSweep, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    driver = start_cli(sweep_file("act=choice('sleep', 'spawn')", epochs=100), "--out", out)
    _wait_for(
        lambda: (
            (out / "journal.jsonl").exists() and '"report"' in (out / "journal.jsonl").read_text()
        ),
        driver,
    )
    driver.kill()
    driver.wait()
    _wait_for_none_of("orchestrator.execution.process.forkserver", seconds=5)
    # The guard in conftest fails this test if any other process is left.


def _wait_for_none_of(command: str, *, seconds: float) -> None:
    """Waits for the processes of this test run that run ``command``."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not [p for p in psutil.process_iter(["cmdline"]) if _is_ours(p, command)]:
            return
        time.sleep(0.1)
    pytest.fail(f"{command} is still running")


def _is_ours(process: psutil.Process, command: str) -> bool:
    try:
        ours = process.environ().get(MARK) == os.environ[MARK]
    except psutil.Error:
        return False
    return ours and command in " ".join(process.info["cmdline"] or ())


def _wait_for(condition: Callable[[], bool], driver: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if condition():
            return
        if driver.poll() is not None:
            stdout, stderr = driver.communicate()
            pytest.fail(f"the driver ended first ({driver.returncode}):\n{stdout}\n{stderr}")
        time.sleep(0.05)
    os.kill(driver.pid, signal.SIGKILL)
    pytest.fail("it took too long")


def _says_at_last(words: str, *streams: str) -> bool:
    """A second signal may come before the tables, or amid them: then they end on stdout."""
    return any(words in line for text in streams for line in text.strip().splitlines()[-1:])


@pytest.mark.parametrize("executor", ["inline", pytest.param("ray", marks=pytest.mark.slow)])
def test_a_second_sigterm_ends_a_sweep_as_promised(
    start_cli: StartCli, sweep_file: WriteSweep, tmp_path: Path, executor: str
) -> None:
    out = tmp_path / "run"
    driver = start_cli(
        sweep_file(epochs=50), "--out", out, "--no-mlflow", "--executor", executor
    )  # fmt: skip
    _wait_for(lambda: '"report"' in _journal(out), driver)
    driver.terminate()
    time.sleep(0.05)
    driver.terminate()
    stdout, stderr = driver.communicate(timeout=60)

    assert driver.returncode == 143, stderr
    assert "Traceback" not in stderr
    assert _says_at_last(f"--resume {out}", stdout, stderr), stderr


def test_a_sigterm_within_rays_own_code_has_its_exit_code(
    sweep_file: WriteSweep, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ray raises an interrupt of its own there, whatever the handler has raised."""

    def run(*_: object) -> int:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(10)
        except KeyboardInterrupt:
            raise KeyboardInterrupt from None
        return 0

    monkeypatch.setattr(drive, "_run", run)
    arguments = [sweep_file(), "--out", tmp_path / "run", "--no-mlflow", "--executor", "inline"]
    assert main([str(argument) for argument in arguments]) == 128 + signal.SIGTERM


@pytest.mark.slow
def test_sigterm_while_tables_are_written_waits_for_them(
    start_cli: StartCli, sweep_file: WriteSweep, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    driver = start_cli(sweep_file(epochs=1), "--out", out, "--no-mlflow")
    _wait_for(lambda: '"ended"' in _journal(out), driver)
    driver.terminate()
    stdout, stderr = driver.communicate(timeout=60)

    assert driver.returncode == 143, stderr
    assert "Traceback" not in stderr
    assert f"--resume {out}" in stderr.strip().splitlines()[-1]
    assert list(trials_of(out)["state"]) == ["completed"] * 4
    assert f"report:      {out}" in stdout


@pytest.mark.slow
def test_a_second_sigterm_while_tables_are_written_ends_it(
    start_cli: StartCli, sweep_file: WriteSweep, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    uri = "http://127.0.0.1:9"  # where nothing answers it takes a while to give up
    file = sweep_file(epochs=1)
    driver = start_cli(file, "--out", out, "--executor", "inline", "--tracking-uri", uri)
    _wait_for(lambda: (out / "report.html").exists(), driver)
    driver.terminate()
    time.sleep(0.2)
    driver.terminate()
    _, stderr = driver.communicate(timeout=60)

    assert driver.returncode == 143, stderr
    assert "Traceback" not in stderr
    assert "again to end at once\ninterrupted: tables may be missing" in stderr
    assert f"--resume {out}" in stderr.strip().splitlines()[-1]


@pytest.mark.slow
def test_a_signal_while_tables_are_written_may_have_no_reader(
    start_cli: StartCli, sweep_file: WriteSweep, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    driver = start_cli(sweep_file(epochs=1), "--out", out, "--no-mlflow", "--executor", "inline")
    _wait_for(lambda: '"ended"' in _journal(out), driver)
    assert driver.stderr is not None
    driver.stderr.close()
    driver.terminate()

    assert driver.wait(timeout=60) == 143
    assert list(trials_of(out)["state"]) == ["completed"] * 4
    assert (out / "report.html").exists()


def _journal(run_dir: Path) -> str:
    path = run_dir / "journal.jsonl"
    return path.read_text() if path.exists() else ""


@pytest.mark.slow
def test_a_sweep_whose_mlflow_is_down_goes_on_and_keeps_its_password_to_itself(
    run_cli: RunCli, sweep_file: WriteSweep, tmp_path: Path
) -> None:
    out, file = tmp_path / "run", sweep_file("step_ms=choice(1.0, 2.0)", baseline=1.0)
    uri = "http://me:secret@127.0.0.1:9"

    done = run_cli(file, "--out", out, "--executor", "inline", f"--tracking-uri={uri}")

    assert done.returncode == 0, done.stderr
    assert list(trials_of(out)["state"]) == ["completed"] * 2
    assert done.stdout.count("The sweep goes on") + done.stderr.count("The sweep goes on") == 1
    assert f"--resume {out} completes it" in done.stdout
    written = {path.name: path.read_bytes() for path in out.iterdir() if path.is_file()}
    assert [name for name, content in written.items() if b"secret" in content] == []
    assert "secret" not in done.stdout + done.stderr

    again = run_cli("--resume", out)
    assert again.returncode == 2
    assert "its password is not kept with the run" in again.stderr
    up = run_cli("--resume", out, "--tracking-uri", f"sqlite:///{tmp_path}/mlflow.db")
    assert up.returncode == 0, up.stderr
    assert "ui --backend-store-uri" in up.stdout


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("is_back", ["before the end", "for the resumption"])
def test_a_sweep_whose_mlflow_fails_midway_has_all_of_it_there_in_the_end(
    start_cli: StartCli, run_cli: RunCli, sweep_file: WriteSweep, tmp_path: Path, is_back: str
) -> None:
    out, file, port = tmp_path / "run", sweep_file(epochs=30), free_port()
    store = ("--backend-store-uri", f"sqlite:///{tmp_path / 'server.db'}")
    store += ("--artifacts-destination", str(tmp_path / "artifacts"))
    with serving(tmp_path, port, *store) as uri:
        driver = start_cli(file, "--out", out, "--tracking-uri", uri)
        _wait_for(lambda: len(_children(uri)) >= 1, driver)
    num_before = len(finished_counts(out))
    assert num_before < 4, "the server fails while trials run"

    if is_back == "before the end":
        _wait_for(lambda: len(finished_counts(out)) > num_before, driver)
        with serving(tmp_path, port, *store):
            stdout, stderr = driver.communicate(timeout=120)
            assert "completes it" not in stdout
            assert sorted(_children(uri)) == sorted(finished_counts(out))
    else:
        stdout, stderr = driver.communicate(timeout=120)
        assert f"--resume {out} completes it" in stdout
    assert driver.returncode == 0, stderr
    assert (stdout + stderr).count("The sweep goes on") == 1
    assert list(trials_of(out)["state"]) == ["completed"] * 4

    with serving(tmp_path, port, *store):
        again = run_cli("--resume", out)
        assert again.returncode == 0, again.stderr
        assert sorted(_children(uri)) == sorted(finished_counts(out)), "one child a trial"
        assert f"{uri}/#/experiments/" in again.stdout


@pytest.mark.parametrize("executor", ["inline", pytest.param("ray", marks=pytest.mark.slow)])
def test_a_full_disk_ends_a_sweep_that_can_be_resumed(
    run_cli: RunCli, sweep_file: WriteSweep, tmp_path: Path, executor: str
) -> None:
    out, common = tmp_path / "run", ("--no-mlflow", "--executor", executor)

    done = run_cli(
        sweep_file(epochs=8), "--out", out, *common, module="tests.orchestrator.on_a_full_disk"
    )

    assert done.returncode == 1, done.stderr
    said = "error: there is no room left to write: [Errno 27] File too large\nto go on: "
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    before = finished_counts(out)
    assert 1 <= len(before) < 4
    again = run_cli("--resume", out, *common)
    assert again.returncode == 0, again.stderr
    assert set(finished_counts(out).values()) == {1}
    assert list(trials_of(out)["state"]) == ["completed"] * 4


def test_a_disk_that_is_full_for_the_report_alone_is_no_wrong_request(
    run_cli: RunCli, sweep_file: WriteSweep, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    done = run_cli(
        sweep_file("step_ms=choice(4.0)"), "--out", out, "--no-mlflow", "--executor", "inline",
        module="tests.orchestrator.on_a_full_disk", env={"ROOM_BYTES": "1000000"},
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert "error: there is no room left to write" in done.stderr
    assert "Traceback" not in done.stderr
    assert list(trials_of(out)["state"]) == ["completed"]
    assert not (out / "report.html").exists()
    assert not list(out.glob(".*.tmp")), "half a file"
