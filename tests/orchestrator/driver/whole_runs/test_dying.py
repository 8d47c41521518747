"""Processes of Ray that die under a run: it ends and is resumed, or continues; nothing is lost."""

import subprocess
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tests.conftest import RunCli, StartCli
from tests.orchestrator.driver.speed_sweeps import (
    ended,
    finished_counts,
    is_last_line,
    journal_text,
    trials_of,
    wait_for,
    write_sweep,
)
from tests.orchestrator.helpers.journalled import lines_of

NOTICED_S = 30.0


def victims_of(driver: int, kind: str) -> list[psutil.Process]:
    """Return the raylet, the GCS or the supervisors below a driver."""
    names = {"raylet": ["raylet"], "GCS": ["gcs_server"]}.get(
        kind, ["TrialSupervisor", "ResourceTrainable.train"]
    )
    found = []
    for process in psutil.Process(driver).children(recursive=True):
        with suppress(psutil.Error):
            command = f"{process.name()} {' '.join(process.cmdline()[:1])}"
            if process.status() != psutil.STATUS_ZOMBIE and any(name in command for name in names):
                found.append(process)
    return found


def num_starts(run_dir: Path) -> int:
    return journal_text(run_dir).count('"event":"started"')


def wait_for_starts(count: int, run_dir: Path, driver: subprocess.Popen[str]) -> None:
    """Wait until trials have been started so often: once before Ray, and then by it."""
    wait_for(lambda: num_starts(run_dir) >= count, driver, within_s=180.0)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_run_ends_when_its_ray_dies_and_is_resumed(
    start_cli: StartCli, run_cli: RunCli, tmp_path: Path
) -> None:
    """One run: its raylet dies, then the GCS of the resumed one."""
    out = tmp_path / "run"
    file = write_sweep(tmp_path, "step_ms=choice(4.0, 3.8, 3.6, 3.4)", epochs=40, shared=True)
    words: tuple[str | Path, ...] = (file, "--out", out, "--no-mlflow")
    for kind, starts in (("raylet", 2), ("GCS", 4)):
        driver = start_cli(*words)
        wait_for_starts(num_starts(out) + starts, out, driver)
        below = psutil.Process(driver.pid).children(recursive=True)
        victims_of(driver.pid, kind)[0].kill()
        killed_at = time.time()
        stdout, stderr = ended(driver, 1, within_s=200)

        name = {"GCS": "gcs_server"}.get(kind, kind)
        assert f"error: Ray's {name} has died" in stderr
        assert is_last_line(f"--resume {out}", stdout)
        events = lines_of(out / "journal.jsonl")
        assert (events[-1]["event"], events[-1]["exit_code"]) == ("ended", 1)
        assert events[-1]["at"] - killed_at < NOTICED_S
        assert psutil.wait_procs(below, timeout=10)[1] == [], "nothing of Ray is left"
        words = ("--resume", out)
    before = {e["trial_id"]: e["result"]["state"] for e in events if e["event"] == "finished"}
    assert set(before.values()) == {"completed"}, "those that were running have no row"

    run_cli(*words, "--executor", "inline")
    assert set(finished_counts(out).values()) == {1}
    assert list(trials_of(out)["state"]) == ["completed"] * 4


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_trial_is_retried_when_its_supervisor_dies(start_cli: StartCli, tmp_path: Path) -> None:
    out = tmp_path / "run"
    file = write_sweep(tmp_path, "step_ms=choice(4.0, 2.0)", epochs=160, shared=True)
    file.write_text(file.read_text().replace("retries=0", "retries=1"))
    uri = f"sqlite:///{tmp_path}/mlflow.db"
    driver = start_cli(file, "--out", out, "--tracking-uri", uri)
    wait_for_starts(3, out, driver)
    for process in victims_of(driver.pid, "supervisor"):  # Tune keeps one that has no trial yet
        process.kill()
    wait_for_starts(num_starts(out) + 1, out, driver)
    stdout, _ = ended(driver, 0, within_s=200)

    assert "is tried again, since it failed: the trial's supervisor on " in stdout, stdout
    assert "MLflow:" in stdout, "it has all of the run"
    trials = trials_of(out)
    assert list(trials["state"]) == ["completed"] * 2
    assert "2" in set(trials["tags.attempts"])
