"""Functions by what they return or yield, and by how they end."""

# ruff: noqa: D103, ANN401 - their names say it

from __future__ import annotations

import importlib
import os
import signal
import sys
import threading
import types
from collections import OrderedDict
from collections.abc import Generator, Iterator
from typing import Any

import numpy as np
import torch
from ray import tune

from benchmarks.reliability.ray_tune.cases import Config, case

# -- what is returned


@case
def returns_a_dictionary(config: Config) -> Config:
    return {"score": config["w"] * 3}


@case
def returns_an_ordered_dictionary(config: Config) -> Config:
    return OrderedDict(score=2.0)


@case
def returns_a_number(config: Config) -> float:
    return 2.5


@case
def returns_a_number_of_numpy(config: Config) -> Any:
    return np.float64(2.5)


@case
def returns_a_whole_number(config: Config) -> int:
    return 3


@case
def returns_after_reports(config: Config) -> Config:
    tune.report({"score": 1.0})
    return {"score": 5.0, "last": 1.0}


@case
def returns_an_empty_dictionary(config: Config) -> Config:
    tune.report({"score": 1.0})
    return {}


@case
def returns_zero(config: Config) -> int:
    tune.report({"score": 1.0})
    return 0


@case
def returns_a_list(config: Config) -> list[float]:
    tune.report({"score": 1.0})
    return [1.0]


@case
def returns_text(config: Config) -> str:
    tune.report({"score": 1.0})
    return "done"


@case
def returns_a_mapping_proxy(config: Config) -> Any:
    return types.MappingProxyType({"score": 1.0})


@case
def returns_a_generator(config: Config) -> Any:
    return ({"score": float(step)} for step in range(2))


# -- what is yielded


@case
def yields_dictionaries(config: Config) -> Iterator[Config]:
    for step in range(3):
        yield {"score": config["w"] * step}


@case
def yields_numbers(config: Config) -> Iterator[float]:
    yield 1.5
    yield 2.5


@case
def yields_nothing_between(config: Config) -> Iterator[Config | None]:
    yield {"score": 1.0}
    yield None
    yield {"score": 2.0}


@case
def yields_and_reports(config: Config) -> Iterator[Config]:
    tune.report({"score": 1.0})
    yield {"score": 2.0}


@case
def yields_and_is_done(config: Config) -> Iterator[Config]:
    for step in range(5):
        yield {"score": float(step), "done": step == 2}


@case
def yields_and_raises(config: Config) -> Iterator[Config]:
    yield {"score": 1.0}
    raise ValueError("after a while")


@case
def yields_text(config: Config) -> Iterator[Any]:
    yield {"score": 1.0}
    yield "text"


@case
def yields_and_returns(config: Config) -> Generator[Config, None, Config]:
    yield {"score": 1.0}
    return {"score": 9.0}


@case
def yields_from_others_and_cleans_up(config: Config) -> Iterator[Config]:
    try:
        yield from ({"score": float(step)} for step in range(3))
    finally:
        yield {"score": 7.0}


@case
def returns_a_switch(config: Config) -> bool:
    return True


@case
def returns_a_nested_dictionary(config: Config) -> Config:
    return {"score": 1.0, "inner": {"a": [1], "b": {"c": np.int64(2)}}, "done": True}


@case
def returns_an_array(config: Config) -> Any:
    tune.report({"score": 1.0})
    return np.ones(3)


@case
def returns_a_tensor(config: Config) -> Any:
    tune.report({"score": 1.0})
    return torch.tensor(0.5)


@case
def returns_a_pair(config: Config) -> Any:
    tune.report({"score": 1.0})
    return {"score": 2.0}, 3


@case
def returns_a_coroutine(config: Config) -> Any:
    async def trains() -> None:
        pass

    tune.report({"score": 1.0})
    waiting = trains()
    waiting.close()
    return waiting


# -- how it ends


@case
def ends_by_exit_0(config: Config) -> None:
    tune.report({"score": 1.0})
    sys.exit(0)


@case
def ends_by_exit_3(config: Config) -> None:
    tune.report({"score": 1.0})
    sys.exit(3)


@case
def ends_by_exit_without_a_code(config: Config) -> None:
    tune.report({"score": 1.0})
    sys.exit()


@case
def ends_by_an_error(config: Config) -> None:
    tune.report({"score": 1.0})
    raise RuntimeError("on purpose")


@case
def ends_by_an_error_before_any_report(config: Config) -> None:
    raise KeyError("missing")


@case
def ends_by_stop_iteration(config: Config) -> None:
    tune.report({"score": 1.0})
    next(iter(()))


@case
def ends_as_done(config: Config) -> None:
    for step in range(5):
        tune.report({"score": float(step), "done": step == 1})


@case
def ends_as_done_through_its_own_handlers(config: Config) -> None:
    try:
        for step in range(5):
            tune.report({"score": float(step), "done": step == 1})
    except Exception:  # noqa: BLE001 - it must not catch the end
        tune.report({"score": 99.0})


@case
def ends_by_a_signal(config: Config) -> None:
    tune.report({"score": 1.0})
    os.kill(os.getpid(), signal.SIGKILL)


@case
def ends_by_leaving_the_process(config: Config) -> None:
    tune.report({"score": 1.0})
    os._exit(0)


@case
def ends_by_aborting(config: Config) -> None:
    tune.report({"score": 1.0})
    os.abort()


@case
def ends_by_exit_with_text(config: Config) -> None:
    tune.report({"score": 1.0})
    sys.exit("no more data")


@case
def ends_by_an_interrupt(config: Config) -> None:
    tune.report({"score": 1.0})
    raise KeyboardInterrupt


@case
def ends_by_an_error_that_cannot_be_shown(config: Config) -> None:
    class OddError(Exception):
        def __str__(self) -> str:
            raise ValueError("no text")

    tune.report({"score": 1.0})
    raise OddError


@case
def ends_by_an_error_that_cannot_be_copied(config: Config) -> None:
    tune.report({"score": 1.0})
    raise RuntimeError(threading.Lock(), lambda: None)


@case
def ends_by_a_group_of_errors(config: Config) -> None:
    tune.report({"score": 1.0})
    raise ExceptionGroup("both", [ValueError("a"), KeyError("b")])


@case
def ends_by_a_recursion(config: Config) -> None:
    def without_end() -> None:
        without_end()

    tune.report({"score": 1.0})
    without_end()


@case
def ends_by_an_import(config: Config) -> None:
    tune.report({"score": 1.0})
    importlib.import_module("there_is_no_such_module")


@case
def ends_by_an_assertion(config: Config) -> None:
    tune.report({"score": 1.0})
    assert config["w"] < 0, "too large"
