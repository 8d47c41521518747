"""The picture of the front."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from orchestrator.analysis.report.plot import front_picture
from orchestrator.analysis.report.sections.scatter import num_hidden, scatter_figures
from orchestrator.analysis.report.view import View
from tests.orchestrator.analysis.made_runs import MadeRun, config, products_run
from tests.orchestrator.analysis.report.pages import view_of_run


def picture_of(view: View) -> str:
    text = front_picture(scatter_figures(view), "made & drawn")
    ElementTree.fromstring(text)  # well-formed
    return text


def test_the_picture_has_a_mark_for_each_config_in_sight_and_a_legend(view: View) -> None:
    text = picture_of(view)
    assert "made &amp; drawn" in text
    for word in ("recommended", "baseline", "on the front", "speed (samples/s)"):
        assert word in text
    xs = [float(x) for x in re.findall(r"translate\(([\d.]+),[\d.]+\) scale", text)]
    assert len(xs) > len(scatter_figures(view)[0].drawing.data)
    assert all(0 <= x <= 800 for x in xs)


def test_runs_without_a_figure_have_a_picture_without_one() -> None:
    failed, unknown = MadeRun(), MadeRun()
    failed.add(config(), state="failed", reason="no")
    unknown.sweep["objectives"].append({"metric": "f1", "goal": "maximize", "bound": 0.8})
    unknown.add(config())
    for run in (failed, unknown):
        assert "made" in picture_of(view_of_run(run))


def test_configs_out_of_sight_are_counted_as_on_the_page() -> None:
    run, counts = products_run(), []
    for _ in range(2):
        view = view_of_run(run)
        counts.append(num_hidden(view, view.beside_speed[0]))
        assert f"{counts[-1]} less accurate configs are not in sight" in picture_of(view)
        run.add(config(lr=1.0), **{"metrics.samples_per_s": 5000.0, "metrics.val_acc": 0.1})
    assert counts[1] == counts[0] + 1
