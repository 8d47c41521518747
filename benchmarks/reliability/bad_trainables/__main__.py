"""Trainables that misbehave: each has a row that says so, and costs no other trial anything.

    python -m benchmarks.reliability.bad_trainables

A sweep has a config for each way of :mod:`.misbehaviour`. It runs through Ray
and without it, with MLflow; then it is resumed and analysed.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

import pandas as pd

from benchmarks.reliability.bad_trainables.misbehaviour import WAYS
from benchmarks.reliability.bad_trainables.misdeeds import Way
from benchmarks.reliability.leaks import MARK, Witness
from benchmarks.reliability.table import Counts, table
from benchmarks.side_by_side import ROOT, environment_lines
from orchestrator.arguments import Parser

LIMIT_S: Final = 20.0
"""Longest that a way may take on the average; it is two seconds without other load."""
BEGIN_S: Final = 300.0
"""Longest until a command has begun, and until it has ended."""
MOST_OF_A_REASON: Final = 25_000
_SWEEP: Final = Path(__file__).with_name("sweep.py")
_CODES: Final = (0, 3)


def outcome(names: Sequence[str], executor: str, folder: Path) -> tuple[Counts, list[str]]:
    """Run a sweep of some ways, resume it and analyse it; return the counts and what is wrong."""
    mark, temporary = uuid.uuid4().hex, folder / "t"
    temporary.mkdir()
    witness = Witness(mark, temporary)
    env = {
        **os.environ, "PYTHONPATH": str(ROOT), MARK: mark, "TMPDIR": str(temporary),
        "SWEEP_CACHE": str(folder / "cache"), "SWEEP_LEASES": str(folder / "leases"),
        "WAYS": "\n".join(names),
    }  # fmt: skip
    run, database = folder / "run", folder / "mlflow.db"
    more = ["--executor", executor, "--tracking-uri", f"sqlite:///{database}"]
    counts, remarks = _command(
        ["orchestrator", str(_SWEEP), "--out", str(run), *more], folder, env, witness
    )
    left = witness.left()
    counts += Counts(leaks=len(left))
    remarks += left
    if not (run / "trials.parquet").exists():
        return counts + Counts(lost=len(names)), [*remarks, "there is no table"]
    rows = pd.read_parquet(run / "trials.parquet")
    for name in ("good", *names):
        found = rows[rows["params.way"] == name]
        problem = _wrong(WAYS[name], found)
        counts += Counts(
            rounds=1, lost=int(found.empty), wrong=int(bool(problem) and not found.empty)
        )
        remarks += [f"{name}: {problem}"] if problem else []
    counts += Counts(repeated=int(rows["params.way"].duplicated().sum()))
    in_mlflow = _children(database)
    if in_mlflow != len(rows):
        counts += Counts(wrong=1)
        remarks.append(f"MLflow has {in_mlflow} trials of {len(rows)}")
    before = (run / "journal.jsonl").read_bytes()
    for words in (["orchestrator", "--resume", str(run)], ["orchestrator.analysis", str(run)]):
        again, of_again = _command(words, folder, env, witness)
        counts += again
        remarks += of_again
    after = (run / "journal.jsonl").read_bytes()
    finished = b'"event":"finished"'
    counts += Counts(repeated=after.count(finished) - before.count(finished))
    return counts, remarks


def _command(
    words: Sequence[str], folder: Path, env: dict[str, str], witness: Witness
) -> tuple[Counts, list[str]]:
    """Run a command of the program to its end."""
    output = folder / "output"
    with output.open("wb") as file:
        driver = subprocess.Popen(
            [sys.executable, "-m", *words], cwd=folder, env=env, stdin=subprocess.DEVNULL,
            stdout=file, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        deadline = time.monotonic() + BEGIN_S + LIMIT_S * len(env["WAYS"].split("\n"))
        while driver.poll() is None and time.monotonic() < deadline:
            witness.look(driver.pid)
            time.sleep(0.05)
    is_hung = driver.poll() is None
    if is_hung:
        driver.kill()
        driver.wait()
    text = output.read_text(errors="replace")
    has_traceback = "Traceback (most recent call last)" in text
    is_wrong = driver.returncode not in _CODES
    counts = Counts(
        hung=int(is_hung), tracebacks=int(has_traceback), wrong=int(is_wrong and not is_hung)
    )
    return counts, [] if counts.is_clean else [f"{words[:2]}: {driver.returncode}", text[-6000:]]


def _wrong(way: Way, rows: pd.DataFrame) -> str:
    """Return what is wrong with the rows of a way, or an empty string."""
    if rows.empty:
        return "it has no row"
    row = rows.iloc[0]
    state, reason = str(row["state"]), "" if pd.isna(row["reason"]) else str(row["reason"])
    if state not in way.states:
        return f"{state}, not {' or '.join(way.states)}: {reason[:500]}"
    if way.says not in reason:
        return f"{state}, and says {reason[:500]!r}, not {way.says!r}"
    if state != "completed" and not reason:
        return f"{state}, without a reason"
    return f"a reason of {len(reason)} characters" if len(reason) > MOST_OF_A_REASON else ""


def _children(database: Path) -> int:
    """Return how many trials MLflow has whose runs have ended."""
    query = (
        "SELECT count(*) FROM runs r JOIN tags t ON t.run_uuid = r.run_uuid "
        "WHERE t.key = 'sweep.trial_id' AND r.status != 'RUNNING'"
    )
    with closing(sqlite3.connect(database)) as connection:
        return int(connection.execute(query).fetchone()[0])


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; return 1 where something went wrong."""
    parser = Parser(prog="python -m benchmarks.reliability.bad_trainables")
    parser.add_argument("--only", default="", help="part of a way's name; several with | between")
    parser.add_argument("--but", default="", help="parts of names to leave out, likewise")
    parser.add_argument("--executor", action="append", help="default: inline and ray")
    options = parser.parse_args(arguments)
    parts = options.only.split("|")
    names = [name for name in WAYS if name != "good" and any(part in name for part in parts)]
    if options.but:
        names = [n for n in names if not any(part in n for part in options.but.split("|"))]
    totals: dict[str, Counts] = {}
    for executor in options.executor or ("inline", "ray"):
        with tempfile.TemporaryDirectory(prefix="bad-", ignore_cleanup_errors=True) as folder:
            totals[executor], remarks = outcome(names, executor, Path(folder))
        for remark in remarks:
            sys.stderr.write(f"-- {executor}: {remark}\n")
    print("\n".join(environment_lines("ray", "torch", "mlflow")), end="\n\n")
    print(table(totals.items(), first="executor"))
    print(f"\n{len(names)} ways to misbehave")
    return 0 if sum(totals.values(), Counts()).is_clean else 1


if __name__ == "__main__":
    sys.exit(main())
