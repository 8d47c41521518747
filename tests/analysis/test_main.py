"""``python -m analysis``, in this process but where its being a program is what is shown."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from analysis.__main__ import main
from tests.analysis.made_runs import MadeRun, products_run
from tests.conftest import RunCli
from tests.helping import check_help

FORMAT_1 = Path(__file__).parents[1] / "fixtures" / "run_format_1"


def test_a_run_is_written_again_and_printed(run_cli: RunCli, run_dir: Path) -> None:
    done = run_cli(run_dir, module="analysis")
    assert (done.returncode, done.stderr) == (0, "")
    assert "products_loader: the front" in done.stdout
    assert "recommended: lr=0.01 batch_size=4000 num_workers=3" in done.stdout
    assert (run_dir / "report.html").is_file()


def test_a_run_of_the_format_before_is_opened(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_dir = tmp_path / "run"
    shutil.copytree(FORMAT_1, run_dir)
    assert main([str(run_dir)]) == 0
    assert "recommended: " in capsys.readouterr().out
    assert "interleaved confirm runs" in (run_dir / "recommended.json").read_text()
    assert (run_dir / "report.html").is_file()


def test_two_runs_are_compared(
    capsys: pytest.CaptureFixture[str], run_dir: Path, tmp_path: Path
) -> None:
    other = products_run(seed=1).write(tmp_path / "other")
    assert main(["compare", str(run_dir), str(other)]) == 0
    text = capsys.readouterr().out
    assert "samples_per_s, second over first" in text
    assert "none shown" in text
    assert "in common, confirm: the 2 configs together" in text


def test_several_pairs_are_compared_together(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    runs = [str(products_run(seed=seed).write(tmp_path / f"run-{seed}")) for seed in range(4)]
    assert main(["compare", *runs[:2], "--again", *runs[2:]]) == 0
    text = capsys.readouterr().out
    assert "second over first, 2 pairs of runs" in text
    assert "over 2 pairs of runs" in text


def test_runs_of_two_machines_are_refused(
    made: MadeRun, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    first = made.write(tmp_path / "first")
    made.sweep["hardware"]["cpu_model"] = "EPYC 7763"
    assert main(["compare", str(first), str(made.write(tmp_path / "second"))]) == 2
    assert "hardware.cpu_model: Xeon 2.2 GHz and EPYC 7763" in capsys.readouterr().err


def test_a_directory_that_does_not_exist_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["nowhere"]) == 2
    assert capsys.readouterr().err.startswith("error: nowhere: ")


@pytest.mark.parametrize(
    "words", [["compare", "nowhere"], ["a", "b"], ["compare", "a", "b", "--again", "c"]]
)
def test_a_wrong_command_line_gets_a_message_and_exit_code_2(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as refused:
        main(words)
    assert refused.value.code == 2
    assert "error: " in capsys.readouterr().err


def test_a_directory_that_cannot_be_written_is_named(
    capsys: pytest.CaptureFixture[str], run_dir: Path
) -> None:
    (run_dir / ".front.csv.tmp").mkdir()  # root may write anywhere: stand in its way instead
    assert main([str(run_dir)]) == 2
    assert "front.csv.tmp: cannot be used: Is a directory" in capsys.readouterr().err


def test_help_needs_no_second() -> None:
    check_help("analysis", says="RUN_DIR")
