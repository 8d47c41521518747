"""Rates brought to one host speed."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from benchmarks.fidelity.host_speed import HOST_SPEED, SLOPE, at_equal_host_speed

SPEED = "metrics.samples_per_s"


def runs(
    *, slope: float, recorded: float | None, workers: int = 0, fast: float = 1e4
) -> pd.DataFrame:
    """Twenty runs of a config on a host whose speed differs by 10 % from run to run."""
    draw = np.random.default_rng(workers)
    host = np.exp(draw.normal(0, 0.1, 20))
    speed = fast * host**slope * np.exp(draw.normal(0, 0.01, 20))
    of_half = [recorded if recorded is not None and i % 2 else np.nan for i in range(20)]
    return pd.DataFrame(
        {"params.workers": workers, SPEED: speed, HOST_SPEED: 3000 * host, SLOPE: of_half}
    )


def spread(rates: pd.Series) -> float:
    return float(np.log(rates).std())


@pytest.mark.parametrize("slope", [1.0, 0.5])
def test_the_hosts_part_of_a_runs_speed_is_removed(slope: float) -> None:
    table = runs(slope=slope, recorded=slope)
    assert spread(table[SPEED]) > 0.03
    assert spread(at_equal_host_speed(table, SPEED)) < 0.015


def test_each_config_is_corrected_by_its_own_slope() -> None:
    table = pd.concat(
        [
            runs(slope=1.0, recorded=1.0, workers=0, fast=1e4),
            runs(slope=0.0, recorded=0.0, workers=2, fast=2e4),
        ],
        ignore_index=True,
    )
    rates = at_equal_host_speed(table, SPEED).groupby(table["params.workers"])
    assert (rates.apply(spread) < 0.015).all()
    means = rates.mean()
    assert means[2] / means[0] == pytest.approx(2.0, rel=0.03)


@pytest.mark.parametrize("recorded", [None, -0.4])
def test_an_unknown_or_negative_slope_changes_nothing(
    recorded: float | None,
) -> None:
    table = runs(slope=1.0, recorded=recorded)
    assert at_equal_host_speed(table, SPEED).equals(table[SPEED])


def test_a_slope_is_clipped_at_the_largest_plausible_one() -> None:
    table = runs(slope=1.0, recorded=9.0)
    expected = at_equal_host_speed(runs(slope=1.0, recorded=1.5), SPEED)
    assert at_equal_host_speed(table, SPEED).equals(expected)


def test_a_table_without_a_yardstick_is_left_as_it_is() -> None:
    table = runs(slope=1.0, recorded=1.0).drop(columns=[HOST_SPEED])
    assert at_equal_host_speed(table, SPEED).equals(table[SPEED])


def test_a_run_without_a_reading_is_left_as_it_is() -> None:
    table = runs(slope=1.0, recorded=1.0)
    table.loc[3, HOST_SPEED] = np.nan
    assert at_equal_host_speed(table, SPEED)[3] == table.loc[3, SPEED]
