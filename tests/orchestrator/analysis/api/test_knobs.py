from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

import orchestrator.analysis as an

SPEED = "samples_per_s"


@pytest.mark.parametrize("function", [an.effects, an.interactions])
def test_some_trials_of_a_run_are_a_run(function: Callable[..., Any], run: an.RunTables) -> None:
    pd.testing.assert_frame_equal(function(run, on=SPEED), function(run.trials, on=SPEED, run=run))
    some = run.trials[run.trials["params.batch_size"] == 500]
    found = function(some, on=SPEED, run=run)
    assert set(found.filter(like="knob").to_numpy().ravel()) == {"num_workers", "lr"}


def test_an_importance_of_few_configs_is_empty_and_says_so(run: an.RunTables) -> None:
    found = an.importance(run)
    assert found.empty
    assert found.attrs["note"].startswith("too few: 24 configs with samples_per_s")


@pytest.mark.parametrize("function", [an.effects, an.interactions, an.importance])
@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda f, run: f(run, on="samples_pers"), "no figure 'samples_pers'; did you mean 'samp"),
        (lambda f, run: f(run, on="num_runs"), "no figure 'num_runs'"),
        (lambda f, run: f(an.configs(run), run=run), "this one has a row a config"),
        (lambda f, run: f(run.trials, on=SPEED), "a frame alone does not say"),
    ],
)
def test_wrong_use_is_one_message(
    function: Callable[..., Any], ask: Callable[..., Any], message: str, run: an.RunTables
) -> None:
    with pytest.raises(an.TableError, match=message) as caught:
        ask(function, run)
    assert str(caught.value).startswith(f"{function.__name__}: ")
