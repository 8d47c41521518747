"""What was run, and on what."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.analysis.report.page import report_of
from orchestrator.analysis.report.sections.environment import environment_of
from orchestrator.analysis.report.view import View
from tests.orchestrator.analysis.report.pages import with_sweep


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("command", "python -m orchestrator sweeps/products_loader.py"),
        ("started", "2026-09-21 14:13 UTC"),
        ("git commit", "0a3ebe6d1c with uncommitted changes"),
        ("budget of a trial", "3 epochs"),
        ("cpu model", "Xeon 2.2 GHz"),
        ("gpus", "none"),
        ("confirm runs", "3, up to 3"),
    ],
)
def test_the_environment_by_name(view: View, name: str, value: str) -> None:
    assert dict(environment_of(view).facts)[name] == value


def test_what_is_not_known_is_left_out(view: View) -> None:
    assert "data fingerprint" in dict(environment_of(view).facts)
    unknown = with_sweep(view, data_fingerprint="")
    assert "data fingerprint" not in dict(environment_of(unknown).facts)


def test_a_run_that_is_in_mlflow_has_the_way_there(view: View, tmp_path: Path) -> None:
    assert "MLflow" not in dict(environment_of(replace(view, run_dir=tmp_path)).facts)
    address = "http://127.0.0.1:5000/#/experiments/1/runs/2f"
    (tmp_path / "mlflow.txt").write_text(f"mlflow ui --port 5000\nthen {address}\n")
    in_mlflow = replace(view, run_dir=tmp_path)
    facts = dict(environment_of(in_mlflow).facts)
    assert facts["MLflow"] == f"mlflow ui --port 5000 then {address}"
    assert f'<a href="{address}" rel="noreferrer">{address}</a>' in report_of(in_mlflow).html
