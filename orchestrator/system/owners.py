"""Owners: the command that a process belongs to, in words that a user knows it by."""

from __future__ import annotations

from contextlib import suppress
from itertools import pairwise

import psutil

_MARKS = ("orchestrator", "benchmarks")
"""Packages whose modules are started as commands; the first is a program of its own, too."""
_MOST = 6
"""Words of a command that are shown: its options may be long, and may hold passwords."""


def owner_of(pid: int) -> str:
    """Return the command that has started a process, with its own id: the sweep's, if it is one's.

    A trial's cores are held by a process that Ray or a sweep has started, whose name says nothing
    to a user.

    Args:
        pid: The process.
    """
    with suppress(psutil.Error):
        process = psutil.Process(pid)
        for each in (process, *process.parents()):
            words = each.cmdline()
            if _is_command(words):
                return f"`{_shown(words)}` (process {each.pid})"
        return f"`{process.name()}` (process {pid})"
    return f"process {pid}"


def _is_command(words: list[str]) -> bool:
    """Return True for ``python -m PACKAGE`` itself, and for the program that an installation makes.

    The servers that it starts have modules.
    """
    modules = [after for word, after in pairwise(words) if word == "-m"]
    return modules[0] in _MARKS if modules else _program(words) > 0


def _program(words: list[str]) -> int:
    """Return the place of the program among ``python PROGRAM ARGUMENT ...``; 0 where it is none."""
    return int(len(words) > 1 and words[1].rpartition("/")[2] == _MARKS[0])


def _shown(words: list[str]) -> str:
    """Return a command without its folder and its options."""
    first, *rest = words[_program(words) :]
    options = (number for number, word in enumerate(rest) if word.startswith("--"))
    return " ".join([first.rpartition("/")[2], *rest[: min(next(options, _MOST), _MOST)]])
