"""Imports that look for no garbage among what they bring."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collecting() -> Iterator[None]:
    """What is imported within it is never searched for garbage, then or later.

    The collector would go over thousands of modules, again and again while they are imported
    (a fifth of the CPU time of importing torch), and once more in every process that is forked
    afterwards: a quarter of a second in the middle of what is timed there, and 50 MiB of
    memory that is shared no longer, for each loader worker too.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
