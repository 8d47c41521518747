"""Verdicts on the configs, and the noise that they are judged by."""

from __future__ import annotations

from orchestrator.analysis.report.sections.verdicts import verdicts_of
from orchestrator.analysis.report.tables import Table
from orchestrator.analysis.report.view import View
from tests.orchestrator.analysis.made_runs import MadeRun, config, products_run
from tests.orchestrator.analysis.report.pages import view_of_run


def verdicts_in(view: View) -> tuple[str, Table]:
    section = verdicts_of(view)
    assert section is not None
    assert section.table is not None
    ((_, lines),) = section.folded
    return "\n".join(lines), section.table


def test_the_lines_count_the_verdicts_and_name_the_noise(view: View) -> None:
    text, _ = verdicts_in(view)
    for words in (
        "of 24 completed configs 12 accurate enough to be ranked: 1 best, 9 worse, 2 unresolved",
        "with 95 % confidence the best config is not called worse and each ratio to it lies in its "
        "interval; of configs that are equally good one may be called worse more often than in 5 %",
        "pooled over 2 repeated configs, confirm runs included; 4 degrees of freedom",
        "noise floor: 3 confirm runs of the baseline differ from each other by up to 1.0 %",
        "in four of five cases with 3 pairs of confirm runs",
    ):
        assert words in text, words


def test_the_table_has_the_best_config_first(view: View) -> None:
    _, table = verdicts_in(view)
    ratios = [row[table.head.index("ratio to the best")].number for row in table.rows]
    assert len(ratios) == 12
    assert ratios[0] == 1.0
    assert ratios == sorted(ratios, key=lambda ratio: -(ratio or 0.0))


def test_without_repeats_no_config_is_told_from_the_best() -> None:
    run = products_run()
    run.rows = [row for row in run.rows if row["stage"] == "train"]
    text, _ = verdicts_in(view_of_run(run))
    assert "no config was run twice" in text
    assert "there is no noise floor" in text


def test_without_a_completed_config_there_are_no_verdicts() -> None:
    run = MadeRun()
    run.add(config(), state="failed", reason="no")
    assert verdicts_of(view_of_run(run)) is None
