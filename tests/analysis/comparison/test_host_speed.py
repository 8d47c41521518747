from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from analysis.comparison.host_speed import HOST_SPEED, SLOPE, at_equal_host_speed

SPEED = "metrics.samples_per_s"


def runs(*, slope: float, told: float | None, workers: int = 0, fast: float = 1e4) -> pd.DataFrame:
    """Twenty runs of a config on a host whose speed differs by 10 % from run to run."""
    draw = np.random.default_rng(workers)
    host = np.exp(draw.normal(0, 0.1, 20))
    speed = fast * host**slope * np.exp(draw.normal(0, 0.01, 20))
    told_by_half = [told if told is not None and i % 2 else np.nan for i in range(20)]
    return pd.DataFrame(
        {"params.workers": workers, SPEED: speed, HOST_SPEED: 3000 * host, SLOPE: told_by_half}
    )


def spread(rates: pd.Series) -> float:
    return float(np.log(rates).std())


@pytest.mark.parametrize("slope", [1.0, 0.5])
def test_what_the_host_made_of_a_run_is_taken_out(slope: float) -> None:
    table = runs(slope=slope, told=slope)
    assert spread(table[SPEED]) > 0.03
    assert spread(at_equal_host_speed(table, SPEED)) < 0.015


def test_configs_that_follow_the_host_differently_are_each_taken_by_their_own_slope() -> None:
    table = pd.concat(
        [
            runs(slope=1.0, told=1.0, workers=0, fast=1e4),
            runs(slope=0.0, told=0.0, workers=2, fast=2e4),
        ],
        ignore_index=True,
    )
    rates = at_equal_host_speed(table, SPEED).groupby(table["params.workers"])
    assert (rates.apply(spread) < 0.015).all()
    means = rates.mean()
    assert means[2] / means[0] == pytest.approx(2.0, rel=0.03)


@pytest.mark.parametrize("told", [None, -0.4])
def test_where_no_slope_is_known_or_it_makes_no_sense_nothing_is_changed(
    told: float | None,
) -> None:
    table = runs(slope=1.0, told=told)
    assert at_equal_host_speed(table, SPEED).equals(table[SPEED])


def test_a_slope_beyond_reason_counts_as_the_largest_reasonable_one() -> None:
    table = runs(slope=1.0, told=9.0)
    expected = at_equal_host_speed(runs(slope=1.0, told=1.5), SPEED)
    assert at_equal_host_speed(table, SPEED).equals(expected)


def test_a_table_without_a_yardstick_is_left_as_it_is() -> None:
    table = runs(slope=1.0, told=1.0).drop(columns=[HOST_SPEED])
    assert at_equal_host_speed(table, SPEED).equals(table[SPEED])


def test_a_run_without_a_look_is_left_as_it_is() -> None:
    table = runs(slope=1.0, told=1.0)
    table.loc[3, HOST_SPEED] = np.nan
    assert at_equal_host_speed(table, SPEED)[3] == table.loc[3, SPEED]
