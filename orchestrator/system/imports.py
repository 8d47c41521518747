"""Imports without garbage collection, then or later."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collecting() -> Iterator[None]:
    """Keep the objects of modules imported within it from the garbage collector for good.

    The collector would go over thousands of modules, again and again while they are imported:
    a fifth of the CPU time of importing torch. It would do so once more in every process that is
    forked afterwards. That takes a quarter of a second amid timed steps. It also writes to each
    object's header, so that 50 MiB are no longer shared with the parent, in each loader worker too.
    """
    gc.disable()
    try:
        yield
    finally:
        # Before it is enabled: a collection in between would go over all of these modules.
        gc.freeze()
        gc.enable()
