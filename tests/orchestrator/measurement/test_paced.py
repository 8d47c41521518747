"""Figures for reports, of short and of very long recordings."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from orchestrator.measurement import paced
from orchestrator.measurement.figures import figures, verdicts
from orchestrator.measurement.paced import ALWAYS_UP_TO, PacedFigures
from tests.orchestrator.measurement.test_figures import recording, steady


def seconds() -> Iterator[float]:
    """Each look at the clock is a second after the one before."""
    yield from map(float, count())


def test_figures_of_few_blocks_are_never_old() -> None:
    clock = seconds()
    reported = PacedFigures(lambda: next(clock))
    for number in (1, 2, 3):
        now = recording(steady(wait=0.1) * number)
        assert reported.of(now) == (figures(now), verdicts(now))


def test_figures_of_very_many_take_a_fiftieth_of_the_time() -> None:
    clock, many = seconds(), ALWAYS_UP_TO + 1
    reported = PacedFigures(lambda: next(clock))
    made = []
    for number in range(150):
        now = recording(
            steady(wait=0.1 + number / 1000) * many, num_steps=number, train_s=1.0 + number
        )
        found, _ = reported.of(now)
        assert (found["steps"], found["train_s"]) == (number, 1.0 + number), "never old"
        made.append(found["wait_ms"])
    assert len(set(made)) == 3, "each took a second, and the next came fifty seconds later"
    assert paced.MAX_SHARE == 1 / 50
