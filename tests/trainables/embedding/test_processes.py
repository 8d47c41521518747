from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.conftest import ROOT
from tests.leaks import alive_after
from tests.leaks import children as all_children
from trainables.embedding.processes import shared_out


@pytest.fixture
def before() -> set[psutil.Process]:
    """Return the processes that other tests of this process have left to those after them."""
    return set(all_children())


def note(folder: Path, task: int) -> None:
    (folder / f"{task}").write_text(str(os.getpid()))


def test_every_task_is_done_once_in_processes_of_their_own(
    tmp_path: Path, before: set[psutil.Process]
) -> None:
    def work(task: int) -> None:
        assert not (tmp_path / f"{task}").exists()
        note(tmp_path, task)

    assert shared_out(work, range(9), 3) == 3
    done = {int(path.name): int(path.read_text()) for path in tmp_path.iterdir()}
    assert set(done) == set(range(9))
    assert len(set(done.values())) == 3
    assert os.getpid() not in done.values()
    assert set(all_children()) <= before


def test_no_more_processes_than_tasks_and_one_is_the_caller_itself(tmp_path: Path) -> None:
    assert shared_out(lambda task: note(tmp_path, task), range(2), 8) == 2
    assert shared_out(lambda task: note(tmp_path, task), range(2), 1) == 1
    assert (tmp_path / "0").read_text() == str(os.getpid())


def test_a_failure_ends_the_others_and_is_said(
    capfd: pytest.CaptureFixture[str], before: set[psutil.Process]
) -> None:
    def work(task: int) -> None:
        if task == 0:
            raise OSError("no room left")

    with pytest.raises(RuntimeError, match="part-0 ended with 1"):
        shared_out(work, range(2), 2)
    assert "no room left" in capfd.readouterr().err
    assert set(all_children()) <= before


FEW_FILES = """
import os, resource, sys
from pathlib import Path
from trainables.embedding.processes import shared_out

def num_open():
    return sum(1 for _ in Path("/dev/fd").iterdir())

limit = num_open() + int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
folder = Path(sys.argv[2])

def work(task):
    with (folder / str(task)).open("w") as file:
        file.write(str(num_open()))

count = shared_out(work, range(64), 32)
most = max(int(path.read_text()) for path in folder.iterdir())
print(count, most, limit, len(list(folder.iterdir())))
"""


@pytest.mark.parametrize(("free", "expected"), [(4, 1), (16 + 4 * 5 + 1, 5), (400, 32)])
def test_open_files_bound_the_number_of_processes(free: int, expected: int, tmp_path: Path) -> None:
    finished = subprocess.run(
        [sys.executable, "-c", FEW_FILES, str(free), str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    count, most, limit, done = map(int, finished.stdout.split())
    assert (count, done) == (expected, 64)
    assert most < limit


KILLED = """
import sys, time
from trainables.embedding.processes import shared_out

def work(task):
    sys.stdout.write("working\\n")
    sys.stdout.flush()
    time.sleep(100)

shared_out(work, range(2), 2)
"""


def test_processes_end_with_the_caller() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    with process.stdout:
        assert [process.stdout.readline() for _ in range(2)] == ["working\n"] * 2
        workers = psutil.Process(process.pid).children()
        assert len(workers) == 2
        process.kill()
        process.wait()
    assert alive_after([worker.pid for worker in workers], within_s=5) == []
