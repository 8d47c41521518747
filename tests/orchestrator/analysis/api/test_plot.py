"""The report's figures in a notebook."""

from collections.abc import Callable
from typing import Any

import plotly.graph_objects as go
import pytest

import orchestrator.analysis as an

FIGURES = ("speed_accuracy", "effects", "curves", "steps", "ladder", "scaling")


@pytest.mark.parametrize("name", FIGURES)
def test_each_figure_is_drawn_of_a_run(name: str, run: an.RunTables) -> None:
    figure: go.Figure = getattr(an.plot, name)(run)
    drawn = [trace for trace in figure.data if trace.x is not None and len(trace.x)]
    assert drawn


REFUSED: dict[str, tuple[Callable[[an.RunTables], Any], str]] = {
    "knob": (lambda run: an.plot.scaling(run, "num_worker"), "did you mean 'num_workers'"),
    "text": (lambda run: an.plot.scaling(run, "allocator"), "allocator is no number"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_drawn_is_refused_in_one_message(case: str, run: an.RunTables) -> None:
    ask, words = REFUSED[case]
    with pytest.raises(an.TableError) as refused:
        ask(run)
    assert words in str(refused.value)
