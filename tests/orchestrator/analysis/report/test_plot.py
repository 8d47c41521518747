"""The picture of the front."""

from __future__ import annotations

from pathlib import Path

from orchestrator.analysis.report.plot import write_front_png
from orchestrator.analysis.report.view import View
from tests.orchestrator.analysis.made_runs import MadeRun, config
from tests.orchestrator.analysis.report.pages import view_of_run


def test_the_picture_is_a_png_that_is_the_same_for_the_same_run(view: View, tmp_path: Path) -> None:
    for name in ("first", "second"):
        write_front_png(view, tmp_path / name)
    content = (tmp_path / "first").read_bytes()
    assert content.startswith(b"\x89PNG")
    assert content == (tmp_path / "second").read_bytes()


def test_a_run_without_a_completed_config_has_a_picture(tmp_path: Path) -> None:
    run = MadeRun()
    run.add(config(), state="failed", reason="no")
    write_front_png(view_of_run(run), tmp_path / "front.png")
    assert (tmp_path / "front.png").stat().st_size > 1000
