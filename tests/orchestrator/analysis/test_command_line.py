"""The commands on runs, in this process, except for tests of the program itself."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.analysis.command_line import COMMANDS, parse
from orchestrator.cli import main
from tests.conftest import ROOT, RunCli
from tests.helping import ran


def test_a_run_is_written_again_and_printed(run_cli: RunCli, run_dir: Path) -> None:
    done = run_cli("show", run_dir, page=True, env={"COLUMNS": None})
    assert done.stderr == ""
    assert "products_loader: the front" in done.stdout
    assert "lr=0.01 batch_size=4000 num_workers=8" in done.stdout
    assert (run_dir / "report.html").is_file()


def test_a_directory_that_cannot_be_written_is_named(
    capsys: pytest.CaptureFixture[str], run_dir: Path
) -> None:
    (run_dir / "front.csv").mkdir()  # root may write anywhere: stand in its way instead
    assert main(["show", str(run_dir)]) == 2
    error = f"error: {run_dir}/front.csv: cannot be used: Is a directory\n  give another folder by"
    assert capsys.readouterr().err.startswith(f"{error} --out DIR\n")
    assert not list(run_dir.glob(".*.tmp"))


def test_a_document_that_cannot_be_written_is_an_error_and_a_reader_that_left_is_none(
    run_dir: Path,
) -> None:
    words = [sys.executable, "-m", "orchestrator", "front", run_dir]

    def ended(rest: str) -> tuple[int, str]:
        command = f"set -o pipefail; {shlex.join(map(str, words))} {rest}"
        done = ran("/bin/bash", "-c", command, code=None)
        return done.returncode, done.stderr

    error = "error: cannot be used: No space left on device\n"
    assert ended("--json >/dev/full") == (2, error)
    assert ended("--json | true") == (0, "")
    assert ended(">/dev/full") == (0, ""), "lines for a person"


def test_the_short_name_of_a_checkout_is_the_package_and_the_command(run_dir: Path) -> None:
    code = "import analysis as an, orchestrator.analysis as its; assert an.load is its.load"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
    shown = ran(sys.executable, "-m", "analysis", "show", "--help", cwd=ROOT).stdout
    assert shown.startswith("usage: python -m orchestrator show")
    assert "the front" in ran(sys.executable, "-m", "analysis", run_dir, cwd=ROOT).stdout


# -- options


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["compare", "a"], "the following arguments are required: SECOND"),
        (["show", "a", "b"], "unrecognized arguments: b"),
        (["compare", "a", "b", "--tolrance", "0.1"], "did you mean '--tolerance'?"),
        (["compare", "a", "b", "--tolerance", "3%"], "--tolerance: invalid float value: '3%'"),
    ],
)  # fmt: skip
def test_a_wrong_command_line_is_one_message(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as refused:
        parse(words)
    output = capsys.readouterr()
    assert (refused.value.code, output.out) == (2, "")
    text = output.err
    assert message in text
    assert len(text.splitlines()) == 2
    assert text.startswith("error: ")


@pytest.mark.parametrize("command", COMMANDS)
def test_the_page_names_every_option_of_a_command(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        parse([command, "--help"])
    helped = set(re.findall(r"--[a-z][a-z-]+", capsys.readouterr().out)) - {"--help"}
    page = (ROOT / "docs" / "command-line.md").read_text()
    section = page[page.index("## Afterwards") :]
    assert f"`orchestrator {command} " in section
    assert helped <= set(re.findall(r"--[a-z][a-z-]+", section))
