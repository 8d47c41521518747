"""Schedules of faults from a seed: a sweep resumes until it ends, and equals an undisturbed one."""

import random
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

from orchestrator.analysis.recommendation.choice import choose
from orchestrator.analysis.recommendation.front import front_table
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.kernel import journal
from orchestrator.kernel.events import deaths_of
from orchestrator.kernel.journal import read_journal
from orchestrator.kernel.loop import MOST_DEATHS
from orchestrator.storage.files import RunFile
from orchestrator.storage.history import SweepHistory, read_history
from orchestrator.storage.tables import trials_of
from tests.simulation.disk import Fault
from tests.simulation.machine import DECODE, MachineState
from tests.simulation.sweeps import CASES, Case

KINDS = ("kill", "kill", "cut", "cut", "eio", "enospc", "full", "jump", "interrupt")
MOST_FAULTS = 3
_OF_TIME = ("started_at", "wall_s", "node")


@contextmanager
def machine(case: Case, seed: object) -> Iterator[MachineState]:
    """Yield a new machine for a sweep."""
    shm = "/dev/shm" if Path("/dev/shm").is_dir() else None
    folder = tempfile.TemporaryDirectory(prefix="simulation-", dir=shm)
    with folder as root, patch.object(journal, "decode", DECODE):
        yield MachineState(case, Path(root), random.Random(repr(seed)))


def rows_of(made: MachineState) -> tuple[SweepHistory, list[dict[str, Any]]]:
    """Return the rows of a run, sorted, without their times."""
    history = read_history(read_journal(made.run_dir / RunFile.JOURNAL))
    rows = [trial.row() for trial in history.trials.values() if trial.result is not None]
    plain = [{k: v for k, v in row.items() if k not in _OF_TIME} for row in rows]
    return history, sorted(plain, key=lambda row: str(row["trial_id"]))


_ANSWERS: dict[str, tuple[str, str]] = {}


def answer_of(history: SweepHistory, rows: Sequence[dict[str, Any]]) -> tuple[str, str]:
    """Return the front and the recommendation of a run, in words."""
    if (key := repr(rows)) not in _ANSWERS:
        tables = RunTables(trials=trials_of(history), sweep=history.sweep)
        chosen = getattr(choose(tables), "config", None)
        _ANSWERS[key] = front_table(tables).to_csv(index=False), repr(chosen)
    return _ANSWERS[key]


@cache
def undisturbed(case: Case) -> tuple[list[dict[str, Any]], tuple[str, str], int]:
    """Return rows, answer and number of steps of a sweep without faults."""
    with machine(case, "undisturbed") as made:
        made.drive(None)
        assert made.has_ended, made.output
        assert not made.wrong, made.wrong
        history, rows = rows_of(made)
        return rows, answer_of(history, rows), made.disk.num_steps


def played(seed: int) -> list[str]:
    """Play the schedule of a seed; return the violations."""
    return play(*schedule(seed), seed)


def schedule(seed: int) -> tuple[Case, list[Fault]]:
    """Return the sweep of a seed, and the fault of each process of it."""
    rng = random.Random(f"schedule {seed}")
    case = rng.choice(CASES)
    most = undisturbed(case)[2]
    num = rng.randint(1, MOST_FAULTS)
    return case, [Fault(rng.choice(KINDS), rng.randint(1, most)) for _ in range(num)]


def play(case: Case, faults: Sequence[Fault], seed: object) -> list[str]:
    """Play faults, a process each, then one more to the end; return the violations."""
    rows, answer, _ = undisturbed(case)
    with machine(case, seed) as made:
        for fault in faults:
            made.drive(fault)
            made.clock.elapsed += made.rng.uniform(0, 100)
            if made.rng.random() < 0.2:
                made.damage()
            if made.rng.random() < 0.3:  # another wall clock after a reboot
                made.clock.offset += made.rng.uniform(-1e5, 1e5)
        made.drive(None)
        if made.rng.random() < 0.5:
            made.disk.cut()
            made.clock.elapsed += 10
            made.judge(Fault("cut", 0), 0 if made.has_ended else 1)
        wrong = made.wrong
        if not made.has_ended:
            wrong.append(f"does not end: {made.output}")
        if wrong:
            return wrong
        history, own = rows_of(made)
        if aside := [row["trial_id"] for row in own if "set aside" in str(row.get("reason"))]:
            deaths = deaths_of(list(read_journal(made.journal)))
            wrong += [f"{trial} is set aside" for trial in aside if deaths[trial] < MOST_DEATHS]
        elif case.time_budget_s is not None:
            if not any(fault.kind != "jump" for fault in faults) and own != rows:
                wrong.append("a jump of the clock has changed what a budget has room for")
        elif own != rows:
            wrong.append(f"other rows: {[row for row in own if row not in rows][:1]}")
        elif answer_of(history, own) != answer:
            wrong.append("another answer")
        if not (made.run_dir / RunFile.ANSWER).exists():
            wrong.append("its answer is lost")
        return wrong
