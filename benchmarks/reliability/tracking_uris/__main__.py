"""Tracking URIs that hold a secret: where it is seen, of all places that a run leaves or shows.

    python -m benchmarks.reliability.tracking_uris

Each form is given to a sweep of its own by ``--tracking-uri``, then to its resumption by
``MLFLOW_TRACKING_URI``, then to ``python -m orchestrator.analysis``. Variables of clouds and of
other trackers hold the secret as well. It is looked for on the console, in the run directory, in
MLflow's database and artifacts, among the command lines of all processes below, and in the
temporary files while they run, Ray's logs among them. The one place that is left out is the
command that the user has typed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.error import URLError
from urllib.request import urlopen

import psutil

from benchmarks.reliability.tracking_uris.forms import FORMS, SECRET, SERVER, VARIABLES
from benchmarks.side_by_side import ROOT, environment_lines
from orchestrator.arguments import Parser
from orchestrator.tracking.mlflow.uris import shown

SWEEP = ROOT / "benchmarks" / "reliability" / "uri_sweep.py"
PLACES = ("console", "run directory", "MLflow", "command lines", "temporary files", "tracebacks")

_LIMIT_S = 300.0
_SERVER_LIMIT_S = 120.0


@dataclass(kw_only=True)
class Case:
    """One form, and where its secret was seen.

    Attributes:
        name: What is odd about it.
        uri: It.
        folder: Folder of the run, for nothing else.
        exit_codes: Of its three commands.
        seen: How often in which place.
        remarks: The first sight in each place.
        logs: Logs of Ray's that were looked through.
        looked: Size and time of each file when it was looked through.
    """

    name: str
    uri: str
    folder: Path
    exit_codes: list[int] = field(default_factory=list)
    seen: Counter[str] = field(default_factory=Counter)
    remarks: list[str] = field(default_factory=list)
    logs: set[Path] = field(default_factory=set)
    looked: dict[Path, tuple[int, int]] = field(default_factory=dict)

    def look(self, place: str, text: str, where: str) -> None:
        """Count the secret in a text."""
        if SECRET in text:
            if not self.seen[place]:
                self.remarks.append(f"{self.name}: {place}: {where}")
            self.seen[place] += 1

    def look_below(self, place: str, folder: Path) -> None:
        """Count the secret in all files below a folder."""
        for root, _, names in os.walk(folder):  # what is removed meanwhile is passed over
            for path in (Path(root) / name for name in names):
                with suppress(OSError):
                    found = path.stat()
                    is_new = self.looked.get(path) != (found.st_size, found.st_mtime_ns)
                    if is_new and path.is_file():  # not a socket
                        self.looked[path] = found.st_size, found.st_mtime_ns
                        self.look(place, path.read_bytes().decode(errors="replace"), str(path))
                        self.logs |= {path} if "session_" in root and "logs" in root else set()

    @property
    def row(self) -> str:
        """Its row of the table."""
        counts = " | ".join(str(self.seen[place]) for place in PLACES)
        codes = " ".join(map(str, self.exit_codes))
        return f"| {self.name} | `{shown(self.uri)}` | {codes} | {counts} |"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the campaign; print the table; return 0 if the secret was seen nowhere."""
    parser = Parser(prog="python -m benchmarks.reliability.tracking_uris")
    parser.description = (__doc__ or "").partition("\n")[0]
    parser.add_argument("--executor", default="inline", help="default: %(default)s")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these forms; default: all")
    options = parser.parse_args(arguments)
    cases = []
    with TemporaryDirectory(prefix="uris-", ignore_cleanup_errors=True) as place:
        with server(Path(place)) as address:
            for number, (name, uri) in enumerate(FORMS):
                if name in (options.only or [name]):
                    folder = Path(place) / str(number)
                    case = Case(name=name, uri=uri.replace(SERVER, address), folder=folder)
                    _run(case, options.executor)
                    cases.append(case)
                    print(case.row, file=sys.stderr, flush=True)
        for case in cases[:1]:  # all forms share the server
            case.look_below("MLflow", Path(place) / "server")
    print("\n".join(_report(cases)))
    return 1 if any(case.seen for case in cases) else 0


def _report(cases: Sequence[Case]) -> Iterator[str]:
    yield from (*environment_lines("mlflow", "sqlalchemy"), "")
    yield "| form | shown as | exit codes | " + " | ".join(PLACES) + " |"
    yield "| --- | --- | --- |" + " ---: |" * len(PLACES)
    yield from (case.row for case in cases)
    yield ""
    yield f"{len(cases)} forms; leaks: {sum(sum(case.seen.values()) for case in cases)}"
    yield f"{sum(len(case.logs) for case in cases)} logs of Ray's were looked through as well"
    for case in cases:
        yield from case.remarks


def _run(case: Case, executor: str) -> None:
    """Run the three commands of a form, and look everywhere."""
    case.folder.mkdir()
    (case.folder / "tmp").mkdir()
    run = case.folder / "run"
    variable = {"MLFLOW_TRACKING_URI": case.uri}
    first: list[str | Path] = ["orchestrator", SWEEP, "--out", run, "--executor", executor]
    # Ray starts with a trial that takes some time.
    long = {"TRIAL_S": "4"} if executor == "ray" else {}
    _command(case, [*first, "--tracking-uri", case.uri], long)
    if run.exists():
        _command(case, ["orchestrator", "--resume", run], variable)
    _command(case, ["orchestrator.analysis", "show", "x", "--tracking-uri", case.uri], {})
    case.looked.clear()
    case.look_below("run directory", case.folder)


def _command(case: Case, words: Sequence[str | Path], variables: Mapping[str, str]) -> None:
    environment = {
        **os.environ,
        **dict.fromkeys(VARIABLES, SECRET),
        "PYTHONPATH": str(ROOT),
        "TMPDIR": str(case.folder / "tmp"),
        **variables,
    }
    output = case.folder / "output"
    with output.open("wb") as file:
        command = [sys.executable, "-m", *map(str, words)]
        process = subprocess.Popen(
            command, cwd=case.folder, env=environment, stdout=file, stderr=file
        )
        deadline = time.monotonic() + _LIMIT_S
        while process.poll() is None:
            if time.monotonic() > deadline:
                process.kill()
            _look_while_it_runs(case, process.pid)
            time.sleep(0.2)
    case.exit_codes.append(process.returncode)
    text = output.read_text(errors="replace")
    case.look("console", text, " ".join(map(str, words[:1])))
    if "Traceback" in text:
        case.seen["tracebacks"] += 1
        case.remarks.append(f"{case.name}: traceback: {text[-500:]}")
    output.unlink()


def _look_while_it_runs(case: Case, pid: int) -> None:
    with suppress(psutil.Error):
        driver = psutil.Process(pid)
        for process in driver.children(recursive=True):
            with suppress(psutil.Error):
                # One that is just being started has the driver's for a moment.
                if process.cmdline() != driver.cmdline():
                    case.look("command lines", " ".join(process.cmdline()), process.name())
    case.look_below("temporary files", case.folder / "tmp")


@contextmanager
def server(place: Path) -> Iterator[str]:
    """Run MLflow's server; yield its host and port."""
    folder = place / "server"
    folder.mkdir()
    port = 20_000 + os.getpid() % 20_000
    command = [sys.executable, "-m", "mlflow", "server", "--workers", "1", "--port", str(port)]
    stores = ["--backend-store-uri", f"sqlite:///{folder}/server.db"]
    stores += ["--artifacts-destination", str(folder / "artifacts")]
    log = place / "server.log"  # it has the addresses of requests, which are without the user
    with log.open("wb") as file:
        server = subprocess.Popen(
            [*command, *stores], cwd=folder, stdout=file, stderr=file, start_new_session=True
        )
        try:
            deadline = time.monotonic() + _SERVER_LIMIT_S
            while True:
                with suppress(URLError, OSError):
                    urlopen(f"http://127.0.0.1:{port}/health", timeout=2)
                    break
                if server.poll() is not None or time.monotonic() > deadline:
                    sys.exit(f"MLflow's server does not answer:\n{log.read_text()[-2000:]}")
                time.sleep(0.3)
            yield f"127.0.0.1:{port}"
        finally:
            os.killpg(server.pid, 9)
            server.wait()


if __name__ == "__main__":
    sys.exit(main())
