"""The folders that a sweep file imports from, in every process of a sweep."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.system.import_path import (
    PROJECT,
    first_here,
    folders_after,
    folders_before,
    make_importable,
    package_path,
    root_of,
)
from tests.conftest import ROOT
from tests.helping import python


@pytest.fixture(autouse=True)
def _import_state() -> Iterator[None]:
    path, finders = list(sys.path), list(sys.meta_path)
    yield
    sys.path[:], sys.meta_path[:] = path, finders


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's repository, its sweep two folders down."""
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "questions/fast").mkdir(parents=True)
    (tmp_path / "questions/fast/sweep.py").touch()
    monkeypatch.chdir(tmp_path / "questions")
    return tmp_path


@pytest.mark.parametrize("mark", ["pyproject.toml", ".git"])
def test_the_root_is_the_nearest_folder_with_a_mark(tmp_path: Path, mark: str) -> None:
    inner = tmp_path / "inner"
    (inner / "deep").mkdir(parents=True)
    file = inner / "deep/sweep.py"
    assert root_of(file) is None
    (tmp_path / ".git").mkdir()
    assert root_of(file) == tmp_path
    (inner / mark).touch()  # a file: .git is one in a worktree
    assert root_of(file) == inner


def test_the_root_comes_first_and_what_hides_nothing_last(repository: Path) -> None:
    file = repository / "questions/fast/sweep.py"
    assert folders_before(file) == [repository, repository / "questions"]
    assert folders_after(file) == [file.parent]
    (repository / "src").mkdir()
    assert folders_after(file) == [repository / "src", file.parent]

    make_importable(file)
    make_importable(file)

    before, after = first_here()[:2], sys.path[-2:]
    assert before == [str(repository), str(repository / "questions")]
    assert after == [str(repository / "src"), str(file.parent)]
    assert sys.path.count(str(repository)) == 1


def test_a_process_that_is_started_gets_what_is_not_of_the_environment(repository: Path) -> None:
    make_importable(repository / "questions/fast/sweep.py")
    own = [folder for folder in first_here() if "/ray/" not in folder]
    assert own[:2] == [str(repository), str(repository / "questions")]
    # If an earlier test has imported Ray, its folder is in front.
    handed_on = [folder for folder in first_here() if "/ray/" not in folder]
    assert not any("site-packages" in folder or "lib-dynload" in folder for folder in handed_on)
    assert PROJECT == ROOT
    assert package_path() == [str(ROOT)]


IMPORTING = """
import sys
from pathlib import Path
from orchestrator.system.import_path import make_importable
make_importable(Path(sys.argv[1]) / "sweep.py")
import importlib
found = importlib.import_module(sys.argv[2])
print(getattr(found, "__file__", None) or next(iter(found.__path__)))
"""


def found(repository: Path, module: str = "trainables") -> str:
    """Path of the module that a sweep of the repository imports by a name."""
    done = python("-c", IMPORTING, repository, module, env={"PYTHONPATH": str(ROOT)})
    return done.stdout.strip()


def test_a_package_of_the_users_is_found_before_ours(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    assert found(tmp_path) == str(ROOT / "trainables/__init__.py")
    (tmp_path / "trainables").mkdir()
    (tmp_path / "trainables/mine.py").touch()
    assert found(tmp_path) == str(ROOT / "trainables/__init__.py"), "as Python has it"
    (tmp_path / "trainables/__init__.py").touch()
    assert found(tmp_path) == str(tmp_path / "trainables/__init__.py")
