"""The command line run in this process: for what needs no process of its own to be shown."""

from __future__ import annotations

import io
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from unittest.mock import patch

from orchestrator.cli import main
from orchestrator.execution import inline
from orchestrator.execution.process.fork_servers import ForkServers
from tests import leaks
from tests.forking import Finished

ROOT = Path(__file__).parents[2]
LIBRARIES = frozenset({"torch", "torch._dynamo"})


def run_main(*arguments: str | Path) -> Finished:
    """Run ``python -m orchestrator ARGS`` to its end; the current folder is the test's."""
    stdout, stderr = io.StringIO(), io.StringIO()
    with (
        redirect_stdout(stdout),
        redirect_stderr(stderr),
        importing_nothing_for_good(),
        patch.object(inline, "ForkServers", _ServersOfRun),
    ):
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as end:
            code = int(end.code or 0)
    return Finished(returncode=code, stdout=stdout.getvalue(), stderr=stderr.getvalue())


class _ServersOfRun(ForkServers):
    """A run's fork servers; one that imports torch, which takes a second, is that of all runs."""

    def socket_for(self, allocator: str, modules: Sequence[str]) -> Path:
        if allocator == "tuned" and LIBRARIES.issuperset(modules):
            return _shared_servers(_variables()).of_all(modules)
        return super().socket_for(allocator, modules)


class _SharedServers(ForkServers):
    def of_all(self, modules: Sequence[str]) -> Path:
        with chdir(ROOT):
            socket = self.socket_for("tuned", modules or ["torch"])
        leaks.STAYING.update(server.pid for server in self._servers.values())
        return socket


@cache
def _shared_servers(_: frozenset[tuple[str, str]]) -> _SharedServers:
    return _SharedServers(folder=Path(tempfile.mkdtemp()), python_path=[str(ROOT)])


def _variables() -> frozenset[tuple[str, str]]:
    """Return the variables that a trial inherits, without those that change by themselves."""
    others = (*leaks.SET_BY_LIBRARIES, "PYTHONPATH", "COLUMNS", "HOME", "SWEEP_")
    return frozenset(item for item in os.environ.items() if not item[0].startswith(others))


@contextmanager
def importing_nothing_for_good() -> Iterator[None]:
    """Leave the import path as it was, and none of the modules that were found by it."""
    path, modules = list(sys.path), set(sys.modules)
    try:
        yield
    finally:
        added = [folder for folder in sys.path if folder not in path]
        sys.path[:] = path
        for name in set(sys.modules) - modules:
            file = str(getattr(sys.modules[name], "__file__", ""))
            if any(file.startswith(folder) for folder in added):
                del sys.modules[name]
