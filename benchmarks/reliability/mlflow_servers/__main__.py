"""MLflow's server fails at the start, midway or at the end of a run: no trial is lost.

    python -m benchmarks.reliability.mlflow_servers

A server in front of MLflow's own fails in each way of :mod:`.proxy`. At the start it behaves well
after some trials, midway after some seconds, at the end not before the run has ended; then
``--resume`` brings MLflow up to date. The run is to end in time, with all its trials, its usual
exit code and one line on MLflow. Who reads from such a server is to be told in time, too. Trials
are made up: each takes two seconds.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from benchmarks.reliability.made_trials import NUM_TRIALS, TRIAL_S, write_sweep
from benchmarks.reliability.mlflow_servers.proxy import DOWN, FAULTS, WELL, Proxy
from benchmarks.reliability.table import Counts, table
from benchmarks.reliability.tracking_uris.__main__ import server
from benchmarks.side_by_side import ROOT, environment_lines
from orchestrator.arguments import Parser

PHASES: Final = ("start", "midway", "end")
LIMIT_S: Final = 300.0
"""Longest that a run may take: its trials, two minutes for MLflow, and what a busy machine adds."""
_SECRET: Final = "Zq7-s3cr3t"
_DRIVER: Final = (
    "import sys; from benchmarks.reliability.made_trials import make_trials_up; make_trials_up(); "
    "from %s import main; sys.exit(main(sys.argv[1:]))"
)
_MET: Final = 1
"""Requests that a fault is to have met before it is over."""
_MIDWAY_S: Final = 4.0
"""Shortest fault midway."""
_NUM_POINTS: Final = 2
"""Points of a metric that a made-up trial has: one a report."""
_ANSWERS: Final = ("takes 5 s for each answer",)
"""Faults with which MLflow can be read."""
_DONE: Final = "MLflow:      "


def outcome(fault: str, phase: str, folder: Path, backend: str) -> tuple[Counts, list[str]]:
    """Make one fault in one phase of a run, and resume that; return what came of it."""
    folder.mkdir(parents=True)
    (folder / "tmp").mkdir()
    proxy, run, remarks = Proxy(backend), folder / "run", list[str]()
    name = f"{fault}, {phase}"
    uri = f"http://me:{_SECRET}@127.0.0.1:{proxy.port}"
    words = [str(write_sweep(folder)), "--out", str(run), "--experiment", name]
    with proxy.listening():
        proxy.become(fault if phase == "start" else WELL)
        code, text = _run(
            [*words, "--executor", "inline"], uri, folder, lambda: _step(proxy, fault, phase, run)
        )
        counts = _counted(code, text, run)
        says = [line for line in text.splitlines() if "MLflow" in line and "waiting" not in line]
        is_whole = _DONE in text
        if is_whole and not _is_whole(folder.parent / "server" / "server.db", name):
            remarks.append("it says that MLflow has all, which it has not")
        if not is_whole and not any(f"--resume {run}" in line for line in says):
            remarks.append("it does not say how to complete MLflow")
        if len(says) > 2:
            remarks.append(f"{len(says)} lines on MLflow")
        if proxy.num_bad == 0 and fault != DOWN:
            remarks.append("the fault was not met")
        if phase == "end" and fault not in _ANSWERS:
            reading = ["show", "nothing", "--tracking-uri", uri]
            code, read = _run(reading, uri, folder, lambda: None, "orchestrator.analysis.__main__")
            if code != 2 or "Traceback" in read or not read.startswith("error: "):
                remarks.append(f"reading from it: {code}: {read[-800:]}")
        proxy.become(WELL)
        code, again = _run(["--resume", str(run)], uri, folder, lambda: None)
        counts += _counted(code, again, run)
        if not _is_whole(folder.parent / "server" / "server.db", name):
            remarks.append("MLflow is not whole after --resume")
    seen = [path.name for path in _files(folder) if _SECRET.encode() in path.read_bytes()]
    counts += Counts(leaks=len(seen), wrong=len(remarks))
    if not counts.is_clean:
        remarks += [f"the secret is in {seen}"] * bool(seen) + [text[-1500:], again[-800:]]
    took = [line.strip()[:150] for line in says if "incomplete" in line]
    return counts, [f"{name}: {remark}" for remark in (*remarks, *took)]


def _step(proxy: Proxy, fault: str, phase: str, run: Path) -> None:
    """Change what the server does once it is time to."""
    num, was_met = _num_finished(run), proxy.num_bad >= _MET or fault == DOWN
    if phase == "start":
        if proxy.mode == fault and num >= NUM_TRIALS // 2 and was_met:
            proxy.become(WELL)
    elif phase == "midway":
        for_s = time.monotonic() - proxy.since
        if proxy.mode == WELL and proxy.num_runs > NUM_TRIALS // 4 and not proxy.has_failed:
            proxy.become(fault)
        elif proxy.mode == fault and was_met and for_s > _MIDWAY_S:
            proxy.become(WELL)
    elif proxy.mode == WELL and num == NUM_TRIALS:
        proxy.become(fault)


def _run(
    words: Sequence[str],
    uri: str,
    folder: Path,
    step: Callable[[], None],
    module: str = "orchestrator.cli",
) -> tuple[int | None, str]:
    """Run a command; return its exit code, None where it did not end, and what it wrote."""
    output = folder / "output"
    env = {
        **os.environ, "PYTHONPATH": str(ROOT), "MLFLOW_TRACKING_URI": uri, TRIAL_S: "2",
        "TMPDIR": str(folder / "tmp"),
    }  # fmt: skip
    with output.open("wb") as file:
        driver = subprocess.Popen(
            [sys.executable, "-c", _DRIVER % module, *words], cwd=folder, env=env,
            stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        deadline = time.monotonic() + LIMIT_S
        while driver.poll() is None and time.monotonic() < deadline:
            step()
            time.sleep(0.1)
    code = driver.poll()
    if code is None:
        driver.kill()
        driver.wait()
    return code, output.read_text(errors="replace")


def _counted(code: int | None, text: str, run: Path) -> Counts:
    num = _num_finished(run)
    return Counts(
        lost=max(0, NUM_TRIALS - num), repeated=max(0, num - NUM_TRIALS), hung=int(code is None),
        tracebacks=text.count("Traceback (most recent call last)"),
        wrong=int(code not in (0, None)),
    )  # fmt: skip


def _num_finished(run: Path) -> int:
    journal = run / "journal.jsonl"
    return journal.read_bytes().count(b'"event":"finished"') if journal.exists() else 0


def _is_whole(database: Path, experiment: str) -> bool:
    """Return True if MLflow has one parent and all trials of it, each with its end."""
    query = (
        "SELECT r.status, (SELECT count(*) FROM tags t WHERE t.run_uuid = r.run_uuid AND "
        "t.key = 'mlflow.parentRunId'), (SELECT count(*) FROM metrics m WHERE m.run_uuid = "
        "r.run_uuid AND m.key = 'val_acc') FROM runs r JOIN experiments e ON "
        "e.experiment_id = r.experiment_id WHERE e.name = ? AND r.lifecycle_stage = 'active'"
    )
    with closing(sqlite3.connect(database, timeout=60)) as connection:
        rows = connection.execute(query, (experiment,)).fetchall()
    children = [row for row in rows if row[1]]
    is_ended = all(status == "FINISHED" for status, _, _ in rows)
    has_points = all(count == _NUM_POINTS for _, _, count in children)
    return (len(rows), len(children)) == (NUM_TRIALS + 1, NUM_TRIALS) and is_ended and has_points


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; return 1 where something went wrong."""
    parser = Parser(prog="python -m benchmarks.reliability.mlflow_servers")
    parser.add_argument("--only", default="", help="part of FAULT, PHASE; several with |")
    parser.add_argument("--at-once", type=int, default=4, help="runs that go on at the same time")
    options = parser.parse_args(arguments)
    cases = [
        (fault, phase)
        for fault in (*FAULTS, DOWN)
        for phase in PHASES
        if any(part in f"{fault}, {phase}" for part in options.only.split("|"))
    ]
    totals: dict[str, Counts] = defaultdict(Counts)
    with (
        TemporaryDirectory(prefix="servers-", ignore_cleanup_errors=True) as place,
        server(Path(place)) as backend,
        ThreadPoolExecutor(options.at_once) as pool,
    ):
        folders = [Path(place) / str(number) for number in range(len(cases))]
        waiting = [
            pool.submit(outcome, *case, folder, backend)
            for case, folder in zip(cases, folders, strict=True)
        ]
        try:
            for (fault, _), done in zip(cases, waiting, strict=True):
                counts, remarks = done.result()
                totals[fault] += counts + Counts(rounds=1)
                sys.stderr.write("".join(f"-- {remark}\n" for remark in remarks))
                sys.stderr.flush()
        except KeyboardInterrupt:  # what has run by then is counted
            pool.shutdown(cancel_futures=True)
    print("\n".join(environment_lines("mlflow")), end="\n\n")
    print(table(totals.items(), first="MLflow's server"))
    return 0 if sum(totals.values(), Counts()).is_clean else 1


if __name__ == "__main__":
    sys.exit(main())
