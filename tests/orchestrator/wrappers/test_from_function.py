import functools
from collections.abc import Callable
from typing import Any

import pytest

from orchestrator import Sweep, SweepFileError, choice, from_function, maximize, minimize
from tests.orchestrator.execution.ray.functions.trials import trained

REPORTS = [maximize("acc"), minimize("time_total_s")]


def returns_both(lr: float = 0.1, workers: int = 2) -> dict[str, float]:
    return {"acc": lr, "workers": workers}


def returns_one(lr: float, *, scale: float = 2.0) -> float:
    return lr * scale


def test_its_keywords_are_knobs_and_what_it_returns_is_reported() -> None:
    trainable = from_function(returns_both, reports=REPORTS)
    sweep = Sweep(trainable, question="?", space={"workers": choice(0, 2)})

    (report,) = trained(trainable, trainable.config(lr=0.5))

    assert (report["acc"], report["workers"]) == (0.5, 2.0)
    assert report["time_total_s"] >= 0
    assert trainable.name == "returns_both"
    assert sweep.baseline == sweep.trainable.config(lr=0.1, workers=2)


def test_a_number_is_the_first_of_its_reports() -> None:
    trainable = from_function(returns_one, reports=REPORTS[:1], config={"lr": 0.25})

    assert trained(trainable)[0]["acc"] == 0.5
    bound = from_function(functools.partial(returns_one, lr=0.3), reports=REPORTS[:1])
    assert trained(bound)[0]["acc"] == 0.6


@pytest.mark.parametrize(
    ("function", "config", "message"),
    [
        (returns_one, {}, "lr of returns_one has no default\n  give it one, or"),
        (returns_one, {"lr": 1.0, "x": 2}, "argument 'x'\n  allowed: lr, scale"),
        (lambda config: None, {}, "a function of one dictionary, written for Ray Tune"),
        (lambda trial: None, {}, "an Optuna objective"),
    ],
)
def test_another_kind_of_function_is_refused(
    function: Callable[..., Any], config: dict[str, Any], message: str
) -> None:
    with pytest.raises(SweepFileError) as refused:
        from_function(function, reports=REPORTS, config=config)

    assert message in str(refused.value)
