"""The command line in a process forked from one that has the libraries imported already.

A fresh interpreter spends a second and more on importing torch and pandas before it does anything.
"""

from __future__ import annotations

import atexit
import multiprocessing
import os
import runpy
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import forkserver
from multiprocessing.reduction import DupFd
from pathlib import Path
from typing import IO, Any

from tests.spares import keep_spare

PRELOADED = (
    "torch",
    "torch._dynamo",
    "pandas",
    "pyarrow.parquet",
    "optuna",
    "plotly.graph_objects",
    "rich.live",
)
"""Libraries that are slow to import; none of the project's own modules, which tests may change."""

CONTEXT = multiprocessing.get_context("forkserver")
"""Starts processes as forks of that one."""


@dataclass(frozen=True, kw_only=True)
class Finished:
    """Exit code and output of a command."""

    returncode: int
    stdout: str
    stderr: str


class TookTooLong(Exception):
    """A command that ran into its time limit; ``args`` has its :class:`Finished`."""


def start_server() -> None:
    """Start the process that commands are forked from; it ends with this process."""
    # The folder of its socket is removed with the run's other files, before multiprocessing would.
    multiprocessing.current_process()._config["tempdir"] = tempfile.mkdtemp()  # type: ignore[attr-defined]
    CONTEXT.set_forkserver_preload(list(PRELOADED))
    forkserver.ensure_running()


@dataclass(frozen=True)
class _Handed:
    """A descriptor that a new process is handed as one of its own."""

    fd: int

    def __reduce__(self) -> tuple[Any, ...]:
        return _received, (DupFd(self.fd),)


def _received(descriptor: Any) -> _Handed:  # noqa: ANN401
    return _Handed(descriptor.detach())


class Forked(subprocess.Popen[str]):
    """``python -m MODULE ARGS`` as if in a fresh interpreter, in a process group of its own."""

    def _execute_child(self, args: Any, *more: Any) -> None:  # noqa: ANN401 - as Popen has them
        cwd, env, pipes = more[4], more[5], more[9:15]
        _, module, *arguments = args[1:]
        output = [_Handed(pipes[3]), _Handed(pipes[5])]
        self._process = CONTEXT.Process(target=_run, args=(module, arguments, env, cwd, output))
        self._process.start()
        self.pid, self._child_created = self._process.pid or 0, True
        self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]

    def _internal_poll(self, *_: object, **__: object) -> int | None:
        if self.returncode is None:
            self.returncode = self._process.exitcode
        return self.returncode

    def _try_wait(self, flags: int) -> tuple[int, int]:
        self._process.join(0 if flags & os.WNOHANG else None)
        code = self._process.exitcode
        return (0, 0) if code is None else (self.pid, code)

    def _handle_exitstatus(self, status: int, *_: object) -> None:
        self.returncode = status


def run_forked(
    module: str, args: Sequence[str], *, env: Mapping[str, str], cwd: Path, timeout_s: float
) -> Finished:
    """Run ``python -m MODULE ARGS`` to its end, as if in a fresh interpreter.

    Raises:
        TookTooLong: It ran into the time limit.
    """
    # Files: of a pipe the end comes when all that have it have ended.
    with tempfile.TemporaryFile() as stdout, tempfile.TemporaryFile() as stderr:
        command = [sys.executable, "-m", module, *args]
        process = Forked(command, cwd=cwd, env=env, stdout=stdout, stderr=stderr)
        try:
            process.wait(timeout_s)
            in_time = True
        except subprocess.TimeoutExpired:
            in_time = False
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # itself, or what it left in its group
        finished = Finished(returncode=process.wait(), stdout=_read(stdout), stderr=_read(stderr))
    if not in_time:
        raise TookTooLong(finished)
    return finished


def _read(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()


def _run(
    module: str, args: Sequence[str], env: dict[str, str], cwd: Path, output: Sequence[_Handed]
) -> None:
    """Become ``python -m MODULE ARGS``: the body of the forked process."""
    os.setsid()
    descriptors = [os.open(os.devnull, os.O_RDONLY), *(each.fd for each in output)]
    for number, fd in enumerate(descriptors):
        os.dup2(fd, number)
        if fd > 2:
            os.close(fd)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115 - multiprocessing's own reads nothing
    for number, name in ((1, "stdout"), (2, "stderr")):
        setattr(sys, name, open(number, "w", closefd=False, buffering=1))  # noqa: SIM115
    os.environ.clear()
    os.environ.update(env)
    os.chdir(cwd)
    keep_spare()
    sys.path.insert(0, str(cwd))
    sys.argv = [module, *args]
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    finally:
        atexit._run_exitfuncs()  # a child of multiprocessing leaves without them
