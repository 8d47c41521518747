"""Fixtures of every test: real data, the command line, and a guard against leaks."""

import contextlib
import gc
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator, Iterator, Mapping
from functools import cache
from multiprocessing.context import ForkServerContext
from pathlib import Path

import pytest

from tests import zygote
from tests.forking import CONTEXT, Finished, TookTooLong, run_forked, start_server
from tests.leaks import MARK, guarding

ROOT = Path(__file__).resolve().parents[1]

ALONE = (
    "tests/orchestrator/execution/telemetry",
    "tests/orchestrator/execution/test_interleaving.py",
    "tests/orchestrator/measurement/test_cuda.py",
    "tests/orchestrator/measurement/test_usage.py",
    "tests/orchestrator/measurement/test_real_trials.py",
    "tests/orchestrator/driver/whole_runs/test_interference.py",
)
"""Files and folders with tests to mark ``alone``: another test at the same time disturbs them."""

LONG = (
    "tests/orchestrator/execution/test_contract.py",
    "tests/orchestrator/execution/test_contract_ends.py",
    "tests/orchestrator/execution/test_contract_ranks.py",
    "tests/orchestrator/cluster",
    "tests/sweeps",
    "tests/orchestrator/driver/whole_runs",
    "tests/test_package.py",
)
"""Tests that begin first: while a long test that begins last runs, the other workers idle.

Tests of executors and of clusters come first of all, so that no worker takes some of them from
another: they share the Ray, and the nodes, that a fixture starts.
"""

_CACHE = pytest.StashKey[Path]()


def pytest_configure(config: pytest.Config) -> None:
    """Mark all processes of this run, and keep its files apart from all others."""
    os.environ[MARK] = f"{os.getpid()}"
    # A background process may ignore these signals, and all that the tests start would inherit it.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGHUP, signal.SIGQUIT):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    # Programs of this environment by name, as in a shell that has activated it.
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", tempfile.gettempdir())  # tmp_path stays there
    # Not within the folder of the xdist controller: Ray's sockets allow no path that long.
    root = os.environ["PYTEST_DEBUG_TEMPROOT"]
    config.stash[_CACHE] = Path(tempfile.mkdtemp(prefix="sweep-tests-", dir=root))
    tempfile.tempdir = os.environ["TMPDIR"] = str(config.stash[_CACHE] / "tmp")
    Path(tempfile.tempdir).mkdir()
    os.environ[zygote.SOCKET] = str(config.stash[_CACHE] / "zygote")
    os.environ["SWEEP_CACHE"] = str(config.stash[_CACHE])
    os.environ["SWEEP_LEASES"] = str(config.stash[_CACHE] / "leases")
    os.environ.setdefault("DGLBACKEND", "pytorch")
    # Threads of OpenMP that wait for each other would take the cores that other tests compute on.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    os.environ.pop("SWEEP_DATA", None)
    os.environ.pop("PYTHONUNBUFFERED", None)  # few users have it: output waits in Python's buffer
    os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
    with contextlib.suppress(ImportError):  # none of the tests on a GPU has properties
        import hypothesis

        # A machine under load is slow; that is no property of the tested code.
        hypothesis.settings.register_profile("tests", deadline=None)
        hypothesis.settings.load_profile("tests")


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove the cache of this run."""
    zygote.stop()
    shutil.rmtree(config.stash[_CACHE], ignore_errors=True)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import only files with tests for this half of ``make test``."""
    wanted, path = config.option.markexpr, collection_path
    if path.suffix != ".py" or not wanted.endswith((") and alone", ") and not alone")):
        return None
    has_all = any(path.is_relative_to(ROOT / place) for place in ALONE)
    if wanted.endswith("not alone"):
        return has_all or None
    return None if has_all or "pytest.mark.alone" in path.read_text() else True


@pytest.hookimpl(tryfirst=True)  # before -m looks at the marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that have to run alone, and put the long ones first."""
    for item in items:
        if _is_in(ALONE, item.path):
            item.add_marker(pytest.mark.alone)
    items.sort(key=lambda item: [not _is_in((place,), item.path) for place in LONG])


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Exclude the objects of the imports from all garbage collections, now and later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@cache
def _is_in(places: tuple[str, ...], path: Path) -> bool:
    return any(path.is_relative_to(ROOT / place) for place in places)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip tests that need a GPU if there is none."""
    if item.get_closest_marker("gpu") is None:
        return
    import torch

    if not torch.cuda.is_available():
        pytest.skip("no CUDA device here")


@pytest.fixture(autouse=True)
def _nothing_left_behind() -> Iterator[None]:
    with guarding(ROOT, fail=pytest.fail):
        yield


@pytest.fixture(scope="session")
def repository() -> Path:
    """Root of the checkout."""
    return ROOT


@pytest.fixture(scope="session")
def test_data() -> Path:
    """Folder of the small real data sets; read-only, copy a set before a loader writes there."""
    folder = Path(os.environ.get("SWEEP_TEST_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no real data at {folder}; set SWEEP_TEST_DATA")
    return folder


@pytest.fixture(scope="session")
def chromium() -> str:
    """Path of a browser that takes screenshots without a display."""
    path = shutil.which("chromium") or shutil.which("google-chrome")
    if path is None:
        pytest.skip("no chromium on the path")
    return path


StartCli = Callable[..., subprocess.Popen[str]]
"""Starter of ``python -m MODULE ARGS`` in a new process group; see :func:`start_cli`."""

RunCli = Callable[..., Finished]
"""Runner of ``python -m MODULE ARGS``, to its end; see :func:`run_cli`."""


@pytest.fixture
def start_cli(tmp_path: Path) -> Iterator[StartCli]:
    """Start the program as a user would, with ``tmp_path`` as the current folder by default.

    A value of None in ``env`` removes the variable. The process has a new group, so that
    a signal to it reaches the driver only.
    """
    started: list[subprocess.Popen[str]] = []

    def start(
        *args: str | Path,
        module: str = "orchestrator",
        env: Mapping[str, str | None] | None = None,
        cwd: Path | None = None,
    ) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", module, *map(str, args)],
            cwd=cwd or tmp_path,
            env=_environment(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        _kill_group(process)


def _environment(changes: Mapping[str, str | None] | None) -> dict[str, str]:
    """Variables of a command; a change to None removes one."""
    merged = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1", **(changes or {})}
    return {name: value for name, value in merged.items() if value is not None}


@pytest.fixture(scope="session")
def fork_server() -> ForkServerContext:
    """Context of processes that have torch and pandas imported from their start on."""
    start_server()
    return CONTEXT


@pytest.fixture
def run_cli(start_cli: StartCli, tmp_path: Path, fork_server: ForkServerContext) -> RunCli:
    """Run the program as a user would and wait for it. See :func:`start_cli`.

    It is forked from a process that has the libraries imported already. With ``fresh`` it is a new
    interpreter: for tests of its start, its imports or its memory. A sweep
    writes its page (``report.html``, ``front.svg``) with ``page`` or ``fresh`` only. It fails
    unless the exit code is ``code``; None: any.
    """

    def run(
        *args: str | Path,
        module: str = "orchestrator",
        env: Mapping[str, str | None] | None = None,
        cwd: Path | None = None,
        timeout_s: float = 100.0,
        fresh: bool = False,
        page: bool = False,
        code: int | None = 0,
    ) -> Finished:
        if not fresh:
            try:
                done = run_forked(
                    module,
                    [str(arg) for arg in args],
                    env=_environment(env),
                    cwd=cwd or tmp_path,
                    timeout_s=timeout_s,
                    page=page or module != "orchestrator",
                )
                return done.checked(code)
            except TookTooLong as late:
                pytest.fail(f"{module} {args} took over {timeout_s:g} s: {late}")
        process = start_cli(*args, module=module, env=env, cwd=cwd)
        try:
            stdout, stderr = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            _kill_group(process)
            stdout, stderr = process.communicate()
            pytest.fail(f"{module} {args} took over {timeout_s:g} s:\n{stdout}\n{stderr}")
        done = Finished(returncode=process.returncode, stdout=stdout, stderr=stderr)
        return done.checked(code)

    return run


def _kill_group(process: subprocess.Popen[str]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for stream in (process.stdout, process.stderr):
        if stream is not None and not stream.closed:
            stream.close()
