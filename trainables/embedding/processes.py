"""Preprocessing that forked processes share."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Sequence
from multiprocessing.process import BaseProcess
from typing import TypeVar

from orchestrator.system.lifeline import die_with_parent

T = TypeVar("T")


def shared_out(work: Callable[[T], None], tasks: Sequence[T], num_processes: int) -> int:
    """Call ``work`` with every task, in forked processes.

    A task writes its result to a file: nothing is sent between processes.

    Args:
        work: Must not need any of the caller's threads.
        tasks: Process ``i`` gets tasks ``i``, ``i + num_processes``, ...
        num_processes: At most so many; a single one is the caller.

    Returns:
        The number of processes that worked.

    Raises:
        RuntimeError: One of them failed; its output is in the trial's.
    """
    count = min(num_processes, len(tasks))
    if count <= 1:
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
