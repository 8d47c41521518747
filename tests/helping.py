"""Programs run to their end, waits for a condition, and the cost of a command's ``--help``."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from tests.conftest import ROOT

Done = subprocess.CompletedProcess[str]
Seen = TypeVar("Seen")


def ran(
    *words: str | Path,
    variables: Mapping[str, str] = MappingProxyType({}),
    code: int | None = 0,
    **options: Any,  # noqa: ANN401 - of subprocess.run
) -> Done:
    """Run a program to its end, with the checkout to import from; fail with another exit code."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), **variables}
    usual = {"capture_output": True, "text": True, "check": False, "env": env}
    done = subprocess.run(words, **{**usual, **options})
    assert code in (None, done.returncode), f"{done.returncode}:\n{done.stdout}\n{done.stderr}"
    return done


def python(*words: str | Path, **options: Any) -> Done:  # noqa: ANN401 - of subprocess.run
    """Run this Python: ``python("-c", code)``."""
    return ran(sys.executable, *words, **options)


def awaited(seen: Callable[[], Seen], what: str, *, within_s: float = 30.0) -> Seen:
    """Return a function's result once it is true; fail if that takes too long."""
    deadline = time.monotonic() + within_s
    while not (found := seen()):
        assert time.monotonic() < deadline, f"not within {within_s:g} s: {what}"
        time.sleep(0.01)
    return found


SLOW_TO_IMPORT = {"ray", "torch", "mlflow", "pandas", "dgl", "optuna"}


def check_help(module: str, *, contains: str) -> None:
    """Check that ``python -m MODULE --help`` answers in little CPU time and imports little."""
    process = subprocess.Popen(
        [sys.executable, "-X", "importtime", "-m", module, "--help"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process.stdout, process.stderr:
        imports, answer = process.stderr.read(), process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, imports
    assert contains in answer
    imported = {line.rpartition("|")[2].strip() for line in imports.splitlines()}
    assert module in {name.partition(".")[0] for name in imported}
    slow, cpu_s = imported & SLOW_TO_IMPORT, usage.ru_utime + usage.ru_stime
    assert not slow, f"{slow} imported"
    assert cpu_s < 1.0, f"{cpu_s:.2f} s of CPU time"
