"""A finished run, made once, for the tests that only read it or a copy of it."""

import fcntl
import json
import os
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.forking import Finished
from tests.orchestrator.driver.never import write_never
from tests.orchestrator.driver.speed_sweeps import write_sweep
from tests.orchestrator.helpers.in_process import run_main
from tests.orchestrator.helpers.journalled import replace_in
from tests.orchestrator.tracking.journals import Scribe


@dataclass(frozen=True, kw_only=True)
class FinishedRun:
    """A run that has ended."""

    done: Finished  # what the command returned and printed
    file: Path  # the sweep file
    out: Path  # the run directory


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a sweep file ``never.py``."""
    monkeypatch.chdir(tmp_path)
    write_never(tmp_path)
    return tmp_path


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    return tmp_path / "run"


@pytest.fixture
def scribe(run_dir: Path) -> Scribe:
    """Writer of the journal of a run that has begun."""
    return Scribe(run_dir).sweep()


@pytest.fixture(scope="session")
def finished_run(tmp_path_factory: pytest.TempPathFactory) -> FinishedRun:
    """Run a sweep of four configs, two of which fail; nothing may write to its directory."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent  # of all workers, of which the first one runs it
    folder /= "finished"
    folder.mkdir(exist_ok=True)
    recorded = folder / "said.json"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not recorded.exists():
            recorded.write_text(json.dumps(asdict(_run(folder))))
    done = Finished(**json.loads(recorded.read_text()))
    return FinishedRun(done=done, file=folder / "speed.py", out=folder / "run")


def _run(folder: Path) -> Finished:
    space = "step_ms=choice(12.0, 4.0), act=choice('train', 'raise')"
    file = write_sweep(folder, space, confirm=2, baseline=12.0)
    words = (file, "--out", folder / "run", "--executor", "inline", "--no-mlflow")
    words += ("--on-end", "echo $SWEEP_EXIT_CODE $SWEEP_RUN > ended")
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.chdir(folder)
        monkeypatch.setenv("PYTHONPATH", str(ROOT))
        return run_main(*words, page=True)


@pytest.fixture
def copied_run(finished_run: FinishedRun, tmp_path: Path) -> FinishedRun:
    """Copy the finished run and its sweep file, to change and to resume."""
    file = shutil.copy(finished_run.file, tmp_path / finished_run.file.name)
    out = shutil.copytree(finished_run.out, tmp_path / "run")
    for path in (out / "sweep.json", out / "journal.jsonl"):
        replace_in(path, (str(finished_run.file), str(file)))
    return FinishedRun(done=finished_run.done, file=Path(file), out=out)
