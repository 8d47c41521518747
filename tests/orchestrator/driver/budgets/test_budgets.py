"""Limits of time, core-hours, GPU-hours and cost, as they are typed and as amounts reach them."""

from __future__ import annotations

import argparse
import json

import pytest

from orchestrator.driver.budgets.budgets import Amount, Budgets, Prices

HOUR = Amount(time_s=3600.0, core_s=4 * 3600.0, gpu_s=2 * 3600.0)


def test_prices_are_read_as_they_are_written() -> None:
    prices = Prices.read("gpu_hour=2.50,cpu_hour=0.04")
    assert prices == Prices(cpu_hour=0.04, gpu_hour=2.5)
    for text in ("gpu_hour=2.50,cpu_hour=0.04", "cpu_hour=0.0123456789,gpu_hour=1234567.5"):
        assert Prices.read(str(Prices.read(text))) == Prices.read(text)
    assert Prices.read("cpu_hour=1").gpu_hour == 0


@pytest.mark.parametrize(
    "text", ["", "cpu=1", "cpu_hour", "cpu_hour=-1", "cpu_hour=nan", "cpu_hour=1,cpu_hour=2"]
)
def test_what_is_no_price_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match=r"is not a price; allowed: cpu_hour="):
        Prices.read(text)
    with pytest.raises(argparse.ArgumentTypeError, match="did you mean 'gpu_hour'"):
        Prices.read("gpu_huor=1")


def test_a_cost_is_of_cores_and_gpus() -> None:
    assert Prices(cpu_hour=0.5, gpu_hour=3.0).of(HOUR) == pytest.approx(4 * 0.5 + 2 * 3.0)


@pytest.mark.parametrize(
    ("budgets", "words"),
    [
        (Budgets(time_s=3599), "the time budget of 3599 s"),
        (Budgets(core_hours=3.9), "the budget of 3.9 core-hours"),
        (Budgets(prices=Prices(cpu_hour=1), max_cost=3.9), "the cost of 3.9"),
        (Budgets(time_s=3600, core_hours=4), ""),
        (Budgets(max_cost=0.1), ""),
        (Budgets(), ""),
    ],
)
def test_the_limit_that_is_exceeded_the_most_is_named(budgets: Budgets, words: str) -> None:
    assert budgets.exceeded_by(HOUR) == words


def test_a_limit_that_is_reached_is_spent_but_not_exceeded() -> None:
    budgets = Budgets(core_hours=4)
    assert budgets.spent_by(HOUR) == "the budget of 4 core-hours"
    assert budgets.exceeded_by(HOUR) == ""


def test_a_run_has_more_where_one_limit_is_larger_or_gone() -> None:
    before = json.loads(json.dumps(Budgets(time_s=60, core_hours=1).limits))
    assert not Budgets(time_s=60, core_hours=1).has_more_than(before)
    assert not Budgets(time_s=50, core_hours=1).has_more_than(before)
    assert Budgets(time_s=61, core_hours=1).has_more_than(before)
    assert Budgets(time_s=60).has_more_than(before)


def test_amounts_are_put_in_the_words_of_what_is_limited() -> None:
    assert Budgets(core_hours=1).in_words(HOUR) == "4 core-hours"
    assert Budgets(time_s=1, prices=Prices(cpu_hour=1)).in_words(HOUR) == "3.6e+03 s, a cost of 4"
