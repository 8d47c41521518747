"""The plan as a user reads it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from orchestrator.driver.budgets import Budgets
from orchestrator.driver.planning.text import note, plan_lines
from orchestrator.search import Asha, Grid, Random
from orchestrator.space.domains import choice, loguniform
from tests.orchestrator.driver.plans import WIDE, Config, Staged, plan


def test_the_plan_says_all_of_it() -> None:
    assert plan_lines(plan(**WIDE)) == [
        "sweep       How many?",
        "            tiny, 3 epochs a trial, at most 1,000 steps",
        "varied      workers: choice(0, 2, 4) [systems]",
        "            prefetch: choice(2, 4) batches [systems]",
        "            ranks: choice(1, 2, 4) [both]",
        "            amp: choice('off', 'fp16') [both]",
        # 36 combinations; 6 of the 12 without workers are merged; 4 of 4 workers x 4 ranks left out
        "train       10 trials: 26 configs, 2 runs each",
        "            merged as the same: 6 of 36 combinations",
        "            excluded by the sweep's constraints: 4 configs",
        "            cannot run here: 21 configs, one row each, not run",
        "                 10  needs 2 GPUs, the largest node has 0 "
        "(as workers=0 prefetch=2 ranks=2 amp=off)",
        "                  6  needs 4 GPUs, the largest node has 0 "
        "(as workers=0 prefetch=2 ranks=4 amp=off)",
        "                  5  fp16 needs a GPU (as workers=0 prefetch=2 ranks=1 amp=fp16)",
        "repeats     up to 4 more: the best config and up to 3 that are not told from it, until "
        "each has 3 runs",
        "confirm     7 trials: the selected config and the baseline, 3 runs each, "
        "interleaved on the same cores where possible and isolated; then what is "
        "recommended, once, with the test split",
        "            up to 40: up to 1 contender of the selected config, and up to 13 runs each "
        "while they do not decide",
        "cores       4 a trial; 1 node of 4 cores, no GPU",
        "            1 at once, leased",
        "time        unknown until the first trial has run: no earlier run of this sweep on "
        "this data with this budget, these fixed knobs and cores",
        "in all      17 to 54 trials; how long they take is not known yet: no earlier trials "
        "like these",
    ]


@pytest.mark.parametrize(
    ("changes", "lines"),
    [
        (
            {"space": Config(workers=choice(0, 2), prefetch=choice(2, 4)), "search": search},
            ["3 trials: 3 configs", "fewer than the 30 asked for: the space has no more"],
        )
        for search in (Random(30), Grid(trials=30))
    ]
    + [
        ({**WIDE, "search": Random(20)}, [r"merged as the same: \d+ of \d\d draws"]),
        (
            {"space": Config(), "confirm": 0},
            ["nothing: one config", "1 trial: 1 config", "confirm     no trials, so no speed-up"],
        ),
        (
            {"space": Config(lr=loguniform(0.01, 1)), "baseline": Config(lr=5.0)},
            ["4 trials: 4 configs, the baseline added"],
        ),
        (
            {"space": Config(workers=choice(0, 2)), "num_cores": 1},
            [r"check +\d+ trials: \d configs?, \d runs each isolated"],
        ),
    ],
)
def test_a_plan_has_a_line_for_each_of_its_parts(
    changes: Mapping[str, Any], lines: Sequence[str]
) -> None:
    text = "\n".join(plan_lines(plan(**changes)))
    assert [line for line in lines if not re.search(line, text)] == []


def test_a_note_of_several_lines_is_indented_under_its_first() -> None:
    assert note("no data\nrun --download") == "NOTE: no data\n      run --download"


def test_a_search_that_knows_its_stages_is_shown_beside_the_grid() -> None:
    lines = plan_lines(plan(search=Staged(), space=Config(workers=choice(0, 2, 4))))
    train = next(number for number, line in enumerate(lines) if line.startswith("probe "))
    assert lines[train : train + 3] == [
        "probe       2 to 8 trials, one at a time and isolated, each about 5 % of a whole "
        "training: speeds",
        "train       1 to 2 trials",
        "            about 37 % to 80 % of the core-time of the grid of 3 configs",
    ]


def test_the_rungs_are_named() -> None:
    lines = plan_lines(plan(epochs=9, stopping=Asha("val_acc", grace=1)))
    assert "stopping    after 1 and 3 of 9 epochs configs are compared by val_acc" in lines


def test_the_time_of_a_trial_is_the_median_of_earlier_ones_else_as_stated() -> None:
    stated = plan(trial_s={"": 148.0})
    assert "2 min 28 s a trial (as the sweep file has it" in "\n".join(plan_lines(stated))
    earlier = replace(stated, earlier_s=[20.0])
    assert "20 s a trial (median of 1 earlier trial)" in "\n".join(plan_lines(earlier))


def test_a_budget_is_shown_with_what_it_ends() -> None:
    made = plan(space=Config(workers=choice(0, 2)), trial_s={"": 30.0})
    lines = plan_lines(made, budgets=Budgets(time_s=3600.0))
    assert any(line.startswith("budget      the time budget of 3600 s: no") for line in lines)
    assert not any("ends the search before" in line for line in lines)
    tight = plan_lines(made, budgets=Budgets(time_s=200.0))
    assert any("ends the search before its last config" in line for line in tight)
