from __future__ import annotations

import itertools

import numpy as np
import optuna
import pandas as pd
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution
from optuna.importance import PedAnovaImportanceEvaluator, get_param_importances

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


def test_it_is_what_optuna_says_of_the_figures_to_be_minimised() -> None:
    table = grid()
    distributions = {
        "workers": CategoricalDistribution((0, 3, 6, 8)),
        "amp": CategoricalDistribution(("off", "on")),
        "lr": FloatDistribution(min(RATES), max(RATES), log=True),
    }
    study = optuna.create_study()
    for row in table.to_dict("records"):
        params = {name: row[f"params.{name}"] for name in distributions}
        value = -float(np.log(row[f"metrics.{SPEED}"]))
        study.add_trial(
            optuna.create_trial(params=params, distributions=distributions, value=value)
        )
    reference = get_param_importances(study, evaluator=PedAnovaImportanceEvaluator())
    found = importance_in(figures(table))
    assert dict(zip(found["knob"], found["importance"], strict=True)) == pytest.approx(reference)
    assert found["knob"].iloc[0] == "workers"
    assert found["importance"].sum() == pytest.approx(1)
    assert (found["num_configs"] == 96).all()


def test_too_few_configs_are_no_importance() -> None:
    found = importance_in(figures(grid().iloc[:49]))
    assert found.empty
    assert found.attrs["note"] == "too few: 49 configs with samples_per_s, 50 are needed"
    assert importance_in([]).attrs["note"] == "too few: no config completed"


def test_a_large_table_is_sampled_and_its_order_does_not_matter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(importance, "MAX_CONFIGS", 60)
    table = grid()
    found = importance_in(figures(table))
    again = importance_in(figures(table.sample(frac=1, random_state=1)))
    pd.testing.assert_frame_equal(found, again)
    assert found.attrs["note"] == "of 60 configs of 96"


def test_of_equal_figures_no_tenth_is_the_best() -> None:
    table = grid().assign(**{f"metrics.{SPEED}": 5.0})
    found = importance_in(figures(table))
    assert found.empty
    assert found.attrs["note"] == "96 of 96 configs have the same samples_per_s"
