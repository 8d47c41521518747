"""Ctrl-C and SIGTERM: the first ends a run in order, a second one at once; none loses anything."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from orchestrator.driver.signals import (
    EXIT_INTERRUPTED,
    EXIT_TERMINATED,
    Terminated,
    exit_code_of_interrupt,
    first_signal,
    sigterm_raises,
)
from tests.conftest import StartCli
from tests.orchestrator.driver.speed_sweeps import (
    finished_counts,
    is_last_line,
    journal_text,
    trials_of,
    wait_for,
    wait_for_finished,
    write_sweep,
)


def interrupted_as_within_ray() -> None:
    """Ray raises an interrupt of its own within its code, whatever the handler has raised."""
    try:
        signal.raise_signal(signal.SIGTERM)
        time.sleep(10)
    except KeyboardInterrupt:
        raise KeyboardInterrupt from None


def test_a_sigterm_within_rays_own_code_has_its_exit_code() -> None:
    with sigterm_raises(), pytest.raises(KeyboardInterrupt):
        interrupted_as_within_ray()
    assert exit_code_of_interrupt() == EXIT_TERMINATED
    with sigterm_raises(), pytest.raises(KeyboardInterrupt):
        raise KeyboardInterrupt
    assert exit_code_of_interrupt() == EXIT_INTERRUPTED


def test_the_first_signal_acts_and_the_second_is_as_before() -> None:
    acted: list[str] = []
    with sigterm_raises():
        with first_signal(lambda: acted.append("once")) as received:
            signal.raise_signal(signal.SIGTERM)
            assert (acted, received) == (["once"], [signal.SIGTERM])
            with pytest.raises(Terminated):
                signal.raise_signal(signal.SIGTERM)
        assert acted == ["once"]


def test_handlers_are_as_they_were_afterwards() -> None:
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.getsignal(number) for number in numbers]
    with sigterm_raises(), first_signal(lambda: None):
        assert [signal.getsignal(number) for number in numbers] != before
    assert [signal.getsignal(number) for number in numbers] == before


@pytest.mark.parametrize("executor", ["inline", pytest.param("ray", marks=pytest.mark.slow)])
def test_an_interrupted_sweep_says_how_to_resume(
    start_cli: StartCli, tmp_path: Path, executor: str
) -> None:
    out, file = tmp_path / "run", write_sweep(tmp_path, epochs=20, shared=True)
    driver = start_cli(file, "--out", out, "--no-mlflow", "--executor", executor)
    wait_for_finished(1, out, driver)
    driver.send_signal(signal.SIGINT)
    stdout, stderr = driver.communicate(timeout=40)

    assert driver.returncode == 130, stderr
    assert "Traceback" not in stderr
    assert f"--resume {out}" in stdout.strip().splitlines()[-1]
    assert len(trials_of(out)) == len(finished_counts(out)) < 4
    assert (out / "report.html").exists()


@pytest.mark.slow
def test_a_sigterm_to_the_whole_group_ends_a_sweep_as_one_to_the_driver(
    start_cli: StartCli, tmp_path: Path
) -> None:
    out, file = tmp_path / "run", write_sweep(tmp_path, epochs=20, shared=True)
    driver = start_cli(file, "--out", out, "--no-mlflow")
    wait_for_finished(1, out, driver)
    os.killpg(driver.pid, signal.SIGTERM)  # as timeout(1) and a batch system do
    stdout, stderr = driver.communicate(timeout=40)

    assert driver.returncode == 143, stderr
    assert f"--resume {out}" in stdout.strip().splitlines()[-1]
    assert len(trials_of(out)) == len(finished_counts(out)) < 4
    assert (out / "report.html").exists()


@pytest.mark.parametrize("executor", ["inline", pytest.param("ray", marks=pytest.mark.slow)])
def test_a_second_sigterm_ends_a_sweep_as_promised(
    start_cli: StartCli, tmp_path: Path, executor: str
) -> None:
    out = tmp_path / "run"
    driver = start_cli(
        write_sweep(tmp_path, epochs=50, shared=True), "--out", out, "--no-mlflow",
        "--executor", executor,
    )  # fmt: skip
    wait_for(lambda: '"report"' in journal_text(out), driver)
    driver.terminate()
    time.sleep(0.05)
    driver.terminate()
    stdout, stderr = driver.communicate(timeout=60)

    assert driver.returncode == 143, stderr
    assert "Traceback" not in stderr
    assert is_last_line(f"--resume {out}", stdout, stderr), stderr


@pytest.mark.slow
def test_sigterm_while_tables_are_written_waits_for_them(
    start_cli: StartCli, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    driver = start_cli(write_sweep(tmp_path, epochs=1, shared=True), "--out", out, "--no-mlflow")
    wait_for(lambda: '"ended"' in journal_text(out), driver)
    driver.terminate()
    stdout, stderr = driver.communicate(timeout=60)

    assert driver.returncode == 143, stderr
    assert "Traceback" not in stderr
    assert f"--resume {out}" in stderr.strip().splitlines()[-1]
    assert list(trials_of(out)["state"]) == ["completed"] * 4
    assert f"report:      {out}" in stdout


@pytest.mark.slow
def test_a_second_sigterm_while_tables_are_written_ends_it(
    start_cli: StartCli, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    uri = "http://127.0.0.1:9"  # where nothing answers it takes a while to give up
    file = write_sweep(tmp_path, epochs=1, shared=True)
    driver = start_cli(file, "--out", out, "--executor", "inline", "--tracking-uri", uri)
    wait_for(lambda: (out / "report.html").exists(), driver)
    driver.terminate()
    time.sleep(0.2)
    driver.terminate()
    _, stderr = driver.communicate(timeout=60)

    assert driver.returncode == 143, stderr
    assert "Traceback" not in stderr
    assert "again to end at once\ninterrupted: the tables and the report may be missing" in stderr
    assert f"--resume {out}" in stderr.strip().splitlines()[-1]


@pytest.mark.slow
def test_a_signal_while_tables_are_written_may_have_no_reader(
    start_cli: StartCli, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    driver = start_cli(
        write_sweep(tmp_path, epochs=1, shared=True),
        "--out",
        out,
        "--no-mlflow",
        "--executor",
        "inline",
    )
    wait_for(lambda: '"ended"' in journal_text(out), driver)
    assert driver.stderr is not None
    driver.stderr.close()
    driver.terminate()

    assert driver.wait(timeout=60) == 143
    assert list(trials_of(out)["state"]) == ["completed"] * 4
    assert (out / "report.html").exists()
