"""Options of the place, as they are read."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.cli import parse
from orchestrator.driver.executors import EXECUTORS
from orchestrator.driver.options import DECLARATIONS, Options


def test_the_help_names_every_executor() -> None:
    assert all(f"{name}: " in DECLARATIONS["executor"].help for name in EXECUTORS)


def test_a_home_is_expanded_in_each_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/user/")
    options = parse(["s.py", "--out=~/a", "--table=~/b", "--resume=~/c"])
    assert options == Options(
        sweep_file=Path("s.py"),
        out=Path("/home/user/a"),
        table=Path("/home/user/b"),
        resume=Path("/home/user/c"),
    )


@pytest.mark.parametrize("given", ["--max-concurrent=0", "--isolation=lonely", "--executor=r"])
def test_a_value_that_no_option_has_is_named(
    given: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        parse(["s.py", given])
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith(f"error: argument {given.partition('=')[0]}: ")
