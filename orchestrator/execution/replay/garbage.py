"""Python's collector of cyclic garbage, while a sweep of many trials is replayed."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

SELDOM = 1000
"""Collections of the middle generation before one of the oldest."""


@contextmanager
def seldom_going_through_all() -> Iterator[None]:
    """Within it the collector seldom goes through all that lives.

    A replay keeps the history of every trial, and that makes no cycles. To go through all of it
    time and again took half as long again as the replay of 20,000 trials. What is young is
    collected as ever.
    """
    young, middle, oldest = gc.get_threshold()
    gc.set_threshold(young, middle, max(oldest, SELDOM))
    try:
        yield
    finally:
        gc.set_threshold(young, middle, oldest)
