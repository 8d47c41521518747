"""``python -m orchestrator.analysis RUN_DIR``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from orchestrator.analysis.__main__ import main
from orchestrator.analysis.findings.findings import findings
from tests.orchestrator.analysis.made_runs import MadeRun


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


def test_the_files_may_go_elsewhere(
    runs: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "new" / "folder"
    assert main([str(runs[0]), "--out", str(out)]) == 0
    assert (out / "report.html").is_file()
    assert not (runs[0] / "report.html").exists()
    assert f"report:      {out}" in capsys.readouterr().out


def test_a_run_from_mlflow_leaves_no_file(
    made: MadeRun, monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        "orchestrator.analysis.tables.load.load_run", lambda source, uri: made.tables
    )
    assert main(["products_loader", "--tracking-uri", "sqlite:///mlflow.db"]) == 0
    assert "report:" not in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []
