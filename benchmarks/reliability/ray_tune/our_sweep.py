"""The functions of the suite, each a config of one sweep."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterator
from typing import Any, Final

from ray import tune

from benchmarks.reliability.ray_tune.functions import FUNCTIONS
from benchmarks.reliability.ray_tune.seen import tell
from orchestrator import Isolation, Sweep, from_ray, maximize

W: Final = 2.0
"""The one figure in the config of every function."""


def called(config: dict[str, Any]) -> Any:  # noqa: ANN401 - whatever the function returns
    """Call a function by its name."""
    tell(config["case"], config)
    return FUNCTIONS[config["case"]](config)


def yielded(config: dict[str, Any]) -> Iterator[Any]:
    """Go through a generator by its name."""
    tell(config["case"], config)
    yield from FUNCTIONS[config["case"]](config)


GENERATORS: Final = [n for n, each in FUNCTIONS.items() if inspect.isgeneratorfunction(each)]
OTHERS: Final = [name for name in FUNCTIONS if name not in GENERATORS]

_YIELDS: Final = os.environ.get("RAY_TUNE_YIELDS") == "yes"
_ASKED: Final = os.environ.get("RAY_TUNE_CASES", "\n".join(FUNCTIONS)).split("\n")
_NAMES: Final = [name for name in (GENERATORS if _YIELDS else OTHERS) if name in _ASKED]

SWEEP = Sweep(
    from_ray(
        yielded if _YIELDS else called,
        config={"case": _NAMES[0], "w": W},
        reports=[maximize("score"), maximize("_metric")],
    ),
    question="Is what is recorded the same as under plain Ray Tune?",
    space={"case": tune.grid_search(_NAMES)},
    objectives=[maximize("score"), maximize("_metric")],
    cores_per_trial=1,
    isolation=Isolation.SHARED,
    max_repeats=1,
    check_isolated=0,
    confirm=0,
    retries=0,
)
