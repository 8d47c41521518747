"""The command line in a process forked from one that has the libraries imported already.

A fresh interpreter spends a second and more on importing torch and pandas before it does anything.
"""

from __future__ import annotations

import atexit
import multiprocessing
import os
import runpy
import signal
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import forkserver
from pathlib import Path
from unittest.mock import patch

from tests import zygote

PRELOADED = (
    "torch", "torch._dynamo", "pandas", "pyarrow.parquet", "scipy.special", "optuna", "rich.live",
    "orchestrator.driver.run", "orchestrator.analysis.report.write",
)  # fmt: skip
"""Modules that are slow to import, and those of ours that most commands import."""

PAGE = "orchestrator.analysis.report.write.write_page"
"""Writes the page, its picture and the tables of its figures at the end of a sweep."""

CONTEXT = multiprocessing.get_context("forkserver")
"""Starts processes as forks of that one."""


@dataclass(frozen=True, kw_only=True)
class Finished:
    """Exit code and output of a command."""

    returncode: int
    stdout: str
    stderr: str

    def checked(self, code: int | None) -> Finished:
        """Return this if it is the exit code, or if None is given; fail otherwise."""
        assert code in (None, self.returncode), f"{self.returncode}:\n{self.stdout}\n{self.stderr}"
        return self


class TookTooLong(Exception):
    """A command that ran into its time limit; ``args`` has its :class:`Finished`."""


def no_page(view: object, run_dir: Path) -> None:
    """Write nothing, instead of :data:`PAGE`."""


def start_server() -> None:
    """Start the process that commands are forked from; it ends with this process."""
    # The folder of its socket is removed with the run's other files, before multiprocessing would.
    multiprocessing.current_process()._config["tempdir"] = tempfile.mkdtemp()  # type: ignore[attr-defined]
    zygote.start()
    CONTEXT.set_forkserver_preload(list(PRELOADED))
    with patch.dict(os.environ, PYTHONPATH=str(Path(__file__).parents[1])):
        forkserver.ensure_running()


def run_forked(
    module: str,
    args: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path,
    timeout_s: float,
    page: bool,
) -> Finished:
    """Run ``python -m MODULE ARGS`` to its end, as if in a fresh interpreter.

    Args:
        module: The module.
        args: Its arguments.
        env: All of its environment variables.
        cwd: Its current folder.
        timeout_s: A limit on its time.
        page: False to write no report page, which takes longer than a short sweep's trials.

    Raises:
        TookTooLong: It ran into the time limit.
    """
    zygote.start()
    with tempfile.TemporaryDirectory(prefix="cli-") as folder:
        output = Path(folder)
        process = CONTEXT.Process(target=_run, args=(module, args, dict(env), cwd, output, page))
        process.start()
        process.join(timeout_s)
        in_time = process.exitcode is not None
        with suppress(ProcessLookupError):
            os.killpg(process.pid or 0, signal.SIGKILL)  # itself, or what it left in its group
        process.join()
        finished = Finished(
            returncode=process.exitcode or 0,
            stdout=_read(output / "stdout"),
            stderr=_read(output / "stderr"),
        )
        process.close()
    if not in_time:
        raise TookTooLong(finished)
    return finished


def _read(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def _run(
    module: str, args: Sequence[str], env: dict[str, str], cwd: Path, output: Path, page: bool
) -> None:
    """Become ``python -m MODULE ARGS``: the body of the forked process."""
    os.setsid()
    multiprocessing.set_start_method(None, force=True)  # not as this process was started
    for fd, file in ((0, Path(os.devnull)), (1, output / "stdout"), (2, output / "stderr")):
        os.dup2(os.open(file, os.O_RDONLY if fd == 0 else os.O_WRONLY | os.O_CREAT), fd)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115 - multiprocessing's own reads nothing
    for number, name in ((1, "stdout"), (2, "stderr")):
        setattr(sys, name, open(number, "w", closefd=False, buffering=1))  # noqa: SIM115
    os.environ.clear()
    os.environ.update(env)
    os.chdir(cwd)
    sys.path.insert(0, str(cwd))
    sys.argv = [module, *args]
    if not page:
        patch(PAGE, no_page).start()
    patch(zygote.PLACE, zygote.Forked).start()
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    finally:
        atexit._run_exitfuncs()  # a child of multiprocessing exits without them
