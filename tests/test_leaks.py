"""The guard around every test finds what a test leaves behind, and nothing else."""

import multiprocessing
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.leaks import alive_after, guarding

DAEMON = """
import os, time
if os.fork(): os._exit(0)
os.setsid()
if os.fork(): os._exit(0)
time.sleep(60)
"""


def left_by(block: Callable[[], object], checkout: Path) -> str:
    """Return the guard's message about ``block``."""
    found: list[str] = []
    with guarding(checkout, fail=found.append, grace_s=0.5):
        block()
    return "".join(found)


def test_a_clean_block_passes(tmp_path: Path) -> None:
    def tidy() -> None:
        subprocess.run([sys.executable, "-c", ""], check=True)
        multiprocessing.get_context("spawn").Lock()  # starts Python's resource tracker

    assert left_by(tidy, tmp_path) == ""


def test_a_child_that_stays_is_named_and_killed(tmp_path: Path) -> None:
    children: list[subprocess.Popen[bytes]] = []
    found = left_by(lambda: children.append(subprocess.Popen(["sleep", "61"])), tmp_path)
    assert "sleep 61" in found
    assert alive_after([children[0].pid], within_s=10) == []
    children[0].wait()


def test_a_daemon_that_stays_is_named_and_killed(tmp_path: Path) -> None:
    found = left_by(lambda: subprocess.run([sys.executable, "-c", DAEMON], check=True), tmp_path)
    assert "os.setsid()" in found
    pids = [int(pid) for pid in re.findall(r"process (\d+): ", found)]
    assert alive_after(pids, within_s=10) == []


def test_variables_are_named_and_put_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEAK_CHANGED", "before")
    found = left_by(lambda: os.environ.update(LEAK_CHANGED="after", LEAK_NEW="1"), tmp_path)
    assert "LEAK_CHANGED='after'" in found
    assert "LEAK_NEW='1'" in found
    assert os.environ["LEAK_CHANGED"] == "before"
    assert "LEAK_NEW" not in os.environ


@pytest.mark.parametrize("folder", ["", "runs"])
def test_files_in_the_checkout_are_named(tmp_path: Path, folder: str) -> None:
    (tmp_path / folder).mkdir(exist_ok=True)
    assert "mlflow.db" in left_by((tmp_path / folder / "mlflow.db").touch, tmp_path)


def test_a_temporary_folder_that_stays_is_named(tmp_path: Path) -> None:
    left: list[str] = []
    found = left_by(lambda: left.append(tempfile.mkdtemp(prefix="sweep-")), tmp_path)
    Path(left[0]).rmdir()
    assert left[0] in found
