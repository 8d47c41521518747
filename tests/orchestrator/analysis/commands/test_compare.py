"""``python -m orchestrator.analysis compare``, as a step of CI."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from orchestrator.analysis.__main__ import main
from tests.orchestrator.analysis.made_runs import MadeRun, config, products_run


@pytest.fixture(scope="module")
def slower(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The second run once more, everything a fifth slower."""
    run = products_run(seed=2)
    for row in run.rows:
        row["metrics.samples_per_s"] *= 0.8
    return run.write(tmp_path_factory.mktemp("slower") / "run")


def test_a_regression_exits_with_1_and_is_the_first_line(
    runs: tuple[Path, Path], slower: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", str(runs[0]), str(slower)]) == 1
    first, *_ = capsys.readouterr().out.splitlines()
    assert first.startswith("regression in samples_per_s: all 24 configs together (train) are 0.8")
    assert main(["compare", str(slower), str(runs[0])]) == 0
    assert capsys.readouterr().out.startswith("improvement in samples_per_s")


def test_a_wider_tolerance_shows_none(
    runs: tuple[Path, Path], slower: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", str(runs[0]), str(slower), "--tolerance", "0.4"]) == 0
    assert "no change beyond the tolerance of 40 %: all 24" in capsys.readouterr().out


def test_two_runs_that_do_not_differ_show_none(
    runs: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", *map(str, runs)]) == 0
    text = capsys.readouterr().out
    assert text.startswith("not decided: no regression beyond 3 % shown; all 24 configs together")
    assert "in common, confirm: the 2 configs together" in text
    assert "samples_per_s, second over first" in text


def test_the_document_has_the_verdict_and_every_change(
    runs: tuple[Path, Path], slower: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", str(runs[0]), str(slower), "--json"]) == 1
    output = capsys.readouterr()
    document = json.loads(output.out)
    assert output.err == ""
    assert (document["schema_version"], document["verdict"]) == (1, "regression")
    assert document["tolerance"] == 0.03
    assert document["sentence"].startswith("regression in samples_per_s")
    together = [change for change in document["changes"] if change["config"] is None]
    assert {(c["stage"], c["metric"]) for c in together} == {
        (stage, metric) for stage in ("train", "confirm") for metric in ("samples_per_s", "val_acc")
    }
    speed = together[0]
    assert speed["low"] < speed["change"] < speed["high"] < speed["limit_low"] == 0.97
    assert len(document["configs"]) == 26


def test_a_ratio_whose_error_is_not_known_is_null(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = []
    for seed in range(2):
        run = MadeRun(seed)
        for workers in (0, 3):
            run.add(config(num_workers=workers))
        folders.append(str(run.write(tmp_path / f"run-{seed}")))
    assert main(["compare", *folders, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["verdict"] == "not decided"
    assert {c["change"] for c in document["changes"] if c["is_ratio"]} == {None}
    assert {row["ratio"] for row in document["configs"]} == {None}
    assert all(row["speed_first"] > 0 for row in document["configs"])


def test_several_pairs_are_compared_together(
    runs: tuple[Path, Path], slower: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["compare", *map(str, runs), "--again", *map(str, runs), "--again", str(runs[0])]
    assert main([*words, str(slower), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["num_pairs"] == 3


def test_runs_of_two_machines_are_refused(
    made: MadeRun, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    first = made.write(tmp_path / "first")
    made.sweep["hardware"]["cpu_model"] = "EPYC 7763"
    words = ["compare", str(first), str(made.write(tmp_path / "second"))]
    assert main(words) == 2
    assert "hardware.cpu_model: Xeon 2.2 GHz and EPYC 7763" in capsys.readouterr().err
    assert main([*words, "--across", "hardware.cpu_model"]) == 0
    for misspelt, meant in (
        ("hardware.cpu_modle", "hardware.cpu_model"),
        ("versions.torc", "versions.torch"),
        ("torch", "versions.torch"),
        ("isolaton", "isolation"),
    ):
        capsys.readouterr()
        assert main([*words, "--across", misspelt]) == 2
        told = capsys.readouterr().err
        assert f"{misspelt!r} is no condition of a speed; did you mean {meant!r}?" in told
