"""Ray's own calls within a trial, whose process Ray has not started."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class RayInTrialError(RuntimeError):
    """Call of Ray within a trial: it would start a second Ray on the trial's cores."""


@contextmanager
def refusing_ray() -> Iterator[None]:
    """Refuse Ray's objects, tasks and actors within, as nothing would run or find them."""
    ray: Any = importlib.import_module("ray")
    hook: Any = importlib.import_module("ray._private.auto_init_hook")
    before = hook.auto_init_ray, ray.init
    hook.auto_init_ray, ray.init = _refuse, _refuse_init
    try:
        yield
    finally:
        hook.auto_init_ray, ray.init = before


def _refuse_init(*arguments: object, ignore_reinit_error: bool = False, **more: object) -> None:
    if not ignore_reinit_error:  # under Ray Tune it changes nothing
        _refuse()


def _refuse() -> None:
    """Refuse a call.

    Raises:
        RayInTrialError: It says what to do instead.
    """
    raise RayInTrialError(
        "a trial has no Ray: its objects, tasks and actors (ray.get, ray.put, .remote, ray.init) "
        "would run beside the trial's cores. Hand data over by tune.with_parameters, and start "
        "processes by multiprocessing"
    )
