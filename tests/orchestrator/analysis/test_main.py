"""``python -m orchestrator.analysis``, in this process but where the program itself is shown."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.analysis.__main__ import COMMANDS, main, parse
from orchestrator.analysis.comparison import changes
from tests.conftest import ROOT, RunCli
from tests.helping import check_help, ran


def test_a_run_is_written_again_and_printed(run_cli: RunCli, run_dir: Path) -> None:
    done = run_cli(run_dir, module="orchestrator.analysis", env={"COLUMNS": None})
    assert (done.returncode, done.stderr) == (0, "")
    assert "products_loader: the front" in done.stdout
    assert "lr=0.01 batch_size=4000 num_workers=8" in done.stdout
    assert (run_dir / "report.html").is_file()


def test_a_directory_that_cannot_be_written_is_named(
    capsys: pytest.CaptureFixture[str], run_dir: Path
) -> None:
    (run_dir / "front.csv").mkdir()  # root may write anywhere: stand in its way instead
    assert main([str(run_dir)]) == 2
    said = f"error: {run_dir}/front.csv: cannot be used: Is a directory\n  give another folder by"
    assert capsys.readouterr().err.startswith(f"{said} --out DIR\n")
    assert not list(run_dir.glob(".*.tmp"))


def test_a_document_that_cannot_be_written_is_an_error_and_a_reader_that_left_is_none(
    run_dir: Path,
) -> None:
    words = [sys.executable, "-m", "orchestrator.analysis", "front", run_dir]

    def ended(rest: str) -> tuple[int, str]:
        command = f"set -o pipefail; {shlex.join(map(str, words))} {rest}"
        done = ran("/bin/bash", "-c", command, check=False)
        return done.returncode, done.stderr

    said = "error: cannot be used: No space left on device\n"
    assert ended("--json >/dev/full") == (2, said)
    assert ended("--json | true") == (0, "")
    assert ended(">/dev/full") == (0, ""), "lines for a person"


def test_help_needs_no_second() -> None:
    check_help("analysis", says="RUN_DIR")


def test_the_short_name_of_a_checkout_is_the_package_and_the_command() -> None:
    code = "import analysis as an, orchestrator.analysis as its; assert an.load is its.load"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
    words = [sys.executable, "-m", "analysis", "--help"]
    shown = ran(*words, cwd=ROOT).stdout
    assert shown.startswith("usage: python -m orchestrator.analysis")


# -- options


def test_a_run_without_a_command_is_shown() -> None:
    assert parse(["runs/a/b"]) == parse(["show", "runs/a/b"])
    assert parse(["--json", "runs/a/b"]).json


def test_the_tolerance_is_that_of_the_comparison() -> None:
    assert parse(["compare", "a", "b"]).tolerance == changes.TOLERANCE


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["compre", "a", "b"], "neither a command nor a folder; did you mean 'compare'?"),
        (["compare", "a"], "the following arguments are required: SECOND"),
        (["a", "b"], "unrecognized arguments: b"),
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
    assert f"`orchestrator {command} " in section
    assert helped <= set(re.findall(r"--[a-z][a-z-]+", section))
