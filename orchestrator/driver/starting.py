"""Steps of a run before its first trial, shown while they take time: data, Ray."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from orchestrator.data import is_present
from orchestrator.driver.options.declaration import DEFAULT_EXECUTOR
from orchestrator.driver.options.options import Options
from orchestrator.driver.planning.text import note
from orchestrator.driver.request import Request


@contextmanager
def showing(text: str) -> Iterator[None]:
    """Show ``text`` on the terminal meanwhile; nothing in a file or a pipe."""
    stream = sys.stderr
    if not text or not stream.isatty() or os.environ.get("TERM", "dumb") == "dumb":
        yield
        return
    columns = os.get_terminal_size(stream.fileno()).columns or 80
    stream.write(text if text.endswith("\n") else text[: columns - 1])
    stream.flush()
    try:
        yield
    finally:
        stream.write("\r\x1b[2K")
        stream.flush()


def write_note(text: str) -> None:
    """Write a note to standard error."""
    sys.stderr.write(f"{note(text)}\n")


def preparing_data(request: Request) -> str:
    """Return what is done about the data set, in words."""
    if request.dataset is None:
        return ""
    if not is_present(request.dataset, request.folders):
        # On the next line the download's own progress begins.
        return f"downloading {request.data} to {request.folders.root} ...\n"
    return f"checking {request.data}; the first time it is converted as well ..."


def starting_executor(options: Options) -> str:
    """Return the step for which an executor takes time, in words."""
    if (options.executor or DEFAULT_EXECUTOR) != "ray":
        return ""
    if options.address:
        return f"connecting to the Ray cluster at {options.address} ..."
    return "starting Ray on this machine, some seconds ..."
