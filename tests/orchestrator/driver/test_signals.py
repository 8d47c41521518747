"""Signals: the first ends a run in order, a second one at once; none loses anything."""

import os
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from orchestrator.driver.signals import (
    ENDING,
    SAME_S,
    TERMINATING,
    exit_code_of_interrupt,
    first_signal,
    raise_if_terminated,
    signals_raise,
)
from orchestrator.system.lifeline import JOB_SIGNALS
from tests.conftest import RunCli, StartCli
from tests.orchestrator.driver.speed_sweeps import (
    ended,
    finished_counts,
    is_last_line,
    journal_text,
    trials_of,
    wait_for,
    wait_for_finished,
    write_sweep,
)


def interrupted_as_within_ray(number: int) -> None:
    """Raise a new interrupt whatever the handler has raised, as Ray does within its code."""
    try:
        signal.raise_signal(number)
        time.sleep(10)
    except KeyboardInterrupt:
        raise KeyboardInterrupt from None


@pytest.mark.parametrize("number", TERMINATING)
def test_a_signal_within_rays_own_code_has_its_exit_code(number: int) -> None:
    with signals_raise(), pytest.raises(KeyboardInterrupt):
        interrupted_as_within_ray(number)
    assert exit_code_of_interrupt() == 128 + number
    with pytest.raises(KeyboardInterrupt):
        raise_if_terminated()
    with signals_raise(), pytest.raises(KeyboardInterrupt):
        raise KeyboardInterrupt
    assert exit_code_of_interrupt() == 130
    raise_if_terminated()


def test_the_first_signal_acts_and_the_second_is_as_before() -> None:
    acted: list[str] = []
    with signals_raise():
        with first_signal(lambda: acted.append("once")) as received:
            signal.raise_signal(signal.SIGTERM)
            signal.raise_signal(signal.SIGTERM)  # at once: ``timeout`` sends it twice
            assert (acted, received) == (["once"], [signal.SIGTERM])
            time.sleep(SAME_S)
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGTERM)
        assert acted == ["once"]


def test_only_an_impatient_signal_ends_at_once_what_another_has_begun_to_end() -> None:
    acted: list[str] = []
    with signals_raise(), first_signal(lambda: acted.append("once")) as received:
        for _ in range(2):
            for number in (signal.SIGUSR1, signal.SIGHUP):  # a terminal and its shell both send it
                signal.raise_signal(number)
            time.sleep(SAME_S)
        signal.raise_signal(signal.SIGTERM)
        assert acted == ["once"]
        assert received == [signal.SIGUSR1, signal.SIGHUP, signal.SIGTERM]


def test_handlers_are_as_they_were_afterwards() -> None:
    before = [signal.getsignal(number) for number in ENDING]
    with signals_raise(), first_signal(lambda: None):
        assert all(signal.getsignal(n) != was for n, was in zip(ENDING, before, strict=True))
    assert [signal.getsignal(number) for number in ENDING] == before


def test_what_nohup_ignores_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with signals_raise(), first_signal(pytest.fail):
            signal.raise_signal(signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def family(driver: subprocess.Popen[Any]) -> list[psutil.Process]:
    """All processes of a run, whatever session they are in."""
    first = psutil.Process(driver.pid)
    return [first, *first.children(recursive=True)]


INLINE = ("--no-mlflow", "--executor", "inline")
RAY = ("--no-mlflow", "--executor", "ray")
RAY_AND_MLFLOW = ("--tracking-uri", "sqlite:///mlflow.db")


@pytest.mark.parametrize(
    ("number", "place", "options"),
    [
        (signal.SIGINT, "driver", INLINE),
        pytest.param(signal.SIGHUP, "group", INLINE, marks=pytest.mark.slow),
        # As a terminal does: Ray has its own handler for it.
        pytest.param(signal.SIGINT, "group", RAY, marks=pytest.mark.slow),
        # As batch systems and service managers do.
        pytest.param(signal.SIGTERM, "scope", RAY_AND_MLFLOW, marks=pytest.mark.slow),
    ],
)
def test_a_signal_ends_a_sweep_which_prints_how_to_resume(
    start_cli: StartCli,
    tmp_path: Path,
    number: signal.Signals,
    place: str,
    options: tuple[str, ...],
) -> None:
    out, file = tmp_path / "run", write_sweep(tmp_path, epochs=20, shared=True)
    driver = start_cli(file, "--out", out, *options)
    wait_for_finished(1, out, driver)
    if place == "group":  # timeout(1) does so, too
        os.killpg(driver.pid, number)
    elif place == "driver":
        driver.send_signal(number)
    else:
        first, *others = family(driver)
        for process in others:
            with suppress(psutil.NoSuchProcess):
                for each in JOB_SIGNALS:  # they leave all of them to the driver
                    process.send_signal(each)
        first.send_signal(number)
    stdout, _ = ended(driver, 128 + number)

    assert ("MLflow:      " in stdout) == (options is RAY_AND_MLFLOW)
    assert f"--resume {out}" in stdout.strip().splitlines()[-1]
    assert len(trials_of(out)) == len(finished_counts(out)) < 4
    assert (out / "report.html").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("executor", "number"), [("inline", signal.SIGINT), ("ray", signal.SIGTERM)]
)
def test_a_second_signal_ends_a_sweep_at_once_and_loses_nothing(
    start_cli: StartCli, run_cli: RunCli, tmp_path: Path, executor: str, number: signal.Signals
) -> None:
    out, file = tmp_path / "run", write_sweep(tmp_path, epochs=20, shared=True)
    driver = start_cli(file, "--out", out, "--no-mlflow", "--executor", executor)
    wait_for_finished(1, out, driver)
    driver.send_signal(number)
    time.sleep(2 * SAME_S)
    driver.send_signal(number)
    stdout, stderr = ended(driver, 128 + number)

    assert is_last_line(f"--resume {out}", stdout, stderr), stderr

    run_cli("--resume", out, "--executor", "inline")
    assert set(finished_counts(out).values()) == {1}
    assert list(trials_of(out)["state"]) == ["completed"] * 4


@pytest.mark.slow
def test_sigterm_while_tables_are_written_waits_for_them(
    start_cli: StartCli, tmp_path: Path
) -> None:
    out, file = tmp_path / "run", write_sweep(tmp_path, epochs=1, shared=True)
    driver = start_cli(file, "--out", out, *INLINE)
    wait_for(lambda: '"ended"' in journal_text(out), driver)
    driver.terminate()
    stdout, stderr = ended(driver, 143)

    assert list(trials_of(out)["state"]) == ["completed"] * 4
    assert f"report:      {out}" in stdout
    assert f"--resume {out}" in stderr.strip().splitlines()[-1]


@pytest.mark.slow
def test_signal_while_ray_starts_leaves_nothing_behind(start_cli: StartCli, tmp_path: Path) -> None:
    out, file = tmp_path / "run", write_sweep(tmp_path, epochs=20, shared=True)
    with tempfile.TemporaryDirectory(prefix="t-", dir="/tmp") as folder:
        driver = start_cli(file, "--out", out, "--no-mlflow", env={"TMPDIR": folder})
        wait_for(lambda: "gcs_server" in [each.name() for each in family(driver)], driver)
        started = family(driver)[1:]
        driver.terminate()
        stdout, stderr = ended(driver, 143)

        assert is_last_line(f"--resume {out}", stdout, stderr), stderr
        assert (out / "report.html").exists()
        _, alive = psutil.wait_procs(started, timeout=20)
        assert not alive
        assert not list(Path(folder).iterdir())
