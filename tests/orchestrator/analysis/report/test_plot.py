"""The picture of the front."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from orchestrator.analysis.report.plot import front_picture
from orchestrator.analysis.report.sections.scatter import scatter_figures
from orchestrator.analysis.report.view import View
from tests.orchestrator.analysis.made_runs import MadeRun, config
from tests.orchestrator.analysis.report.pages import view_of_run


def picture_of(view: View) -> str:
    text = front_picture(scatter_figures(view), "made & drawn")
    ElementTree.fromstring(text)  # well-formed
    return text


def test_the_picture_has_a_mark_for_each_config_in_sight_and_a_legend(view: View) -> None:
    text = picture_of(view)
    for word in ("made &amp; drawn", "recommended", "baseline", "speed (samples/s)",
                 "★"):  # fmt: skip
        assert word in text
    xs = [float(x) for x in re.findall(r'<text x="([\d.]+)"[^>]*>[★■◆●○]', text)]
    assert len(xs) > len(scatter_figures(view)[0].drawing.data)
    assert all(0 <= x <= 800 for x in xs)


def test_a_run_without_a_figure_has_a_picture_without_one() -> None:
    failed = MadeRun()
    failed.add(config(), state="failed", reason="no")
    assert "made" in picture_of(view_of_run(failed))
