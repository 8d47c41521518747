"""Leaks of a test: environment variables, processes, files in the checkout."""

import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from tests.zygote import STARTED

MARK = "SWEEP_TESTS"
"""Environment variable that marks every process that a test starts, daemons too."""

SET_BY_LIBRARIES = (
    "CUDA_", "DGL", "KMP_", "MLFLOW_", "MPL", "OMP_", "PYTEST_", "PYTHONBREAKPOINT", "RAY_",
    "CRC32C_", "TORCH", "TRITON_", "TUNE_", "_TORCHINDUCTOR_", "no_proxy",
)  # fmt: skip
"""Prefixes of variables that importing or starting a dependency may set for good."""

STAYS_BY_DESIGN = (
    "multiprocessing.resource_tracker",
    "multiprocessing.forkserver",
    "torch/_inductor/compile_worker",
)
"""Processes that Python and torch start once and keep as long as the test process lives."""

RAY_ALONE = (
    "ray/_private/workers/default_worker.py",
    "ray::DashboardAgent",
    "ray::RuntimeEnvAgent",
)
RAY_ALONE_GRACE_S = 60.0
"""Ray's own: a worker that was starting when its node was killed notices some 25 s later, and an
agent may try for as long to reach the driver, which was killed too."""

GONE = "gone since"
"""Replaces the command of a process that has ended meanwhile."""

TOOL_FOLDERS = {
    ".hypothesis", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".import_linter_cache",
}  # fmt: skip


@contextmanager
def guarding(
    checkout: Path, *, fail: Callable[[str], object], grace_s: float = 10.0
) -> Iterator[None]:
    """Call ``fail`` with a list of the block's leaks, and clear them away.

    Args:
        checkout: Its root, ``runs/`` and ``data/`` are watched, and the system's folder for
            temporary files.
        fail: Called once, only if there are leaks.
        grace_s: How long processes may take to end, other than workers and agents of a killed Ray.
    """
    variables, pids, files = dict(os.environ), frozenset(psutil.pids()), _files(checkout)
    yield
    left = [
        *_changed_variables(variables),
        *_left_processes(pids, grace_s),
        *(f"file {path}" for path in sorted(_left_files(checkout, files, grace_s / 5))),
    ]
    if left:
        fail("the test left behind:\n  " + "\n  ".join(left))


def children() -> list[psutil.Process]:
    """Return the processes that the test process has started, without those that stay by design."""
    return [process for process in psutil.Process().children() if not _stays(process)]


def _stays(process: psutil.Process) -> bool:
    if process.pid in {zygote.pid for zygote in STARTED}:
        return True
    return any(name in " ".join(process.cmdline()) for name in STAYS_BY_DESIGN)


def _files(checkout: Path) -> set[Path]:
    folders = (checkout, checkout / "runs", checkout / "data")
    in_checkout = {
        path
        for folder in folders
        if folder.is_dir()
        for path in folder.iterdir()
        if path.name not in TOOL_FOLDERS
    }
    return in_checkout | set(Path(tempfile.gettempdir()).glob("sweep-*"))


def _changed_variables(before: Mapping[str, str]) -> list[str]:
    names = {
        name
        for name in before.keys() | os.environ.keys()
        if before.get(name) != os.environ.get(name) and not name.startswith(SET_BY_LIBRARIES)
    }
    left = [f"variable {name}={os.environ.get(name)!r}" for name in sorted(names)]
    for name in names:
        if name in before:
            os.environ[name] = before[name]
        else:
            del os.environ[name]
    return left


def _left_files(checkout: Path, before: set[Path], grace_s: float) -> set[Path]:
    """Return new files; those of a killed process are removed a moment after its end."""
    deadline = time.monotonic() + grace_s
    while (left := _files(checkout) - before) and time.monotonic() < deadline:
        time.sleep(0.05)
    return left


def _left_processes(before: frozenset[int], grace_s: float) -> list[str]:
    began = time.monotonic()
    while left := _ours(before):
        is_ray_alone = all(_is_rays_alone(process) for process in left)
        if time.monotonic() - began > (RAY_ALONE_GRACE_S if is_ray_alone else grace_s):
            break
        time.sleep(0.05)
    described = [f"process {p.pid}: {_command(p)[:160]}" for p in left if _command(p) != GONE]
    for process in left:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    deadline = time.monotonic() + grace_s
    while _ours(before) and time.monotonic() < deadline:
        time.sleep(0.01)
    return described


def _is_rays_alone(process: psutil.Process) -> bool:
    return any(mark in _command(process) for mark in (*RAY_ALONE, GONE))


def _ours(before: frozenset[int]) -> list[psutil.Process]:
    """Return the new processes of this test run that do not belong to an older one.

    A worker that a Ray cluster of the whole module starts belongs to the cluster. A daemon may
    have forked between the list of processes and the look at each: hence a second look.
    """
    return _seen_now(before) or _seen_now(before)


def _seen_now(before: frozenset[int]) -> list[psutil.Process]:
    new = set(psutil.pids()) - before
    if not new:
        return []  # as after most tests; children() reads the status of every process
    family = {process.pid for process in psutil.Process().children(recursive=True)}
    found = []
    for pid in new:
        try:
            process = psutil.Process(pid)
            if process.status() == psutil.STATUS_ZOMBIE:
                continue
            ours = pid in family or process.environ().get(MARK) == os.environ[MARK]
            if ours and not _stays(process) and not _belongs_to_older(process, before):
                found.append(process)
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return found


def _belongs_to_older(process: psutil.Process, before: frozenset[int]) -> bool:
    for parent in process.parents():
        if parent.pid in {os.getpid(), 1, *(zygote.pid for zygote in STARTED)}:
            return False
        if parent.pid in before and parent.environ().get(MARK) == os.environ[MARK]:
            return True
    return False


def _command(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.NoSuchProcess:
        return GONE


def is_alive(pid: int) -> bool:
    """Return True if the process exists and is no zombie."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def alive_after(pids: Iterable[int], *, within_s: float) -> list[int]:
    """Return the processes that have not ended in time."""
    deadline = time.monotonic() + within_s
    while (alive := [pid for pid in pids if is_alive(pid)]) and time.monotonic() < deadline:
        time.sleep(0.01)
    return alive
