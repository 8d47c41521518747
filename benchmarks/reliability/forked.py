"""A command line in a process forked from this one: its imports are done, and its end is seen."""

from __future__ import annotations

import importlib
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

PRELOADED: Final = (
    "torch", "pandas", "pyarrow.parquet", "orchestrator.measurement.run", "orchestrator.cli",
    "orchestrator.driver.run",
    "orchestrator.driver.planning.command", "orchestrator.analysis.report.write",
    "orchestrator.analysis.report.summary", "orchestrator.analysis.tables.run_tables",
    "orchestrator.storage.tables",
)  # fmt: skip
"""What a run imports, none of which starts a thread."""


@dataclass(frozen=True, kw_only=True)
class Ended:
    """Outcome of a command.

    Attributes:
        code: Its exit code; None where it did not end in time.
        output: What it wrote, standard error included.
    """

    code: int | None
    output: str

    @property
    def has_traceback(self) -> bool:
        """Return True if it wrote a traceback."""
        return "Traceback (most recent call last)" in self.output


def preload(*more: str) -> None:
    """Import what the commands need, once for all of them."""
    for module in (*PRELOADED, *more):
        importlib.import_module(module)


def command(
    arguments: Sequence[str | Path],
    *,
    folder: Path,
    timeout_s: float = 30.0,
    env: Mapping[str, str] | None = None,
    before: Callable[[], object] = lambda: None,
    module: str = "orchestrator.cli",
) -> Ended:
    """Run ``python -m orchestrator ARGUMENTS`` in ``folder``, in a forked process.

    Args:
        arguments: The arguments.
        folder: Its current folder.
        timeout_s: It counts as hung after that, and is killed with all that it started.
        env: Variables to change.
        before: Called in the process first.
        module: Whose ``main`` takes the arguments.
    """
    output = folder / "output.txt"
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        _become(module, [str(word) for word in arguments], folder, output, env or {}, before)
    code = _wait(pid, timeout_s)
    text = output.read_text(errors="replace") if output.exists() else ""
    return Ended(code=code, output=text)


def _become(
    module: str,
    arguments: list[str],
    folder: Path,
    output: Path,
    env: Mapping[str, str],
    before: Callable[[], object],
) -> None:
    """Be the command, to its end."""
    code: Any = 1
    try:
        os.setsid()
        os.chdir(folder)
        for descriptor, name in ((0, os.devnull), (1, output), (2, output)):
            flags = os.O_RDONLY if descriptor == 0 else os.O_WRONLY | os.O_CREAT | os.O_APPEND
            os.dup2(os.open(name, flags, 0o644), descriptor)
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", closefd=False, buffering=1, errors="backslashreplace")  # noqa: SIM115
        os.environ.update(env)
        sys.path.insert(0, str(folder))
        before()
        code = importlib.import_module(module).main(arguments)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:  # noqa: BLE001 - as the interpreter does
        traceback.print_exc()
        code = 1
    finally:
        for stream in (sys.stdout, sys.stderr):
            with suppress(Exception):  # whatever the request has made of them
                stream.flush()
        os._exit(code or 0)


def _wait(pid: int, timeout_s: float) -> int | None:
    """Return the exit code of a process; None where it had to be killed."""
    deadline, pause_s = time.monotonic() + timeout_s, 0.002
    while True:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            _kill_group(pid)  # what it may have left
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > deadline:
            _kill_group(pid)
            os.waitpid(pid, 0)
            return None
        time.sleep(pause_s)
        pause_s = min(pause_s * 1.5, 0.05)


def _kill_group(pid: int) -> None:
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
