"""A round of a campaign of kills: one command of a sweep, with its kills and what came of it."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
import uuid
from collections import Counter
from contextlib import closing, suppress
from pathlib import Path
from types import TracebackType
from typing import Final

import psutil

from benchmarks.reliability.kills.victims import victims_of
from benchmarks.reliability.leaks import MARK, Witness
from benchmarks.reliability.table import Counts
from benchmarks.reliability.toy_sweep import NUM_TRIALS
from benchmarks.side_by_side import ROOT
from orchestrator.storage.journal import read_journal

_CODES: Final = {"driver": -9, "raylet": 1, "agent": 1, "GCS": 1}
"""Exit codes of a command that ends by a kill, of the kinds that end it."""

LIMIT_S: Final = 300.0
"""Longest that a command may take; under load a whole sweep takes a minute."""
END_LIMIT_S: Final = 150.0
"""Longest until a command has ended after a kill that ends it: tables and report, under load."""
TYPICAL_S: Final = 25.0
"""What a whole sweep takes without load."""
GAP_S: Final = (1.0, 6.0)
"""Shortest and longest time between two kills in one command."""
MOST_KILLS: Final = {"MLflow mirror": 3}
"""Kills in one command that goes on all the same, by kind, else five: a trial has six retries."""

_SWEEP: Final = ROOT / "benchmarks" / "reliability" / "toy_sweep.py"


class Campaign:
    """Kills of one kind, in one sweep after another."""

    def __init__(self, kind: str, moments: random.Random) -> None:
        """Begin with no sweep.

        Args:
            kind: What is killed.
            moments: Draws the moments.
        """
        self._kind, self._moments = kind, moments
        self._folder = Path(tempfile.mkdtemp(prefix="kills-"))
        self._run_dir: Path | None = None

    def __enter__(self) -> Campaign:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    def round(self, most: int) -> tuple[Counts, list[str]]:
        """Run one command, with at most so many kills; return the counts and what is remarkable."""
        return self._command(
            min(most, 1 if self._kind in _CODES else MOST_KILLS.get(self._kind, 5))
        )

    def last_sweep(self) -> tuple[Counts, list[str]]:
        """Run the sweep that is under way to its end, with no kill."""
        return self._command(0) if self._run_dir is not None else (Counts(), [])

    def _command(self, most: int) -> tuple[Counts, list[str]]:
        mark, temporary = uuid.uuid4().hex, Path(tempfile.mkdtemp(prefix="k-"))
        witness = Witness(mark, temporary)
        driver = self._start(mark, temporary)
        try:
            kills, ended_in_time = self._kill(driver, witness, most)
            output = self._output()
            remarks = [f"hung: {self._kind}"] if not ended_in_time else []
            left = witness.left()
        finally:
            with suppress(ProcessLookupError):
                driver.kill()
            driver.wait()
            shutil.rmtree(temporary, ignore_errors=True)
        expected = (0, _CODES.get(self._kind, 0)) if kills else (0,)  # 0: it had done all
        is_wrong = ended_in_time and driver.returncode not in expected
        if is_wrong:
            remarks.append(f"exit code {driver.returncode}: {output[-1500:]}")
        has_traceback = "Traceback" in output
        if has_traceback:
            remarks.append(output[output.index("Traceback") :][:3000])
        counts = Counts(
            rounds=kills,
            hung=not ended_in_time,
            tracebacks=has_traceback,
            leaks=len(left),
            wrong=is_wrong,
        )
        finished, of_sweep = self._of_sweep(driver.returncode)
        return counts + finished, remarks + left + of_sweep

    def _start(self, mark: str, temporary: Path) -> subprocess.Popen[bytes]:
        if self._run_dir is None or not (self._run_dir / "journal.jsonl").exists():
            self._run_dir = self._folder / uuid.uuid4().hex[:8]
            arguments = [str(_SWEEP), "--out", str(self._run_dir)]
        else:
            arguments = ["--resume", str(self._run_dir)]
        environment = {
            **os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1", MARK: mark,
            "TMPDIR": str(temporary), "SWEEP_CACHE": str(self._folder / "cache"),
            "SWEEP_LEASES": str(self._folder / "leases"),  # no sweep beside it is waited for
        }  # fmt: skip
        uri = f"sqlite:///{self._database()}"
        with (self._folder / "output").open("wb") as output:
            return subprocess.Popen(
                [sys.executable, "-m", "orchestrator", *arguments, "--tracking-uri", uri],
                cwd=self._folder, env=environment, stdin=subprocess.DEVNULL,
                stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip

    def _kill(
        self, driver: subprocess.Popen[bytes], witness: Witness, most: int
    ) -> tuple[int, bool]:
        """Kill while the command runs; return how often, and whether it ended in time."""
        began, kills = time.monotonic(), 0
        due = began + (self._moments.uniform(0, TYPICAL_S) if self._kind == "driver" else 0)
        while driver.poll() is None:
            now = time.monotonic()
            if now > began + LIMIT_S:
                return kills, False
            witness.look(driver.pid)
            if kills < most and now >= due and (self._kind == "driver" or self._runs_trials()):
                if self._kind != "driver" and due == began:
                    due = now + self._moments.uniform(0, GAP_S[1])  # the first since trials run
                elif self._kill_one(driver.pid):
                    kills += 1
                    due = now + self._moments.uniform(*GAP_S)
                    if self._kind in _CODES:
                        began = time.monotonic() - LIMIT_S + END_LIMIT_S
            time.sleep(0.05)
        return kills, True

    def _kill_one(self, driver: int) -> bool:
        found = victims_of(driver, self._kind)
        if not found:
            return False
        try:
            self._moments.choice(found).kill()
        except psutil.NoSuchProcess:
            return False
        return True

    # -- what the run directory says

    def _journal(self) -> Path:
        assert self._run_dir is not None, "a command has been started"
        return self._run_dir / "journal.jsonl"

    def _events(self) -> list[str]:
        path = self._journal()
        return [event["event"] for event in read_journal(path)] if path.exists() else []

    def _runs_trials(self) -> bool:
        """Return True once this command has started a trial."""
        events = self._events()
        begun = max((i for i, e in enumerate(events) if e in ("sweep", "resumed")), default=0)
        return "started" in events[begun:]

    def _output(self) -> str:
        return (self._folder / "output").read_text(errors="replace")

    def _database(self) -> Path:
        assert self._run_dir is not None, "a command has been started"
        return self._run_dir.with_suffix(".db")

    def _of_sweep(self, code: int | None) -> tuple[Counts, list[str]]:
        """Return what a sweep that is complete has lost or repeated; the next one is another."""
        if code != 0 or "nothing is lost: --resume" in self._output():
            return Counts(), []  # it is gone on with
        results = [
            (event["trial_id"], event["result"])
            for event in read_journal(self._journal())
            if event["event"] == "finished"
        ]
        finished = Counter(trial for trial, _ in results)
        in_mlflow = Counter(_trials_in(self._database()))
        remarks = [
            f"{trial} is {row['state']}: {row['reason']}"
            for trial, row in results
            if row["state"] != "completed"
        ]
        lost = len(remarks)
        for where, trials in (("the journal", finished), ("MLflow", in_mlflow)):
            if len(trials) != NUM_TRIALS or trials.total() != NUM_TRIALS:
                remarks.append(f"{where} has {trials}")
            lost += NUM_TRIALS - len(trials)
        repeated = finished.total() - len(finished) + in_mlflow.total() - len(in_mlflow)
        self._run_dir = None
        return Counts(lost=lost, repeated=repeated), remarks


def _trials_in(database: Path) -> list[str]:
    """Return the trials of the child runs that MLflow has as finished."""
    with closing(sqlite3.connect(database)) as connection:
        rows = connection.execute(
            "SELECT t.value FROM runs r JOIN tags t ON t.run_uuid = r.run_uuid "
            "WHERE t.key = 'sweep.trial_id' AND r.lifecycle_stage = 'active' "
            "AND r.status = 'FINISHED'"
        )
        return [str(value) for (value,) in rows]
