"""The command line of ``python -m orchestrator.analysis``."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from orchestrator.analysis.commands.parser import COMMANDS, parse
from orchestrator.analysis.comparison import changes
from tests.conftest import ROOT


def refusal(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as refused:
        parse(words)
    assert refused.value.code == 2
    output = capsys.readouterr()
    assert output.out == ""
    return output.err


def test_a_run_without_a_command_is_shown() -> None:
    assert parse(["runs/a/b"]) == parse(["show", "runs/a/b"])
    assert parse(["--json", "runs/a/b"]).json


def test_the_tolerance_is_that_of_the_comparison() -> None:
    assert parse(["compare", "a", "b"]).tolerance == changes.TOLERANCE


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["compre", "a", "b"], "neither a command nor a folder; did you mean 'compare'?"),
        ([], "the following arguments are required: RUN_DIR"),
        (["compare", "a"], "the following arguments are required: SECOND"),
        (["a", "b"], "unrecognized arguments: b"),
        (["compare", "a", "b", "--again", "c"], "argument --again: expected 2 arguments"),
        (["compare", "a", "b", "--tolrance", "0.1"], "did you mean '--tolerance'?"),
        (["compare", "a", "b", "--tolerance", "3%"], "--tolerance: invalid float value: '3%'"),
    ],
)  # fmt: skip
def test_a_wrong_command_line_is_one_message(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = refusal(words, capsys)
    assert message in text
    assert len(text.splitlines()) == 2
    assert text.startswith("error: ")


def test_a_folder_that_is_called_like_a_command_is_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("fronts").mkdir()
    assert parse(["fronts"]).run == "fronts"


@pytest.mark.parametrize("command", COMMANDS)
def test_the_page_names_every_option_of_a_command(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        parse([command, "--help"])
    helped = set(re.findall(r"--[a-z][a-z-]+", capsys.readouterr().out)) - {"--help"}
    page = (ROOT / "docs" / "command-line.md").read_text()
    section = page[page.index("## Afterwards") :]
    assert f"python -m orchestrator.analysis {command}" in section or command == "show"
    assert helped <= set(re.findall(r"--[a-z][a-z-]+", section))
