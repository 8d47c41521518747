"""``python -m orchestrator.analysis export``."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from orchestrator.analysis.__main__ import main


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
def test_a_wrong_request_is_one_message(
    words: list[str], message: str, runs: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setattr("orchestrator.analysis.tables.load.load_run", lambda source, uri: None)
    words = [str(runs[0]) if word == "RUN" else word for word in words]
    assert main(["export", str(runs[0]), *words]) == 2
    assert message in capsys.readouterr().err
