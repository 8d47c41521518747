"""The commands of ``python -m orchestrator.analysis``, each from its words to its exit code."""

from __future__ import annotations

import json
import math
import webbrowser
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from orchestrator.analysis.__main__ import main
from orchestrator.analysis.api.runs import pareto_front
from orchestrator.analysis.commands.actions import plain, rows_of, write_document
from orchestrator.analysis.findings.findings import findings
from orchestrator.analysis.tables.load import load_run
from tests.orchestrator.analysis.made_runs import MadeRun, config, products_run

# -- show


def test_a_run_is_one_document(
    run_dir: Path, made: MadeRun, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(run_dir), "--json"]) == 0
    output = capsys.readouterr()
    document = json.loads(output.out)
    assert output.err == ""
    found = findings(made.tables)
    assert document["answer"]["sentence"] == found.sentence
    assert document["answer"]["status"] == found.status
    assert document["answer"]["config"]["num_workers"] == 3
    assert len(document["front"]) == 3
    assert Path(document["files"]) == run_dir
    assert (run_dir / "report.html").is_file()


def test_a_run_from_mlflow_leaves_no_file(
    made: MadeRun, monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        "orchestrator.analysis.commands.actions.load_run", lambda source, uri: made.tables
    )
    assert main(["products_loader", "--tracking-uri", "sqlite:///mlflow.db"]) == 0
    assert "report:" not in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []


# -- front


def front(run: Path, *words: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert main(["front", str(run), "--json", *words]) == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def test_without_objectives_it_is_the_sweeps_own(
    runs: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    document = front(runs[0], capsys=capsys)
    expected = pareto_front(load_run(runs[0]))
    assert [o["metric"] for o in document["objectives"]] == ["samples_per_s", "val_acc"]
    assert [row["samples_per_s"] for row in document["front"]] == pytest.approx(
        expected["metrics.samples_per_s"].tolist()
    )


def test_any_figures_make_a_front_each_in_its_own_direction(
    runs: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    document = front(runs[0], "--objectives", "samples_per_s, peak_rss_gib", capsys=capsys)
    assert [o["goal"] for o in document["objectives"]] == ["maximize", "minimize"]
    assert {row["config"]["num_workers"] for row in document["front"]} == {0, 3, 8}
    (slowest,) = front(runs[0], "--objectives", "minimize:samples_per_s", capsys=capsys)["front"]
    assert slowest["config"]["num_workers"] == 0


@pytest.mark.parametrize(
    ("objectives", "message"),
    [
        ("val_ac", "--objectives: the frame has no figure 'val_ac'; did you mean 'val_acc'?"),
        ("maximise:val_acc", "--objectives: the frame has no figure 'maximise:val_acc'"),
        ("val_acc,gpu_util", "write maximize:gpu_util or minimize:gpu_util"),
        ("minimize:group", "--objectives: group is text, so that no value is better"),
        ("val_acc,epoch_s,step_ms,eval_s", "takes one, two or three objectives, not 4"),
    ],
)
def test_a_wrong_objective_is_one_message(
    objectives: str, message: str, runs: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["front", str(runs[0]), "--objectives", objectives]) == 2
    output = capsys.readouterr()
    assert message in output.err
    assert output.out == ""


# -- export


def test_the_tables_are_written_and_named(
    runs: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", str(runs[0]), "--format", "parquet", "--out", str(tmp_path)]) == 0
    files = [Path(line) for line in capsys.readouterr().out.splitlines()]
    assert {path.name for path in files} >= {"trials.parquet", "configs.parquet", "front.parquet"}
    assert len(pd.read_parquet(tmp_path / "configs.parquet")) == 24


def test_without_a_folder_they_go_below_the_run(
    run_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (run_dir / "trials.csv").read_bytes()
    assert main(["export", str(run_dir), "--json"]) == 0
    files = json.loads(capsys.readouterr().out)["files"]
    assert str(run_dir / "export" / "trials.csv") in files
    assert (run_dir / "trials.csv").read_bytes() == before


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--format", "parqet"], "unknown format 'parqet'; did you mean 'parquet'?"),
        (["--tracking-uri", "sqlite:///mlflow.db"], "give --out DIR"),
        (["--out", "RUN"], "is a run's own folder; the export would replace its tables"),
    ],
)
def test_a_wrong_export_is_one_message(
    words: list[str], message: str, runs: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setattr("orchestrator.analysis.commands.actions.load_run", lambda source, uri: None)
    words = [str(runs[0]) if word == "RUN" else word for word in words]
    assert main(["export", str(runs[0]), *words]) == 2
    assert message in capsys.readouterr().err


# -- open


@pytest.fixture
def reported(tmp_path: Path) -> Path:
    """A run with a report."""
    run = tmp_path / "run"
    run.mkdir()
    (run / "sweep.json").write_text("{}")
    (run / "report.html").write_text("<p>report")
    return run


def test_the_report_is_opened_and_its_path_printed(
    reported: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda url: bool(opened.append(url)))
    assert main(["open", str(reported), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["opened"] is False
    assert Path(document["report"]) == reported / "report.html"
    assert opened == [(reported / "report.html").as_uri()]
    assert main(["open", str(reported)]) == 0
    assert capsys.readouterr().out == f"{reported / 'report.html'}\n"


def test_a_run_without_a_report_says_what_writes_it(
    reported: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (reported / "report.html").unlink()
    assert main(["open", str(reported)]) == 2
    text = capsys.readouterr().err
    assert "has no report.html" in text
    assert f"python -m orchestrator.analysis {reported}" in text


# -- compare


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
        ("isolaton", "isolation"),
    ):
        capsys.readouterr()
        assert main([*words, "--across", misspelt]) == 2
        told = capsys.readouterr().err
        assert f"{misspelt!r} is no condition of a speed; did you mean {meant!r}?" in told


# -- documents


class Word(StrEnum):
    YES = "yes, it is"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (math.nan, None),
        (math.inf, None),
        (np.float64("nan"), None),
        (pd.NA, None),
        (pd.NaT, None),
        (np.int64(3), 3),
        (np.bool_(True), True),
        (Word.YES, "yes, it is"),
        (Path("a/b"), "a/b"),
        ((1, [2.5, math.nan]), [1, [2.5, None]]),
        (np.array([1.0, math.nan]), [1.0, None]),
        ({"a": {1: math.nan}}, {"a": {"1": None}}),
        (pd.Timestamp("2026-11-26T01:02:03Z"), "2026-11-26 01:02:03+00:00"),
    ],
)
def test_values_are_plain_and_what_is_not_known_is_null(value: object, expected: object) -> None:
    assert plain(value) == expected
    assert type(plain(value)) is type(expected)


def test_a_document_has_its_version_first(capsys: pytest.CaptureFixture[str]) -> None:
    write_document("front", {"figure": math.nan})
    document = json.loads(capsys.readouterr().out)
    assert list(document.items()) == [("schema_version", 1), ("command", "front"), ("figure", None)]


def test_rows_have_their_config_as_python_has_it() -> None:
    run = MadeRun()
    run.add(config(fanouts=(5, 10)))
    (row,) = rows_of(run.trials, run.record)
    assert row["config"]["fanouts"] == (5, 10)
    assert row["config"]["persistent_workers"] is True
    assert "samples_per_s" in row
    assert not [name for name in row if name.startswith(("params.", "metrics."))]
