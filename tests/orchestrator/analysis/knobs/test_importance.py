from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

from orchestrator.analysis.columns import TableError
from orchestrator.analysis.knobs import importance
from orchestrator.analysis.knobs.importance import importance_in
from tests.orchestrator.analysis.knobs.frames import SPEED, figures, frame

RATES = np.geomspace(1e-4, 1e-1, 12).tolist()


def grid() -> pd.DataFrame:
    """A speed that depends on the workers a lot, on amp a little, on the rate not at all."""
    rng = np.random.default_rng(0)
    rows = [
        {"workers": w, "amp": amp, "lr": lr}
        for w, amp, lr in itertools.product((0, 3, 6, 8), ("off", "on"), RATES)
    ]
    speeds = [
        1000
        * (1 + r["workers"]) ** 0.5
        * (1.1 if r["amp"] == "on" else 1)
        * rng.uniform(0.95, 1.05)
        for r in rows
    ]
    table: pd.DataFrame = frame(rows, speeds)
    return table


def test_the_knob_that_makes_the_figure_comes_first_and_shares_are_of_one() -> None:
    found = importance_in(figures(grid()))
    assert found["knob"].tolist()[0] == "workers"
    assert set(found["knob"]) == {"workers", "amp", "lr"}
    assert found["importance"].sum() == pytest.approx(1)
    assert (found["num_configs"] == 96).all()


def test_without_enough_configs_that_differ_there_is_no_importance() -> None:
    alike = grid().assign(**{f"metrics.{SPEED}": 5.0})
    for asked, why in (
        (figures(grid().iloc[:49]), "too few: 49 configs with samples_per_s, 50 are needed"),
        ([], "no config completed"),
        (figures(alike), "96 of 96 configs have the same samples_per_s"),
    ):
        with pytest.raises(TableError, match=why):
            importance_in(asked)


def test_a_large_table_is_sampled_and_its_order_does_not_matter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(importance, "MAX_CONFIGS", 60)
    table = grid()
    found = importance_in(figures(table))
    again = importance_in(figures(table.sample(frac=1, random_state=1)))
    pd.testing.assert_frame_equal(found, again)
    assert (found["num_configs"] == 60).all()
