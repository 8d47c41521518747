"""A small sweep over the step of ``workload``, to run; and its run directory, read."""

import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tests.orchestrator.helpers.journalled import lines_of

SWEEP = """
from orchestrator import Isolation, Rigor, Sweep, choice, maximize, minimize
from orchestrator.search import {search_class}
from tests.orchestrator.execution.workload import Config, workload

SWEEP = Sweep(
    workload,
    question="Which step is fastest?",
    space=Config({space}),
    baseline=Config(step_ms={baseline}),
    epochs={epochs},
    search={search},
    rigor=Rigor(confirm={confirm}, max_confirm={confirm}, max_repeats={max_repeats},
                check_isolated=0, retries=0),
    cores_per_trial=1,
    isolation=Isolation.{isolation},
)
"""


def write_sweep(
    folder: Path,
    space: str = "step_ms=choice(4.0, 2.0, 1.0, 3.0)",
    *,
    epochs: int = 2,
    search: str = "Grid()",
    confirm: int = 0,
    baseline: float = 4.0,
    max_repeats: int = 1,
    shared: bool = False,
) -> Path:
    """Write ``speed.py`` into ``folder``; no trial is run again for other load where ``shared``."""
    path = folder / "speed.py"
    search_class = search.partition("(")[0]
    path.write_text(
        SWEEP.format(
            space=space, epochs=epochs, search=search, confirm=confirm,
            search_class=search_class, baseline=baseline, max_repeats=max_repeats,
            isolation="SHARED" if shared else "LEASED",
        )
    )  # fmt: skip
    return path


def journal_text(run_dir: Path) -> str:
    path = run_dir / "journal.jsonl"
    return path.read_text() if path.exists() else ""


def finished_counts(run_dir: Path) -> Counter[str]:
    """Count the ends of each trial; none before there is a journal."""
    path = run_dir / "journal.jsonl"
    events = lines_of(path) if path.exists() else ()
    return Counter(event["trial_id"] for event in events if event["event"] == "finished")


def trials_of(run_dir: Path) -> pd.DataFrame:
    return pd.read_parquet(run_dir / "trials.parquet")


def children_in_mlflow(uri: str) -> list[str]:
    """Return the trial ids of the child runs."""
    from mlflow import MlflowClient

    client = MlflowClient(uri)
    experiments = [experiment.experiment_id for experiment in client.search_experiments()]
    runs = client.search_runs(experiments, filter_string="tags.`mlflow.parentRunId` != ''")
    return [run.data.tags["sweep.trial_id"] for run in runs]


def wait_for(
    condition: Callable[[], object], driver: subprocess.Popen[Any], within_s: float = 60.0
) -> None:
    """Wait until ``condition`` is true; fail if the driver ends first or it takes too long."""
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        if condition():
            return
        if driver.poll() is not None:
            stdout, stderr = driver.communicate()
            pytest.fail(f"the driver ended first ({driver.returncode}):\n{stdout}\n{stderr}")
        time.sleep(0.02)
    os.kill(driver.pid, signal.SIGKILL)
    pytest.fail("it took too long")


def wait_for_finished(count: int, run_dir: Path, driver: subprocess.Popen[str]) -> None:
    """Wait until ``count`` trials have finished."""
    wait_for(lambda: len(finished_counts(run_dir)) >= count, driver)


def ended(driver: subprocess.Popen[str], code: int, within_s: float = 60.0) -> tuple[str, str]:
    """Wait for the end of a driver; return what it wrote: no traceback."""
    stdout, stderr = driver.communicate(timeout=within_s)
    assert driver.returncode == code, stderr
    assert "Traceback" not in stdout + stderr
    return stdout, stderr


def is_last_line(words: str, *streams: str) -> bool:
    """Return True if the last line of one of the streams has ``words`` in it."""
    return any(words in line for text in streams for line in text.strip().splitlines()[-1:])
