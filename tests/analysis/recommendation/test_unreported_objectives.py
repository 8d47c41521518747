"""Objectives that no trial has reported: the run still ends with all its files."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.recommendation.recommend import recommend
from analysis.report.summary import summary
from analysis.report.write import write_all
from analysis.tables.load import load, load_sweep
from tests.analysis.made_runs import MadeRun, products_run


def with_objectives(*metrics: str) -> MadeRun:
    run = products_run()
    run.sweep["objectives"] = [{"metric": metric, "goal": "maximize"} for metric in metrics]
    return run


def last_lines(run_dir: Path) -> list[str]:
    trials, sweep = load(run_dir), load_sweep(run_dir)
    return summary(trials, sweep, recommend(trials, sweep), run_dir=run_dir)


@pytest.mark.parametrize(
    "metrics",
    [("samples_per_s", "my_score"), ("my_speed", "val_acc"), ("my_speed", "my_score")],
    ids=" ".join,
)
def test_a_run_without_an_objective_is_reported_on_and_says_so(
    metrics: tuple[str, str], tmp_path: Path
) -> None:
    run_dir = with_objectives(*metrics).write(tmp_path / "run")
    missing = " and ".join(metric for metric in metrics if metric.startswith("my_"))

    recommendation = write_all(run_dir)

    assert recommendation.config is None
    assert recommendation.why == f"no completed trial has reported {missing}"
    text = "\n".join(last_lines(run_dir))
    assert f"front:       none: no completed trial has reported {missing}" in text
    assert f"recommended: none: no completed trial has reported {missing}" in text
    page = (run_dir / "report.html").read_text(encoding="utf-8")
    assert f"o completed trial has reported {missing}" in page
    assert (run_dir / "front.png").stat().st_size > 0


def test_without_the_third_objective_the_first_two_still_recommend(tmp_path: Path) -> None:
    run = with_objectives("samples_per_s", "val_acc", "my_score")
    run_dir = run.write(tmp_path / "run")

    assert write_all(run_dir).config is not None
    text = "\n".join(last_lines(run_dir))
    assert "front:       none: no completed trial has reported my_score" in text
    assert "recommended: lr=0.01" in text


def test_a_run_of_which_nothing_completed_is_reported_on(tmp_path: Path) -> None:
    run = with_objectives("my_speed", "my_score")
    run.rows = [row for row in run.rows if row["state"] in ("infeasible", "failed")]
    run_dir = run.write(tmp_path / "run")

    assert write_all(run_dir).config is None
    assert "recommended: none: no trial completed" in "\n".join(last_lines(run_dir))
    assert len(load(run_dir)) == 3
    assert load_sweep(run_dir)["name"] == "products_loader"
