"""What a search was refused is told, and the rest of its sweep file can be read."""

from __future__ import annotations

from orchestrator.errors import collecting_problems
from orchestrator.search import Asha, Factored, Grid, Random


def test_what_was_refused_has_its_default() -> None:
    with collecting_problems() as problems:
        made = [Grid(points=-3), Grid(trials=0), Factored(probes=0), Random(trials=0)]
    assert len(problems) == 4
    assert made[:3] == [Grid(), Grid(), Factored()]


def test_the_rungs_of_what_was_refused_have_an_end() -> None:
    with collecting_problems() as problems:
        made = [Asha(grace=-3), Asha(grace=1, factor=1), Asha(grace="x")]  # type: ignore[arg-type]
    assert len(problems) == 3
    assert [each.rungs(9) for each in made] == [[1, 3]] * 3
