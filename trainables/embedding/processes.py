"""Preprocessing shared out to processes, as many as the limit on open files allows."""

from __future__ import annotations

import multiprocessing
import os
import resource
from collections.abc import Callable, Sequence
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import TypeVar

from orchestrator.system.lifeline import die_with_parent

T = TypeVar("T")

FILES_A_PROCESS = 4
"""Ends of pipes that starting a process leaves open here, and those that come and go."""
SPARE_FILES = 16
"""Left for what a process opens itself, and for libraries."""


def affordable_processes(wanted: int) -> int:
    """Return the number of processes to start: ``wanted``, or fewer if open files are too few.

    At least one: that one is the caller itself, and opens nothing.
    """
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit == resource.RLIM_INFINITY:
        return max(wanted, 1)
    num_open = sum(1 for _ in Path("/dev/fd").iterdir())
    return max(1, min(wanted, (limit - num_open - SPARE_FILES) // FILES_A_PROCESS))


def shared_out(work: Callable[[T], None], tasks: Sequence[T], num_processes: int) -> int:
    """Call ``work`` with every task, in forked processes.

    What a task leaves behind it writes to a file: nothing is sent between processes, so
    that the number of open files depends on the number of processes alone.

    Args:
        work: Must not need any of the caller's threads.
        tasks: Process ``i`` gets tasks ``i``, ``i + num_processes``, ...
        num_processes: At most so many, see :func:`affordable_processes`.

    Returns:
        The number of processes that worked.

    Raises:
        RuntimeError: One of them failed; what it said is in the trial's output.
    """
    count = affordable_processes(min(num_processes, len(tasks)))
    if count == 1:
        for task in tasks:
            work(task)
        return 1
    context = multiprocessing.get_context("fork")
    parent = os.getpid()
    processes = [
        context.Process(target=_do, args=(work, tasks[first::count], parent), name=f"part-{first}")
        for first in range(count)
    ]
    try:
        for process in processes:
            process.start()
        for process in processes:
            process.join()
        _check(processes)
    finally:
        for process in processes:
            _end(process)
    return count


def _do(work: Callable[[T], None], tasks: Sequence[T], parent: int) -> None:
    die_with_parent(parent)
    for task in tasks:
        work(task)


def _check(processes: Sequence[BaseProcess]) -> None:
    for process in processes:
        if process.exitcode:
            raise RuntimeError(f"preprocessing: {process.name} ended with {process.exitcode}")


def _end(process: BaseProcess) -> None:
    if process.pid is not None and process.is_alive():
        process.terminate()
        process.join()
    process.close()
