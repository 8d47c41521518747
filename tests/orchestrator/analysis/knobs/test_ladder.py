from __future__ import annotations

import itertools
import random
from collections.abc import Mapping

import pytest

from orchestrator.analysis.knobs import ladder as module
from orchestrator.analysis.knobs.ladder import ladder
from tests.orchestrator.analysis.made_runs import MadeRun, config, factored_run

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
    steps = ladder(tables, BEST).steps
    assert [step.text for step in steps] == ["batch_size=4000", "num_workers=3", "lr=0.01"]
    ratios = [step.speed.effect for step in steps if step.speed]
    assert ratios == pytest.approx([1500 / 1000, 1800 / 1500, 1810 / 1800], rel=1e-3)
    assert all(step.speed and step.speed.low < step.speed.effect for step in steps)
    assert all(step.to_try == () for step in steps)


def test_knobs_whose_configs_between_were_not_run_change_together_without_a_number_each() -> None:
    tables = run_of(
        ({"num_workers": 3}, 1300.0),
        ({"num_workers": 3, "batch_size": 4000, "lr": 0.01}, 1800.0),
    ).tables
    first, second = ladder(tables, BEST).steps
    assert first.text == "num_workers=3"
    assert set(second.changes) == {"batch_size", "lr"}
    assert second.speed is not None
    assert second.speed.effect == pytest.approx(1800 / 1300)
    assert set(second.to_try) == {
        "--set num_workers=3 --set batch_size=4000",
        "--set num_workers=3 --set lr=0.01",
    }


@pytest.mark.parametrize(
    ("tables", "note"),
    [
        (run_of().tables, "the config: no speed of a completed searching run"),
        (MadeRun().tables, "the baseline and the config: no speed of a completed searching run"),
    ],
)
def test_without_a_figure_at_an_end_there_is_no_ladder(tables: object, note: str) -> None:
    found = ladder(tables, BEST)  # type: ignore[arg-type]
    assert (found.steps, found.note) == ((), note)


def test_the_baseline_is_no_ladder_from_itself() -> None:
    assert ladder(run_of().tables, config()).note == "the config is the baseline"


def test_composed_steps_are_of_the_knobs_that_change_the_figure() -> None:
    steps = ladder(factored_run().tables, BEST).steps
    by_knob = {step.text: step for step in steps}
    assert by_knob["lr=0.01"].speed is None  # the same probes
    assert by_knob["lr=0.01"].accuracy is not None
    assert by_knob["num_workers=3"].speed is not None
    assert by_knob["num_workers=3"].speed.composed


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
