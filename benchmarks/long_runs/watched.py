"""A driver's run, watched from outside: its CPU time and memory by what it has done."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from orchestrator.storage.files import RunFile
from orchestrator.storage.journal import read_journal

ROOT = Path(__file__).resolve().parents[2]
PERIOD_S = 0.5


@dataclass(frozen=True, kw_only=True)
class Look:
    """One look at a run.

    Attributes:
        at_s: Seconds since the command was started.
        cpu_s: CPU time of the driver's process.
        resident: Its resident memory in bytes.
        num_done: Lines of the journal of one kind so far.
    """

    at_s: float
    cpu_s: float
    resident: int
    num_done: int


@dataclass(frozen=True, kw_only=True)
class Watched:
    """A run that has ended.

    Attributes:
        wall_s: The whole command.
        looks: Looks at it, in order.
        last_lines: What it printed last.
        mlflow_s: Seconds from the end of its last trial to that of the command.
    """

    wall_s: float
    looks: Sequence[Look]
    last_lines: Sequence[str]
    mlflow_s: float

    def part(self, begin: float, end: float) -> tuple[Look, Look]:
        """Return the looks at which a part of what was done began and ended, as shares of it."""
        most = self.looks[-1].num_done
        first, last = (
            next(look for look in self.looks if look.num_done >= share * most)
            for share in (begin, end)
        )
        return first, last

    def per_trial(self, begin: float, end: float) -> tuple[float, float, float]:
        """Return wall time, the driver's CPU time (s) and its growth (KiB) a trial in a part."""
        first, last = self.part(begin, end)
        num = max(1, last.num_done - first.num_done)
        grown = (last.resident - first.resident) / 1024
        return (last.at_s - first.at_s) / num, (last.cpu_s - first.cpu_s) / num, grown / num

    @property
    def busy_cores(self) -> float:
        """CPU time of the driver over the time in which most was done."""
        first, last = self.part(0.05, 0.95)
        return (last.cpu_s - first.cpu_s) / (last.at_s - first.at_s)


class _Tail:
    """Counts lines of one kind in a file that grows."""

    def __init__(self, path: Path, event: str) -> None:
        self._path, self._mark, self._offset, self._num = path, f'"event":"{event}"'.encode(), 0, 0

    def count(self) -> int:
        with suppress(FileNotFoundError), self._path.open("rb") as file:
            file.seek(self._offset)
            new = file.read()
            whole = new[: new.rfind(b"\n") + 1]
            self._offset += len(whole)
            self._num += whole.count(self._mark)
        return self._num


def watch(
    arguments: Sequence[str | Path],
    run_dir: Path,
    *,
    cwd: Path,
    counted: str = "finished",
    environment: Mapping[str, str] = {},
) -> Watched:
    """Run ``python -m orchestrator ARGUMENTS`` and watch its driver.

    Raises:
        RuntimeError: It failed; the message holds its output.
    """
    output = cwd / f"{run_dir.name}.txt"
    began = time.perf_counter()
    with output.open("wb") as file:
        driver = psutil.Popen(
            [sys.executable, "-m", "orchestrator", *map(str, arguments)],
            cwd=cwd,
            env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
        )
    tail, looks = _Tail(run_dir / RunFile.JOURNAL, counted), list[Look]()
    while driver.poll() is None:
        with suppress(psutil.Error):
            times, at = driver.cpu_times(), time.perf_counter() - began
            resident, num = driver.memory_info().rss, tail.count()
            look = Look(at_s=at, cpu_s=times.user + times.system, resident=resident, num_done=num)
            looks.append(look)
        time.sleep(PERIOD_S)
    ended = time.time()
    lines = output.read_text().splitlines()
    if driver.returncode:
        raise RuntimeError("\n".join([f"exit code {driver.returncode}", *lines[-30:]]))
    *_, last = (e["at"] for e in read_journal(run_dir / RunFile.JOURNAL) if e["event"] == "ended")
    return Watched(
        wall_s=time.perf_counter() - began,
        looks=looks,
        last_lines=lines[-15:],
        mlflow_s=ended - last,
    )


def mlflow_runs(database: Path) -> tuple[int, int]:
    """Return the runs in a database that were not deleted, and how many of them have ended."""
    import sqlite3

    with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as connection:
        query = "select status from runs where lifecycle_stage = 'active'"
        states = [row[0] for row in connection.execute(query)]
    return len(states), sum(state != "RUNNING" for state in states)
