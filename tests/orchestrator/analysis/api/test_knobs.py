from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

import orchestrator.analysis as an

SPEED = "samples_per_s"


def test_a_run_its_trials_and_its_configs_tell_the_same_of_a_speed(run: an.RunTables) -> None:
    for function in (an.effects, an.interactions):
        of_run = function(run, on=SPEED)
        pd.testing.assert_frame_equal(of_run, function(run.trials, on=SPEED, run=run))
        of_frame = function(an.configs(run), on=SPEED, run=run)
        told = of_run["num_pairs" if function is an.effects else "num_blocks"] > 0
        pd.testing.assert_frame_equal(of_run[told], of_frame[told])


def test_configs_that_were_filtered_out_make_no_pairs(run: an.RunTables) -> None:
    configs = an.configs(run)
    some = configs[configs["params.batch_size"] == 500]
    found = an.effects(some, on=SPEED, run=run)
    assert set(found["knob"]) == {"num_workers", "lr"}
    assert found["num_pairs"].max() <= 4


def test_an_importance_of_few_configs_is_empty_and_says_so(run: an.RunTables) -> None:
    found = an.importance(run)
    assert found.empty
    assert found.attrs["note"].startswith("too few: 24 configs with samples_per_s")
    assert list(an.importance(an.configs(run), on="val_acc").columns) == list(found.columns)


@pytest.mark.parametrize("function", [an.effects, an.interactions, an.importance])
@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda f, run: f(run, on="samples_pers"), "no figure 'samples_pers'; did you mean 'samp"),
        (lambda f, run: f(an.configs(run), on="num_runs"), "no figure 'num_runs'"),
        (lambda f, run: f(an.configs(run)), "a frame of configs takes the figure"),
        (lambda f, run: f(run.trials, on=SPEED), "a frame alone does not say"),
        (
            lambda f, run: f(an.configs(run).drop(columns="params.lr"), on=SPEED),
            "has the same value of every knob",
        ),
        (lambda f, run: f(an.configs(run)[[f"metrics.{SPEED}"]], on=SPEED), "no column params"),
        (lambda f, run: f("runs/x"), "takes a run or a frame, not a str"),
    ],
)
def test_wrong_use_is_one_message(
    function: Callable[..., Any], ask: Callable[..., Any], message: str, run: an.RunTables
) -> None:
    with pytest.raises(an.TableError, match=message) as caught:
        ask(function, run)
    assert str(caught.value).startswith(f"{function.__name__}: ")
