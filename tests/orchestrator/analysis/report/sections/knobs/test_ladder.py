"""From the baseline to the recommended config, on the page."""

from __future__ import annotations

import pytest

from orchestrator.analysis.report.sections.knobs.ladder import (
    ladder_of,
)
from orchestrator.analysis.report.view import View
from tests.orchestrator.analysis.made_runs import MadeRun, config, factored_run
from tests.orchestrator.analysis.report.pages import view_of_run


def test_each_knob_is_a_step_and_each_bar_begins_where_the_last_one_ends(view: View) -> None:
    section = ladder_of(view)
    assert section is not None
    assert section.table is not None
    assert [row[0].text for row in section.table.rows] == [
        "num_workers=3", "batch_size=4000", "lr=0.01",
    ]  # fmt: skip
    (drawn,) = section.figures
    (bars,) = drawn.figure.data
    ends = [base + length for base, length in zip(bars.base, bars.x, strict=True)]
    assert bars.base[0] == 1.0
    assert list(bars.base[1:]) == pytest.approx(ends[:-1])
    rows = view.configs
    speeds = [rows.loc[rows[f"is_{word}"], "metrics.samples_per_s"].iloc[0]
              for word in ("recommended", "baseline")]  # fmt: skip
    of_searching = view.findings.speedup
    assert of_searching is not None
    assert ends[-1] == pytest.approx(of_searching.searching_ratio, rel=1e-6)
    assert ends[-1] == pytest.approx(speeds[0] / speeds[1], rel=0.05)


def test_knobs_that_nothing_tells_apart_are_one_step_with_what_would() -> None:
    run = MadeRun()
    run.add_runs(config(), [1000.0, 1001.0])
    run.add_runs(config(num_workers=3, threads=1), [1500.0, 1501.0])
    section = ladder_of(view_of_run(run))
    assert section is not None
    assert section.table is not None
    assert [row[0].text for row in section.table.rows] == ["num_workers=3 threads=1"]
    assert section.notes[-1] == (
        "what each of num_workers, threads brings is not known: --set num_workers=3 or --set "
        "threads=1 would tell"
    )


def test_a_composed_step_that_its_role_rules_out_is_not_called_unknown() -> None:
    section = ladder_of(view_of_run(factored_run()))
    assert section is not None
    assert section.table is not None
    cells = {row[0].text: [cell.text for cell in row] for row in section.table.rows}
    assert "none, by its role" in cells["num_workers=3"]
    assert "none, by its role" in cells["lr=0.01"]


def test_where_the_baseline_is_recommended_there_is_no_step() -> None:
    run = MadeRun()
    run.add_runs(config(), [1000.0, 1001.0])
    section = ladder_of(view_of_run(run))
    assert section is not None
    assert section.missing.endswith("(the config is the baseline)")
    assert (section.table, section.figures) == (None, ())
