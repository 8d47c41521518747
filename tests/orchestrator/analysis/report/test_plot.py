"""The picture of the front."""

from __future__ import annotations

from pathlib import Path

from orchestrator.analysis.report.plot import front_picture, write_front_png
from orchestrator.analysis.report.sections.scatter import num_hidden
from orchestrator.analysis.report.view import View
from tests.orchestrator.analysis.made_runs import MadeRun, config, products_run
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


def test_a_condition_that_no_trial_has_a_figure_of_has_a_picture(tmp_path: Path) -> None:
    run = MadeRun()
    run.sweep["objectives"].append({"metric": "f1", "goal": "maximize", "bound": 0.8})
    run.add(config())
    write_front_png(view_of_run(run), tmp_path / "front.png")
    assert (tmp_path / "front.png").stat().st_size > 1000


def test_configs_out_of_sight_are_counted_as_on_the_page() -> None:
    run, counts = products_run(), []
    for _ in range(2):
        view = view_of_run(run)
        (axes,) = front_picture(view).axes
        counts.append(num_hidden(view, view.beside_speed[0]))
        (text,) = axes.texts
        assert text.get_text() == f"{counts[-1]} less accurate configs are not in sight"
        run.add(config(lr=1.0), **{"metrics.samples_per_s": 5000.0, "metrics.val_acc": 0.1})
    assert counts[1] == counts[0] + 1
