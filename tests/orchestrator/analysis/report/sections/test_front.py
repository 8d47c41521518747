"""The table of the front, and how its verdicts are judged."""

from __future__ import annotations

import pytest

from orchestrator.analysis.report.sections.front import front_of, front_table
from orchestrator.analysis.report.tables import Section
from orchestrator.analysis.report.view import View


def front_in(view: View) -> Section:
    (section,) = (section for section in front_of(view) if section.name == "front")
    return section


def judged(view: View) -> str:
    ((_, lines),) = front_in(view).folded
    return "\n".join(lines)


def test_the_table_has_the_front_the_marked_configs_and_those_that_may_be_the_best(
    view: View,
) -> None:
    table = front_in(view).table
    assert table is not None
    assert [cell.text for cell in table.column("against the best")] == [
        "best", "unresolved", "unresolved", "worse", "worse", "worse",
    ]  # fmt: skip
    assert [cell.text for cell in table.column("")] == ["", "", "recommended", "", "", "baseline"]
    speeds = [cell.number for cell in table.column("samples_per_s")]
    assert speeds == sorted(speeds, key=lambda speed: -(speed or 0))
    assert table.column("ratio to the best")[3].text == "0.801 (0.755 to 0.863)"
    assert table.column("runs")[2].text == "3 to confirm"


def test_the_lines_count_the_verdicts_and_name_the_noise(view: View) -> None:
    text = judged(view)
    for words in (
        "24 completed configs 12 accurate enough to be ranked: 1 best, 9 worse, 2 unresolved",
        "pooled over 2 repeated configs, confirm runs included; 4 degrees of freedom",
        "noise floor: 3 confirm runs of the baseline differ from each other by up to 1.0 %",
    ):
        assert words in text


@pytest.mark.parametrize(
    ("verdict", "text"),
    [("tied", "within 2 % of the fastest"), ("unresolved", "unresolved"), ("worse", "worse")],
)
def test_a_recommended_config_is_within_the_margin_only_where_that_is_shown(
    verdict: str, text: str, view: View
) -> None:
    rows = view.configs[view.configs["is_recommended"]].assign(verdict=verdict)
    assert front_table(view, rows).column("against the best")[0].text == text
