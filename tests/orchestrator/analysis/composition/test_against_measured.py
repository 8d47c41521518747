"""Composed figures beside those of confirm runs."""

from __future__ import annotations

import math

import pytest

from orchestrator.analysis.composition.against_measured import TRAIN_S, against_measured, errors
from orchestrator.analysis.tables.run_tables import RunTables
from tests.orchestrator.analysis.made_runs import ACCURACY, SPEED, config, factored_run

FASTEST = config(lr=1e-2, batch_size=4000, num_workers=3)


def compared(tables: RunTables) -> list[dict[str, float]]:
    rows = against_measured(tables.configs, tables.confirmed, tables.grouped, (SPEED, ACCURACY))
    return rows.to_dict("records")  # type: ignore[return-value]


def test_each_confirmed_config_has_what_was_composed_and_what_was_measured() -> None:
    tables = factored_run().tables
    baseline, fastest = compared(tables)
    assert fastest["params.batch_size"] == 4000
    confirmed = tables.confirmed.set_index("params.batch_size")
    assert fastest[f"{SPEED}_measured"] == pytest.approx(confirmed.loc[4000, SPEED])
    assert fastest[f"{ACCURACY}_measured"] == pytest.approx(confirmed.loc[4000, ACCURACY])
    # The short rounds of the baseline tell its speed alone.
    assert baseline[f"{SPEED}_measured"] == pytest.approx(confirmed.loc[1000, SPEED])
    assert math.isnan(baseline[f"{ACCURACY}_measured"])
    assert math.isnan(baseline[f"{TRAIN_S}_measured"])


def test_a_time_is_of_whole_trials_and_not_of_one_that_evaluated_the_test_split() -> None:
    run = factored_run()
    tested = run.rows[-1]
    assert not math.isnan(tested["metrics.test_acc"])
    *_, fastest = compared(run.tables)
    assert math.isnan(fastest["wall_s_measured"])
    assert fastest[f"{TRAIN_S}_measured"] == pytest.approx(tested[TRAIN_S])
    whole = run.add(FASTEST, stage="confirm", repeat=4, isolation="exclusive", wall_s=7.5)
    whole["metrics.test_acc"] = math.nan
    *_, fastest = compared(run.tables)
    assert fastest["wall_s_measured"] == pytest.approx(7.5)


def test_errors_are_relative_and_of_configs_that_have_both() -> None:
    tables = factored_run().tables
    rows = against_measured(tables.configs, tables.confirmed, tables.grouped, (SPEED,))
    speeds = errors(rows, SPEED)
    assert len(speeds) == 2
    assert speeds.abs().max() < 0.05
    assert len(errors(rows, TRAIN_S)) == 1
    assert errors(rows, "metrics.unknown").empty
