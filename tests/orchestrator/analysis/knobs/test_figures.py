from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from orchestrator.analysis.knobs.figures import Figures
from orchestrator.analysis.statistics.matched_pairs import Mean
from tests.orchestrator.analysis.knobs.frames import ACCURACY, figures, frame

ROWS = [{"a": a, "fanouts": text} for a in (0, 1) for text in ("10,25", "5,5", "3,3")]


def one(**cells: object) -> Figures:
    (found,) = figures(frame(ROWS, [1, 2, 3, 2, 4, 6], **cells), a=0, fanouts=(5, 5))
    return found


def mean(some: Figures) -> Mean:
    found = some.mean([np.array([0, 1, 2]), np.array([3, 4, 5])], (-1, 1))
    assert found is not None
    return found


def test_the_reference_is_the_baselines_value_as_the_table_has_it() -> None:
    found = one()
    assert found.points.values["fanouts"][found.references["fanouts"]] == "5,5"
    assert found.code("fanouts", (10, 25)) == 0
    assert found.code("fanouts", (1, 1)) is None


def test_differences_of_the_same_runs_are_one() -> None:
    # the second and third pair are of the runs of the first
    found = mean(replace(one(), runs=np.array([7, 7, 7, 8, 8, 8])))
    assert found.num == 1
    nothing = replace(one(), runs=np.array([1, 2, 3, 1, 2, 3]))
    assert nothing.mean([np.array([0]), np.array([3])], (-1, 1)) is None


def test_contaminated_differences_count_where_there_is_no_other() -> None:
    some = replace(one(), contaminated=np.array([True, False, False, False, False, True]))
    assert (mean(some).num, mean(some).contaminated) == (1, False)
    every = replace(one(), contaminated=np.ones(6, dtype=np.bool_))
    assert (mean(every).num, mean(every).contaminated) == (3, True)


def test_an_interval_of_half_of_all_points_is_not_shown() -> None:
    table = frame(ROWS[:4], [1, 1, 1, 1]).assign(**{f"metrics.{ACCURACY}": [0.1, 0.9, 0.5, 0.2]})
    (found,) = figures(table, ACCURACY)
    wide = replace(found, variances=np.full(4, 0.04), df=np.full(4, 9.0))
    pair = wide.mean([np.array([0]), np.array([3])], (-1, 1))
    assert pair is not None
    assert pair.effect == pytest.approx(0.1)
    assert np.isnan(pair.low)
    assert pair.p > 0.05
