"""Situations that people run in, each tried by the real command line: odd folders, limits, signals.

    python -m benchmarks.reliability.places --only TMPDIR

A situation is right where its exit code is, no traceback is written, nothing is left behind, and
where it works every trial has a row and MLflow has all of it. It takes the rights of root.
"""

from __future__ import annotations

import csv
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import psutil

from benchmarks.reliability.leaks import MARK, Witness
from benchmarks.reliability.mlflow_servers.proxy import WELL, Proxy, make_certificate
from benchmarks.reliability.places.machines import MACHINES
from benchmarks.reliability.places.signals import SIGNALS, Signal
from benchmarks.reliability.places.situations import SITUATIONS, Situation
from benchmarks.reliability.tracking_uris.__main__ import server
from benchmarks.side_by_side import ROOT, environment_lines
from orchestrator.arguments import Parser

LIMIT_S: Final = 300.0
TRACE: Final = "Traceback (most recent call last)"

_SWEEPS: Final = {"inline": "uri_sweep.py", "ray": "toy_sweep.py"}
_NUM_TRIALS: Final = 2
_OURS: Final = {
    "run", "home", "tmp", "link", "file", "dangling", "leases", "cache", "mlflow.db", "output",
    "mlflow-artifacts", "d", "run2", "runs", "mlruns",
}  # fmt: skip
"""What is in the folder of a situation: what it is given, and what it may make."""


@dataclass(kw_only=True)
class Outcome:
    """What came of a situation.

    Attributes:
        code: Its exit code; None if it did not end in time.
        wrong: What is not right, a phrase each.
        output: What it has printed.
    """

    code: int | None
    wrong: list[str] = field(default_factory=list)
    output: str = ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the campaign; print the table; return 0 if nothing was wrong."""
    parser = Parser(prog="python -m benchmarks.reliability.places")
    parser.description = (__doc__ or "").partition("\n")[0]
    parser.add_argument("--only", nargs="*", default=[""], help="those with one of these in it")
    parser.add_argument("--executor", default="", help="those of this executor")
    parser.add_argument("--skip", type=int, default=0, help="so many of them are left out")
    options = parser.parse_args(arguments)
    for ending in (signal.SIGINT, signal.SIGQUIT):  # a job in the background ignores them
        signal.signal(ending, signal.SIG_DFL)
    every: list[Situation | Signal] = [*SITUATIONS, *MACHINES, *SIGNALS]
    chosen = [
        each
        for each in every
        if any(only in each.name for only in options.only)
        and options.executor in getattr(each, "executor", "ray")
    ][options.skip :]
    rows = []
    with tempfile.TemporaryDirectory(prefix="pl-", dir="/tmp") as place, ExitStack() as stack:
        Path(place).chmod(0o755)  # other users' situations lie in it
        servers = _servers(stack, Path(place), chosen)
        for number, each in enumerate(chosen):
            folder = Path(place) / str(number)
            began = time.monotonic()
            outcome = run(each, folder, servers)
            took = time.monotonic() - began
            code = "none" if outcome.code is None else outcome.code
            rows.append(f"| {each.name} | {code} | {'; '.join(outcome.wrong) or 'right'} |")
            print(f"{rows[-1]} {took:.0f} s", file=sys.stderr, flush=True)
            if outcome.wrong or options.only:
                sys.stderr.write("".join(f"      {o}\n" for o in outcome.output.splitlines()[-40:]))
    print("\n".join(environment_lines("ray", "mlflow", "torch")), end="\n\n")
    print("| situation | exit code | |\n| --- | ---: | --- |", *rows, sep="\n")
    wrong = sum(not row.endswith("| right |") for row in rows)
    print(f"\n{len(rows)} situations, {wrong} wrong")
    return 1 if wrong else 0


def _servers(
    stack: ExitStack, place: Path, chosen: Sequence[Situation | Signal]
) -> Mapping[str, str]:
    """Start MLflow's server where one is asked for, and one for TLS in front of it.

    Returns:
        What to put in their places.
    """
    uris = "".join(each.uri or "" for each in chosen if isinstance(each, Situation))
    if "{server}" not in uris and "{tls}" not in uris:
        return {}
    address, certificate = stack.enter_context(server(place)), place / "certificate"
    make_certificate(certificate)
    proxy = Proxy(address, certificate)
    stack.enter_context(proxy.listening())
    proxy.become(WELL)
    return {
        "{server}": address, "{tls}": f"127.0.0.1:{proxy.port}", "{certificate}": str(certificate)
    }  # fmt: skip


def run(each: Situation | Signal, folder: Path, servers: Mapping[str, str]) -> Outcome:
    """Try one in a folder that is made for it; ``servers`` are those of MLflow."""
    for name in ("home", "tmp/ä ö"):
        (folder / name).mkdir(parents=True)
    (folder / "link").symlink_to(folder / "tmp")
    (folder / "dangling").symlink_to(folder / "nothing")
    (folder / "file").touch()
    situation = each if isinstance(each, Situation) else Situation(name=each.name, executor="ray")
    mark = uuid.uuid4().hex
    witness = Witness(mark, folder / "tmp")
    process = _started(situation, folder, servers, mark)
    deadline, is_due = time.monotonic() + LIMIT_S, time.monotonic()
    reached = sent = False
    while process.poll() is None and time.monotonic() < deadline:
        witness.look(process.pid)
        if isinstance(each, Signal) and not reached and _has_come(each.moment, process, folder):
            reached, is_due = True, time.monotonic() + each.delay_s
        if isinstance(each, Signal) and reached and not sent and time.monotonic() >= is_due:
            sent = True
            _send(each, process)
        time.sleep(0.02)
    outcome = Outcome(code=process.poll())
    if outcome.code is None:
        outcome.wrong.append("hung")
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    outcome.output = (folder / "output").read_text(errors="replace")
    (folder / "tmp" / "ä ö").rmdir()
    left = witness.left()
    outcome.wrong += [f"left: {name}" for name in left]
    outcome.wrong += [f"made: {name}" for name in _made(situation, folder)]
    codes = situation.codes
    if isinstance(each, Signal):
        codes = (128 + each.number, *((0,) if not sent or each.moment == "end" else ()))
        if not sent:
            outcome.wrong.append("no signal was sent")
        code = outcome.code
        outcome.code = 128 - code if code is not None and code < 0 else code  # as a shell says it
    outcome.wrong += _of_output(situation, outcome, codes)
    if outcome.code == 0:
        outcome.wrong += _of_run(situation, folder, outcome.output)
    return outcome


def _filled(text: str, folder: Path, more: Mapping[str, str] | None = None) -> str:
    places = {"{home}": f"{folder}/home", "{folder}": str(folder), "{repository}": str(ROOT)}
    for name, value in {**places, **(more or {})}.items():
        text = text.replace(name, value)
    return text


def _started(
    situation: Situation, folder: Path, servers: Mapping[str, str], mark: str
) -> subprocess.Popen[bytes]:
    def command(out: str) -> str:
        words = [sys.executable, "-m", "orchestrator"]
        words += [str(ROOT / "benchmarks" / "reliability" / _SWEEPS[situation.executor])]
        words += ["--executor", situation.executor, f"--out={out}"]
        uri = _filled(situation.uri or "", folder, servers)
        if uri or situation.uri is None:
            words += ["--tracking-uri", uri] if uri else ["--no-mlflow"]
        return shlex.join(words)

    out = _filled(situation.out, folder)
    script = _filled(situation.script, folder)
    script = script.replace("{command}", command(out)).replace("{other}", command(f"{out}2"))
    variables: Mapping[str, str | None] = {
        "PYTHONPATH": str(ROOT), "TMPDIR": "{folder}/tmp", "HOME": "{folder}/home", MARK: mark,
        "SWEEP_LEASES": "{folder}/leases", "SWEEP_CACHE": "{folder}/cache",
        "RELIABILITY_TRIALS": str(_NUM_TRIALS), **situation.variables,
    }  # fmt: skip
    environment = dict(os.environ)
    for name, value in variables.items():
        environment.pop(name, None)
        if value is not None:
            environment[name] = _filled(value, folder, servers)
    shell = ["/bin/bash", "-c", script]
    if "mount " in script:  # "umount" as well
        shell = ["/usr/bin/unshare", "--mount", "--propagation", "private", *shell]
    with (folder / "output").open("wb") as output:
        return subprocess.Popen(
            shell, cwd=folder, env=environment, stdin=subprocess.DEVNULL,
            stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip


def _has_come(moment: str, process: subprocess.Popen[bytes], folder: Path) -> bool:
    if moment == "start":
        return True
    if moment == "Ray":
        with suppress(psutil.Error):
            return any(
                each.name() == "gcs_server" for each in psutil.Process(process.pid).children()
            )
        return False
    journal = folder / "run" / "journal.jsonl"
    finished = journal.read_bytes().count(b'"finished"') if journal.exists() else 0
    return finished >= (1 if moment == "middle" else _NUM_TRIALS)


def _send(each: Signal, process: subprocess.Popen[bytes]) -> None:
    if each.whom == "group":
        os.killpg(process.pid, each.number)
        return
    driver = psutil.Process(process.pid)
    for target in [driver, *(driver.children(recursive=True) if each.whom == "all" else ())]:
        with suppress(psutil.Error):
            target.send_signal(each.number)


def _made(situation: Situation, folder: Path) -> list[str]:
    """Return what is in the folder that nobody has asked for."""
    out = Path(_filled(situation.out, folder).rstrip("/") or "x")
    expected = {*_OURS, out.name, *(f"{m}.py" for m in ("random", "torch", "types")), "__pycache__"}
    expected |= {"ray.py", "mlflow.py", "numpy.py"}
    names = {path.name for path in folder.iterdir()} - expected
    return sorted(name for name in names if not out.is_relative_to(folder / name))


def _of_output(situation: Situation, outcome: Outcome, codes: Sequence[int]) -> list[str]:
    wrong, text = [], outcome.output
    if outcome.code is not None and outcome.code not in codes:
        wrong.append(f"exit code {outcome.code}")
    if TRACE in text:
        wrong.append("traceback")
    is_silent = "/dev/full" in situation.script or ">&-" in situation.script
    if outcome.code in (1, 2) and "error: " not in text and not is_silent:
        wrong.append("no sentence")
    if situation.says not in text:
        wrong.append(f"does not say {situation.says!r}")
    return wrong


def _of_run(situation: Situation, folder: Path, output: str) -> list[str]:
    out = Path(_filled(situation.run or situation.out, folder))
    if situation.out.startswith("$"):
        out = folder / "home" / "run"
    try:
        with (out / "trials.csv").open(encoding="utf-8") as file:
            states = [row["state"] for row in csv.DictReader(file)]
    except (OSError, KeyError) as error:
        return [f"no table: {error}"]
    wrong = [] if states == ["completed"] * _NUM_TRIALS else [f"states: {states}"]
    if not (out / "report.html").exists():
        wrong.append("no report")
    is_there = (out / "mlflow.txt").exists()
    is_incomplete = "is incomplete" in output or not is_there
    if situation.uri and is_incomplete and "incomplete" not in situation.says:
        wrong.append("not in MLflow")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
