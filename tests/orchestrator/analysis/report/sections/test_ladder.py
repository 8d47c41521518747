from __future__ import annotations

import itertools
import random
from collections.abc import Mapping

import pytest

from orchestrator.analysis.columns import TableError
from orchestrator.analysis.report.sections import ladder as module
from orchestrator.analysis.report.sections.ladder import ladder, ladder_of
from orchestrator.analysis.report.view import View
from tests.orchestrator.analysis.made_runs import MadeRun, config, factored_run
from tests.orchestrator.analysis.report.pages import column_of, view_of_run

BEST = config(num_workers=3, batch_size=4000, lr=0.01)


def run_of(*steps: tuple[Mapping[str, object], float]) -> MadeRun:
    run = MadeRun()
    run.add_runs(config(), [990.0, 1000.0, 1010.0])
    for changes, speed in steps:
        run.add_runs(config(**changes), [speed])
    return run


def test_each_step_has_what_it_brought_from_the_configs_that_were_run() -> None:
    tables = run_of(
        ({"num_workers": 3}, 1300.0),
        ({"batch_size": 4000}, 1500.0),
        ({"batch_size": 4000, "num_workers": 3}, 1800.0),
        ({"num_workers": 3, "batch_size": 4000, "lr": 0.01}, 1810.0),
    ).tables
    steps = ladder(tables, BEST)
    assert [step.text for step in steps] == ["batch_size=4000", "num_workers=3", "lr=0.01"]
    rows = [row for step in steps if (row := step.effects["samples_per_s"])]
    ratios = [row["effect"] for row in rows]
    assert ratios == pytest.approx([1500 / 1000, 1800 / 1500, 1810 / 1800], rel=1e-3)
    assert all(row["low"] < row["effect"] for row in rows)
    assert all(step.to_try == () for step in steps)


def test_knobs_whose_configs_between_were_not_run_change_together_with_what_would_tell() -> None:
    run = run_of(
        ({"num_workers": 3}, 1300.0),
        ({"num_workers": 3, "batch_size": 4000, "lr": 0.01}, 1800.0),
    )
    section = ladder_of(view_of_run(run))
    assert section is not None
    steps, changes = (
        column_of(section.table, title) for title in ("step", "change of samples_per_s")
    )
    assert steps[0].text == "num_workers=3"
    assert set(steps[1].text.split()) == {"batch_size=4000", "lr=0.01"}
    assert changes[1].number == pytest.approx(1800 / 1300)
    tried = ("--set num_workers=3 --set batch_size=4000", "--set num_workers=3 --set lr=0.01")
    assert all(options in section.notes[-1] for options in tried)


def test_without_a_figure_at_an_end_there_is_no_ladder() -> None:
    for run in (run_of(), MadeRun()):
        with pytest.raises(TableError, match="no speed of a completed searching run"):
            ladder(run.tables, BEST)
    section = ladder_of(view_of_run(run_of()))
    assert section is not None
    assert section.missing.endswith("(the config is the baseline)")
    assert (section.table, section.figures) == (None, ())


def test_a_composed_step_that_its_role_rules_out_is_not_called_unknown() -> None:
    section = ladder_of(view_of_run(factored_run()))
    assert section is not None
    steps = [cell.text for cell in column_of(section.table, "step")]
    speeds = [cell.text for cell in column_of(section.table, "change of samples_per_s")]
    accuracies = [cell.text for cell in column_of(section.table, "change of val_acc")]
    assert speeds[steps.index("lr=0.01")] == "none, by its role"
    assert accuracies[steps.index("num_workers=3")] == "none, by its role"
    assert "†" in speeds[steps.index("num_workers=3")]


def test_each_bar_begins_where_the_last_one_ends(view: View) -> None:
    section = ladder_of(view)
    assert section is not None
    steps = [cell.text for cell in column_of(section.table, "step")]
    assert steps == ["num_workers=3", "batch_size=4000", "lr=0.01"]
    (bars,) = section.figures[0].figure.data
    ends = [base + length for base, length in zip(bars.base, bars.x, strict=True)]
    assert bars.base[0] == 1.0
    assert list(bars.base[1:]) == pytest.approx(ends[:-1])
    of_searching = view.findings.speedup
    assert of_searching is not None
    assert ends[-1] == pytest.approx(of_searching.searching_ratio, rel=1e-6)


def ways(nodes: set[int], top: int, start: int = 0) -> list[list[int]]:
    if start == top:
        return [[top]]
    after = [node for node in nodes if node & start == start and node != start]
    return [[start, *way] for node in after for way in ways(nodes, top, node)]


@pytest.mark.parametrize("seed", range(8))
def test_the_way_has_the_most_steps_of_one_knob_then_the_largest_gains_first(seed: int) -> None:
    rng, top = random.Random(seed), 15
    nodes = {0, top, *rng.sample(range(1, top), 8)}
    levels = {node: rng.random() for node in nodes}

    def worth(way: list[int]) -> tuple[int, int, list[float]]:
        singles = sum((b & ~a).bit_count() == 1 for a, b in itertools.pairwise(way))
        return singles, len(way), [levels[b] - levels[a] for a, b in itertools.pairwise(way)]

    best = max(ways(nodes, top), key=worth)
    assert module._way(levels) == best
