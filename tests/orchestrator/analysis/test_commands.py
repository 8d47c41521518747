"""The commands on runs, each from its words to its exit code."""

import json
import math
import webbrowser
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from orchestrator.analysis.api.runs import pareto_front
from orchestrator.analysis.columns import plain
from orchestrator.analysis.commands import rows_of, write_document
from orchestrator.analysis.findings.findings import findings
from orchestrator.analysis.tables.load import load_run
from orchestrator.cli import main
from tests.orchestrator.analysis.made_runs import MadeRun, config, products_run

Output = pytest.CaptureFixture[str]
Answer = Callable[..., dict[str, Any]]


@pytest.fixture
def answer(capsys: Output) -> Answer:
    """Run a command with ``--json`` and return its document; ``code`` is its exit code."""

    def run(*words: object, code: int = 0) -> dict[str, Any]:
        assert main([*map(str, words), "--json"]) == code
        output = capsys.readouterr()
        assert output.err == ""
        return json.loads(output.out)

    return run


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("products_loader")
    return tuple(products_run(seed=n).write(folder / f"run-{n}") for n in (0, 1))  # type: ignore[return-value]


# -- show


def test_a_run_is_one_document(run_dir: Path, made: MadeRun, answer: Answer) -> None:
    document = answer("show", run_dir)
    found = findings(made.tables)
    assert document["answer"]["sentence"] == found.sentence
    assert document["answer"]["status"] == found.status
    assert document["answer"]["config"]["num_workers"] == 3
    assert len(document["front"]) == 3
    assert Path(document["files"]) == run_dir
    assert (run_dir / "report.html").is_file()


# -- front


def test_the_front_is_of_the_sweeps_objectives_or_of_any_figures(
    runs: tuple[Path, Path], answer: Answer
) -> None:
    own = answer("front", runs[0])
    assert [o["metric"] for o in own["objectives"]] == ["samples_per_s", "val_acc"]
    speeds = pareto_front(load_run(runs[0]))["metrics.samples_per_s"].tolist()
    assert [row["samples_per_s"] for row in own["front"]] == pytest.approx(speeds)
    other = answer("front", runs[0], "--objectives", "samples_per_s, peak_rss_gib")
    assert [o["goal"] for o in other["objectives"]] == ["maximize", "minimize"]
    assert {row["config"]["num_workers"] for row in other["front"]} == {0, 3, 8}
    (slowest,) = answer("front", runs[0], "--objectives", "minimize:samples_per_s")["front"]
    assert slowest["config"]["num_workers"] == 0


# -- export


def test_tables_are_written_below_the_run_or_elsewhere_and_named(
    run_dir: Path, tmp_path: Path, answer: Answer, capsys: Output
) -> None:
    before = (run_dir / "trials.csv").read_bytes()
    assert str(run_dir / "export" / "trials.csv") in answer("export", run_dir)["files"]
    assert (run_dir / "trials.csv").read_bytes() == before
    elsewhere = tmp_path / "new"
    assert main(["export", str(run_dir), "--format", "parquet", "--out", str(elsewhere)]) == 0
    files = [Path(line) for line in capsys.readouterr().out.splitlines()]
    assert {path.name for path in files} >= {"trials.parquet", "configs.parquet", "front.parquet"}
    assert len(pd.read_parquet(elsewhere / "configs.parquet")) == 24


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("front RUN --objectives val_ac", "has no column 'val_ac'; did you mean 'val_acc'?"),
        ("front RUN --objectives maximise:val_acc", "no column 'maximise:val_acc'"),
        ("front RUN --objectives val_acc,gpu_util", "write maximize:gpu_util or minimize:gpu_util"),
        ("front RUN --objectives minimize:group", "group is text, so that no value is better"),
        ("front RUN --objectives val_acc,epoch_s,step_ms,eval_s", "two or three objectives, not 4"),
        ("export RUN --format parqet", "unknown format 'parqet'; did you mean 'parquet'?"),
        ("export RUN --out RUN", "is a run's own folder; the export would replace its tables"),
        ("compare RUN RUN --tolerance 3", "tolerance"),
    ],
)
def test_a_wrong_request_is_one_message(
    words: str, message: str, runs: tuple[Path, Path], capsys: Output
) -> None:
    assert main(words.replace("RUN", str(runs[0])).split()) == 2
    output = capsys.readouterr()
    assert message in output.err
    assert output.out == ""


# -- open


def test_a_report_is_opened_and_its_path_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: Answer, capsys: Output
) -> None:
    report, opened = tmp_path / "report.html", list[str]()
    (tmp_path / "sweep.json").write_text("{}")
    assert main(["open", str(tmp_path)]) == 2
    text = capsys.readouterr().err
    assert "has no report.html" in text
    assert f"python -m orchestrator show {tmp_path}" in text
    report.write_text("<p>report")
    monkeypatch.setattr(webbrowser, "open", lambda url: bool(opened.append(url)))
    document = answer("open", tmp_path)
    assert (document["opened"], document["report"]) == (False, str(report))
    assert opened == [report.as_uri()]
    assert main(["open", str(tmp_path)]) == 0
    assert capsys.readouterr().out == f"{report}\n"


# -- compare


@pytest.fixture(scope="module")
def slower(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The second run once more, everything a fifth slower."""
    run = products_run(seed=2)
    for row in run.rows:
        row["metrics.samples_per_s"] *= 0.8
    return run.write(tmp_path_factory.mktemp("slower") / "run")


def test_a_regression_exits_with_1_and_is_the_first_line(
    runs: tuple[Path, Path], slower: Path, capsys: Output
) -> None:
    assert main(["compare", str(runs[0]), str(slower)]) == 1
    first, *_ = capsys.readouterr().out.splitlines()
    assert first.startswith("regression in samples_per_s: all 23 configs together (train) are 0.8")
    assert main(["compare", str(slower), str(runs[0])]) == 0
    assert capsys.readouterr().out.startswith("improvement in samples_per_s")


@pytest.mark.parametrize("num_clean", [0, 25])
def test_without_clean_runs_of_a_config_nothing_about_its_speed_is_decided(
    runs: tuple[Path, Path], tmp_path: Path, capsys: Output, num_clean: int
) -> None:
    run = products_run(seed=2)
    confirm = [row for row in run.rows if row["stage"] == "confirm"]
    for row in [*(r for r in run.rows if r["stage"] != "confirm"), *confirm][num_clean:]:
        row["metrics.samples_per_s"] *= 0.3
        row |= {"tags.contaminated": "70 % of its cores' time", "metrics.foreign_share": 0.7}
    busy = run.write(tmp_path / "busy")
    assert main(["compare", str(runs[0]), str(busy)]) == 0
    first, *lines = capsys.readouterr().out.splitlines()
    assert first.startswith("not decided: ")
    assert ("other load disturbed" in first) == (num_clean == 0)
    assert sum(line.startswith("note: other load, second run: ") for line in lines) == 1
    assert any("others took 70 %" in line for line in lines)


def test_the_document_has_the_verdict_and_every_change(
    runs: tuple[Path, Path], slower: Path, answer: Answer
) -> None:
    document = answer("compare", runs[0], slower, code=1)
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


def test_runs_of_two_machines_are_refused(made: MadeRun, capsys: Output, tmp_path: Path) -> None:
    first = made.write(tmp_path / "first")
    made.sweep["hardware"]["cpu_model"] = "EPYC 7763"
    words = ["compare", str(first), str(made.write(tmp_path / "second"))]
    assert main(words) == 2
    assert "hardware.cpu_model: Xeon 2.2 GHz and EPYC 7763" in capsys.readouterr().err
    assert main([*words, "--across", "hardware.cpu_model"]) == 0


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
