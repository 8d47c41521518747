"""What runs have left, removed by one command; what is in use, or somebody else's, is not."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.orchestrator.in_process import run_main

HOLDING = """
import sys
from contextlib import ExitStack
from pathlib import Path

from orchestrator.execution.core_locks import CoreLocks
from orchestrator.system.private_folder import private_folder

folder, _ = private_folder()
(folder / "scratch").mkdir()
if sys.argv[1:]:
    with ExitStack() as locks:
        core = CoreLocks()
        core.create_folder()
        assert core.take(locks, "core-0.lock")
        print(folder, flush=True)
        sys.stdin.read()
else:
    print(folder, flush=True)
"""


@dataclass(frozen=True)
class World:
    """The folders that a run writes to, all of them the test's own."""

    temporary: Path
    cache: Path
    locks: Path

    def files(self) -> set[str]:
        """Return all that there is, by path."""
        folders = (self.temporary, self.cache, self.locks)
        return {str(path) for folder in folders for path in folder.rglob("*")}


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> World:
    # Not below tmp_path: a path that long is no place for sockets.
    remove = shutil.rmtree  # a test may replace it
    short = Path(tempfile.mkdtemp(prefix="w", dir="/tmp"))
    folders = [short, tmp_path / "cache", tmp_path / "locks"]
    for variable, folder in zip(("TMPDIR", "SWEEP_CACHE", "SWEEP_LEASES"), folders, strict=True):
        folder.mkdir(exist_ok=True)
        monkeypatch.setenv(variable, str(folder))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setattr("orchestrator.system.private_folder._other_places", lambda: iter(()))
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    yield World(*folders)
    remove(short, ignore_errors=True)


def begun(*arguments: str) -> subprocess.Popen[str]:
    """Start a process that makes a private folder, as a driver does, and prints its path."""
    return subprocess.Popen(
        [sys.executable, "-c", HOLDING, *arguments],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip


@pytest.fixture
def held(world: World) -> Iterator[Path]:
    """The folder of a driver that runs, which holds a core as well."""
    with begun("on") as driver:
        assert driver.stdout is not None
        yield Path(driver.stdout.readline().strip())
        driver.kill()


def left_by_a_killed_one() -> Path:
    """Return the folder of a process that has ended without removing it."""
    with begun() as driver:
        assert driver.stdout is not None
        return Path(driver.stdout.read().strip())


def converted(cache: Path, name: str = "digits") -> Path:
    folder = cache / "data" / name / "0123"
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text("{}")
    (folder / "images.npy").write_bytes(b"x" * 3 * 2**20)
    return folder


def test_all_that_runs_have_left_is_removed_and_named(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = left_by_a_killed_one()
    converted(world.cache)
    (world.cache / "mlflow").mkdir()
    (world.cache / "mlflow" / "3.17.2.db").write_bytes(b"x")
    (world.cache / "matplotlib").mkdir()
    (world.cache / "matplotlib" / "fontlist-v3.json").write_bytes(b"x")
    (world.locks / "core-0.lock").touch()
    (world.temporary / "torchinductor_me").mkdir()
    Path("sweeps/__pycache__").mkdir(parents=True)
    Path(".venv/lib/__pycache__").mkdir(parents=True)

    monkeypatch.setenv("HOME", str(Path.cwd().parent))
    before = world.files()
    said = run_main("clean", "--dry-run")
    assert (said.returncode, said.stderr) == (0, "")
    assert world.files() == before
    assert "3.0 MiB would be free" in said.stdout

    done = run_main("clean")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[:-1] == [
        line.replace("would remove", "removed") for line in said.stdout.splitlines()[:-1]
    ]
    assert f"removed: {folder} (temporary files of a run, " in done.stdout
    assert world.files() == set()
    assert [path.name for path in Path().rglob("__pycache__")] == ["__pycache__"], "an environment"
    assert run_main("clean").stdout == "0.0 MiB are free now\n"


def test_what_a_sweep_uses_is_kept(world: World, held: Path) -> None:
    left = left_by_a_killed_one()
    converted(world.cache)
    done = run_main("clean")
    assert done.returncode == 0
    assert f"kept: {held} (temporary files of a run" in done.stdout
    assert f"removed: {left} " in done.stdout
    assert f"kept: {world.locks} (core locks, " in done.stdout
    assert "digits (a converted data set, 3.0 MiB): in use by " in done.stdout, (
        "with its next trial"
    )
    assert (held / "scratch").is_dir()
    assert (world.locks / "core-0.lock").exists()


def test_folders_of_ones_own_are_nobody_s_leftovers(world: World) -> None:
    for name in ("sweep-results", "sweep-abcd1234", "sweep-tests-abcd1234"):
        (world.temporary / name).mkdir(mode=0o700)
        (world.temporary / name / "precious.txt").touch()
    link = world.temporary / "sweep-aaaaaaaa"
    link.symlink_to(world.cache)
    (world.cache / "data" / "precious").mkdir(parents=True)
    (world.cache / "precious.txt").touch()
    (world.temporary / "torchinductor_me" / "precious").mkdir(parents=True)
    converted(world.cache)
    done = run_main("clean")
    assert done.returncode == 0
    kept = {Path(path).name for path in world.files()}
    assert kept == {
        "sweep-results", "sweep-abcd1234", "sweep-tests-abcd1234", "sweep-aaaaaaaa",
        "precious.txt", "data", "precious", "torchinductor_me",
    }  # fmt: skip


def test_byte_code_of_all_that_lies_at_home_is_kept(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("__pycache__").mkdir()
    for home in (Path(), Path("here")):
        monkeypatch.setenv("HOME", str(home.absolute()))
        assert "byte code" not in run_main("clean").stdout
    assert Path("__pycache__").exists()


def test_the_cache_can_be_kept(world: World) -> None:
    folder = converted(world.cache)
    done = run_main("clean", "--keep-cache")
    assert "kept: " in done.stdout
    assert (folder / "images.npy").exists()


def test_what_cannot_be_removed_is_said(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    converted(world.cache)

    def refuse(path: Path) -> None:
        raise PermissionError(1, "Operation not permitted", str(path))

    monkeypatch.setattr("orchestrator.driver.clean.leftovers.shutil.rmtree", refuse)
    done = run_main("clean")
    assert done.returncode == 1
    assert "digits (a converted data set, 3.0 MiB): Operation not permitted" in done.stdout


def test_a_lock_that_is_no_file_is_left_and_named(world: World) -> None:
    os.mkfifo(world.locks / "core-0.lock")
    for arguments in (["--dry-run"], []):
        done = run_main("clean", *arguments)
        assert (done.returncode, done.stderr) == (1, "")
        assert f"left: {world.locks} (core locks, " in done.stdout
        assert "): core-0.lock: not a plain file, as a lock has to be" in done.stdout


@pytest.mark.parametrize("variable", ["TMPDIR", "SWEEP_CACHE", "SWEEP_LEASES"])
def test_a_place_that_cannot_be_searched_has_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, f"/{'x' * 300}")
    done = run_main("clean", "--dry-run")
    assert (done.returncode, done.stderr) == (0, "")
    assert "0.0 MiB would be free" in done.stdout
