"""Places in the user's files, as messages name them."""

import argparse
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from orchestrator.arguments import (
    Names,
    Parser,
    a_path,
    cluster_address,
    command,
    some_text,
    typed,
    whole_number,
)
from orchestrator.errors import SweepError, SweepFileError
from orchestrator.locations import cache_folder, caller, named_path, place, place_of

USERS = """
from orchestrator.search import Grid

def build(points):
    return Grid(
        points=points,
    )
"""


@pytest.fixture
def users_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "sweeps" / "mine.py"
    path.parent.mkdir()
    path.write_text(USERS)
    return path


def loaded(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("users_own", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_function_is_named_by_its_first_line(users_file: Path) -> None:
    assert place_of(loaded(users_file).build) == "sweeps/mine.py:4"
    assert place_of(len) == "<built-in function len>", "it has no code of its own"


def test_a_wrong_argument_is_named_by_its_own_line(users_file: Path) -> None:
    """Through the package's own frames, to the line of the argument and not of the call."""
    with pytest.raises(SweepFileError, match=r"^sweeps/mine\.py:6: "):
        loaded(users_file).build(0)


def test_code_outside_the_package_is_its_own_caller() -> None:
    line = sys._getframe().f_lineno + 1
    assert caller() == f"{place(__file__)}:{line}: "


def package_s_own() -> Callable[..., str]:
    """Return a function that asks for its caller as the package's own code does."""
    scope: dict[str, Any] = {"__name__": "orchestrator.own", "caller": caller}
    exec("def ask(values, keyword):\n    return caller(keyword)\n", scope)
    ask: Callable[..., str] = scope["ask"]
    return ask


def test_a_key_of_a_dictionary_is_named_by_the_line_of_its_value() -> None:
    ask, line = package_s_own(), sys._getframe().f_lineno
    found = ask(
        {
            "lr": 0.1,
            "workers": 3,
        },
        keyword="workers",
    )
    assert found == f"{place(__file__)}:{line + 4}: "


# -- paths


@pytest.fixture
def _home(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SWEEP_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/users/me")
    monkeypatch.setenv("SCRATCH", "/scratch/me")


@pytest.mark.usefixtures("_home")
@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("a/b", "a/b"), ("~", "/users/me"), ("~/x", "/users/me/x"),
        ("$SCRATCH/a b", "/scratch/me/a b"), ("${SCRATCH}/a", "/scratch/me/a"),
        ("./$SCRATCH", "$SCRATCH"), ("./~", "~"), ("a/$SCRATCH", "a/$SCRATCH"), ("a~", "a~"),
    ],
)  # fmt: skip
def test_a_home_and_a_variable_at_the_beginning_are_replaced(text: str, path: str) -> None:
    assert named_path(text) == Path(path)


@pytest.mark.parametrize("text", ["$NOWHERE/x", "${NOWHERE}", "~nobody-of-this-name/x"])
def test_a_path_of_no_user_or_variable_is_refused(text: str) -> None:
    with pytest.raises(SweepError, match=r"--out .*: there is no such user or variable") as refused:
        named_path(text, "--out")
    assert text in refused.value.message


@pytest.mark.usefixtures("_home")
def test_data_is_kept_in_the_users_cache_unless_another_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cache_folder() == Path("/users/me/.cache/sweep-orchestrator")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "x"))
    assert cache_folder() == tmp_path / "x" / "sweep-orchestrator"
    monkeypatch.setenv("SWEEP_CACHE", "~/y")
    assert cache_folder() == Path("/users/me/y")


# -- readers of arguments: accepted and refused texts


@pytest.mark.parametrize(
    ("read", "text", "value"),
    [
        (whole_number(1), "3", 3), (whole_number(0, 5), "5", 5), (a_path, "a/b", Path("a/b")),
        (a_path, "~", Path.home()), (Names(("a", "b")), "b", "b"), (some_text, "x", "x"),
        (cluster_address, "10.0.0.1:6379", "10.0.0.1:6379"),
        (cluster_address, "head-1.example:1", "head-1.example:1"),
        (cluster_address, "[fe80::1]:6379", "[fe80::1]:6379"),
    ],
)  # fmt: skip
def test_what_is_allowed_is_read(read: Callable[[str], Any], text: str, value: object) -> None:
    assert read(text) == value


@pytest.mark.parametrize(
    ("read", "text", "message"),
    [
        (whole_number(1), "0", "a whole number of at least 1"),
        (whole_number(1), "9" * 30, "and at most 2147483647"),
        (whole_number(0, 5), "6", "at least 0 and at most 5"),
        (a_path, "", "the path of a file or a folder"),
        (a_path, "file:///tmp", "the path of a file or a folder"),
        (a_path, "~nobody-of-this-name/x", "there is no such user"),
        (some_text, "", "leave the option out"),
        (Names(("grid",)), "gird", "did you mean 'grid'?"),
        *((cluster_address, text, "HOST:PORT of the cluster's head")
          for text in ("auto", "head", ":6379", "ray://head:10001")),
    ],
)  # fmt: skip
def test_what_is_not_is_refused(read: Callable[[str], Any], text: str, message: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError) as refused:
        read(text)
    assert message in str(refused.value)
    assert len(str(refused.value)) < 300


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--resum x", "unrecognized arguments: --resum x; did you mean '--resume'?"),
        ("file --RE=x", "; did you mean '--resume'?"),
        ("-resume x", "did you mean '--resume'?"),
        ("--x", "unrecognized arguments: --x\n"),
    ],
)
def test_an_abbreviated_option_is_refused(
    capsys: pytest.CaptureFixture[str], words: str, message: str
) -> None:
    parser = Parser()
    for name in ("--resume", "--trials", "--plan"):
        parser.add_argument(name)
    with pytest.raises(SystemExit) as ended:
        parser.parse_args(words.split())
    assert (ended.value.code, message in capsys.readouterr().err) == (2, True)


@pytest.mark.parametrize(
    ("started", "helped", "resumed"),
    [
        ("{folder}/orchestrator", "orchestrator train", "orchestrator --resume r"),
        ("{folder}/elsewhere/orchestrator", "orchestrator train", "{folder}/elsewhere/"),
        ("{folder}/orchestrator/__main__.py", "python -m orchestrator train", "-m orchestrator"),
    ],
)
def test_a_command_is_named_as_it_was_typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, started: str, helped: str, resumed: str
) -> None:
    program = tmp_path / "orchestrator"
    program.touch(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "argv", [started.format(folder=tmp_path)])

    assert command("train") == helped
    assert resumed.format(folder=tmp_path) in typed("orchestrator", ["--resume", "r"])
