from dataclasses import asdict, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.analysis.recommendation.choice import finalists
from orchestrator.analysis.recommendation.selection import select, to_repeat
from orchestrator.metrics import Objective, at_least, at_most, maximize, minimize
from orchestrator.rules import RuleKind, SelectionRule, knee, weighted
from tests.helping import python
from tests.orchestrator.analysis.made_runs import (
    ACCURACY,
    SPEED,
    Config,
    MadeRun,
    config,
    run_by_workers,
)

MEMORY = "metrics.peak_rss_gib"


def run_of(*rows: tuple[Any, ...]) -> MadeRun:
    """A run of (config, samples/s, validation accuracy, and perhaps GiB)."""
    run = MadeRun()
    for c, *figures in rows:
        run.add(c, **dict(zip((SPEED, ACCURACY, MEMORY), figures, strict=False)))
    return run


def chosen(run: MadeRun) -> Config:
    return select(run.tables).config


@pytest.mark.parametrize(
    ("cheaper", "dearer"),
    [
        ({"num_workers": 3}, {"num_workers": 8}),
        ({"num_workers": 8}, {"num_workers": 0, "ranks": 2}),
        ({"num_workers": 5}, {"num_workers": 3, "ranks": 2}),
        ({"threads": 2}, {"threads": 4}),
        ({"threads": 2}, {"threads": 0}),  # the library's own choice: every core
        ({}, {"allocator": "default"}),  # equal in all that costs: the baseline's values
    ],
)
@pytest.mark.parametrize("cheaper_is_faster", [True, False])
def test_of_two_as_fast_the_cheaper_is_chosen(
    cheaper: Config, dearer: Config, cheaper_is_faster: bool
) -> None:
    speeds = (1000, 985) if cheaper_is_faster else (985, 1000)
    run = run_of((config(**dearer), speeds[1], 0.9), (config(**cheaper), speeds[0], 0.9))
    selection = select(run.tables)
    assert selection.config == config(**cheaper)
    assert finalists(selection, most=2) == (config(**cheaper), config(**dearer))
    assert finalists(selection, most=1) == (config(**cheaper),)


def test_neither_test_figures_nor_confirm_runs_decide() -> None:
    run = run_of((config(num_workers=3), 1000, 0.9), (config(), 2000, 0.8))
    run.rows[1]["metrics.test_acc"] = 0.99
    run.add(config(num_workers=6), stage="confirm", **{"metrics.samples_per_s": 9000.0})
    assert chosen(run)["num_workers"] == 3


def test_stopped_trials_are_left_out_unless_there_is_nothing_else() -> None:
    run = MadeRun()
    run.add(config(num_workers=8), state="stopped", reason="enough seen")
    run.add(config(), state="failed", reason="ValueError: no")
    selection = select(run.tables)
    assert (selection.config, selection.state) == (config(num_workers=8), "stopped")
    run.add(config())
    assert select(run.tables).config == config()


figures = st.tuples(st.floats(100, 10_000), st.floats(0.85, 0.92))
DRAWN = run_of(*((config(num_workers=n), 1000, 0.9) for n in range(12))).tables


@settings(max_examples=8, deadline=None)
@given(st.lists(figures, min_size=1, max_size=12))
def test_the_rule_applies_whatever_the_figures(rows: list[tuple[float, float]]) -> None:
    columns = dict(zip((SPEED, ACCURACY), zip(*rows, strict=True), strict=True))
    trials = DRAWN.trials.iloc[: len(rows)].assign(**columns)
    selected = select(replace(DRAWN, trials=trials)).config
    speed, accuracy = rows[selected["num_workers"]]
    enough = [s for s, a in rows if a >= max(a for _, a in rows) - 0.005 - 1e-9]
    assert accuracy >= max(a for _, a in rows) - 0.005 - 1e-9
    assert speed >= 0.98 * max(enough) * (1 - 1e-9)


def test_the_driver_can_select_without_the_libraries_of_the_report() -> None:
    code = "import sys, orchestrator.analysis.recommendation.selection; print(*sys.modules)"
    done = python("-c", code)
    heavy = {"torch", "ray", "mlflow", "scipy", "plotly", "matplotlib", "jinja2", "rich"}
    assert not heavy & set(done.stdout.split())


def with_objectives(run: MadeRun, *objectives: Objective, **fields: Any) -> MadeRun:  # noqa: ANN401
    run.sweep["objectives"] = [asdict(objective) for objective in objectives]
    run.sweep |= fields
    return run


FIGURES = ((3000, 0.90, 8.0), (2000, 0.90, 4.0), (1000, 0.90, 4.0), (900, 0.80, 1.0))
ROWS = [(config(num_workers=n), *figures) for n, figures in enumerate(FIGURES, start=1)]


@pytest.mark.parametrize(
    ("objectives", "workers"),
    [
        ((maximize("samples_per_s"),), 1),
        ((maximize("samples_per_s"), maximize("val_acc")), 1),
        ((maximize("samples_per_s"), maximize("val_acc"), minimize("peak_rss_gib")), 2),
        ((maximize("samples_per_s"), minimize("peak_rss_gib")), 4),
        ((maximize("samples_per_s"), minimize("peak_rss_gib", tolerance=3.0)), 2),
        ((maximize("samples_per_s"), at_most("peak_rss_gib", 4)), 2),
        ((at_least("val_acc", 0.85), minimize("peak_rss_gib")), 2),
        ((minimize("peak_rss_gib"), maximize("samples_per_s")), 1),
    ],
)
def test_every_objective_counts(objectives: tuple[Objective, ...], workers: int) -> None:
    assert chosen(with_objectives(run_of(*ROWS), *objectives))["num_workers"] == workers


@pytest.mark.parametrize(
    ("rule", "workers"), [(knee(), 2), (weighted(samples_per_s=1, val_acc=1, peak_rss_gib=9), 4)]
)
def test_another_rule_takes_another_config_and_has_no_contenders(
    rule: SelectionRule, workers: int
) -> None:
    objectives = (maximize("samples_per_s"), maximize("val_acc"), minimize("peak_rss_gib"))
    run = with_objectives(run_of(*ROWS), *objectives, rule=rule.to_json())
    selection = select(run.tables)
    assert selection.config["num_workers"] == workers
    assert selection.contenders == ()


FUNCTION = SelectionRule(
    kind=RuleKind.FUNCTION, name="least", function=lambda configs: configs[MEMORY].idxmin()
)


def test_without_the_function_its_stored_choice_counts_and_there_is_none_without_one() -> None:
    run = run_of(*ROWS)
    run.sweep["rule"] = FUNCTION.to_json()
    assert "function least chooses, and its choice is not stored" in select(run.tables).refusal
    tables = replace(run.tables, chosen=config(num_workers=3))
    assert select(tables).config == config(num_workers=3)


@given(
    st.lists(
        st.tuples(*(st.sampled_from([1.0, 2.0, 3.0, 8.0]) for _ in range(3))),
        min_size=1,
        max_size=8,
        unique=True,
    )
)
@settings(max_examples=8, deadline=None)
def test_without_a_margin_a_dominated_config_is_never_chosen(
    figures: list[tuple[float, float, float]],
) -> None:
    rows = [
        (config(num_workers=n), 1000 * speed, acc / 10, gib)
        for n, (speed, acc, gib) in enumerate(figures)
    ]
    objectives = (maximize("samples_per_s"), maximize("val_acc"), minimize("peak_rss_gib"))
    run = with_objectives(run_of(*rows), *objectives, tie_margin=0.0)
    taken = chosen(run)["num_workers"]
    backwards = with_objectives(run_of(*rows[::-1]), *objectives, tie_margin=0.0)
    assert chosen(backwards)["num_workers"] == taken, "their order does not matter"
    speed, accuracy, memory = figures[taken]
    assert not any(
        other != figures[taken]
        and other[0] >= speed
        and other[1] >= accuracy
        and other[2] <= memory
        for other in figures
    )


# -- repeats


def named(run: MadeRun, max_runs: int = 3) -> list[int]:
    return [c["num_workers"] for c in to_repeat(run.tables, max_runs=max_runs)]


def test_where_nothing_was_repeated_the_best_and_its_nearest_contenders_are() -> None:
    run = run_by_workers((0, 400.0), (1, 950.0), (2, 960.0), (3, 1000.0), (4, 940.0), (5, 955.0))
    assert named(run) == [3, 2, 5, 1]


def test_a_config_that_differs_from_the_best_is_repeated_no_more() -> None:
    run = run_by_workers((0, 400.0), (3, 1000.0), (6, 930.0))
    assert named(run) == [3, 6]
    for workers, speed in ((3, 1001.0), (6, 931.0)):
        run.add_runs(config(num_workers=workers), [speed], first=1)
    assert named(run) == []


def test_a_config_that_would_take_too_many_runs_is_left_as_it_is() -> None:
    run = run_by_workers((3, 1000.0), (6, 990.0))
    run.add_runs(config(num_workers=3), [1060.0, 1120.0], first=1)
    run.add_runs(config(num_workers=6), [1050.0, 1110.0], first=1)
    assert named(run, max_runs=4) == []
