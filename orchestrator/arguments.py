"""Types of arguments, for every command line of the project."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, NoReturn

from orchestrator.errors import SweepError, nearest
from orchestrator.named_paths import named_path
from orchestrator.texts import bounded_lines

MOST: Final = 2**31 - 1
"""Largest whole number of an argument that has no limit of its own."""
MOST_RUNS: Final = 100_000
"""Most runs of one config: a plan of many more does not fit in memory."""
_SHOWN: Final = 40
"""Characters of a wrong number that are shown."""
_HEAD: Final = re.compile(r"(?P<host>[\w.-]+|\[[0-9a-fA-F:.]+\]):(?P<port>[0-9]{1,5})", re.ASCII)
"""A name or an address of a host, one of IPv6 in brackets, and a port."""


_ADDRESS: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
"""The beginning of an address: a scheme, a colon and a slash."""

EXIT_WRONG_REQUEST: Final = 2


class Parser(argparse.ArgumentParser):
    """Reports an error in one message, with the nearest option and without the usage.

    An option is not abbreviated: ``--resum`` would be another one once there are two of them.
    """

    def __init__(self, *, allow_abbrev: bool = False, **more: Any) -> None:  # noqa: ANN401 - argparse's
        super().__init__(allow_abbrev=allow_abbrev, **more)

    @property
    def options(self) -> list[str]:
        """Return the options that it knows, as they are typed."""
        return list(self._option_string_actions)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:  # noqa: ANN401
        """Parse as argparse does; it takes ``--out=--`` for an option of no values."""
        for word in sys.argv[1:] if args is None else args:
            if word.startswith("--") and word.endswith("=--"):
                self.error(f"argument {word[:-3]}: '--' is not allowed")
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """End the program with the message."""
        words = message.removeprefix("unrecognized arguments: ").split()
        options = [_as_option(w) for w in words if w[0] == "-" and w.strip("-")]
        if message.startswith("unrecognized") and options:
            message += self._nearest(options[0])
        text = bounded_lines(f"{message}\n  see {self.prog} --help")
        self.exit(EXIT_WRONG_REQUEST, f"error: {text}\n")

    def _nearest(self, option: str) -> str:
        """Return what an unknown option may mean: those that it begins, else the nearest."""
        begun = [name for name in self.options if name.startswith(option)]
        if len(begun) > 1:
            return f"; did you mean one of {', '.join(sorted(begun))}?"
        return nearest(begun[0], begun) if begun else nearest(option, self.options)


def _as_option(word: str) -> str:
    """Return the name of an option as it is declared, however many dashes it was typed with."""
    return f"--{word.lstrip('-').partition('=')[0]}".lower()


def require_utf8(arguments: Sequence[str]) -> None:
    """Check that a command line is text: nothing else could be printed, or be kept in a file.

    Raises:
        SweepError: An argument has bytes that are no UTF-8.
    """
    for argument in arguments:
        try:
            argument.encode()
        except UnicodeEncodeError:
            shown = argument.encode(errors="backslashreplace").decode()
            raise SweepError(f"'{shown}' is not UTF-8", "give it another name") from None


def whole_number(least: int, most: int = MOST) -> Callable[[str], int]:
    """Return a type of argument: a whole number within limits, which its message names."""

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = least - 1
        if not least <= number <= most:
            limit = f" and at most {most}" if most != MOST or number > most else ""
            shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
            raise argparse.ArgumentTypeError(
                f"{shown!r} is not allowed: a whole number of at least {least}{limit}"
            )
        return number

    return read


def some_text(text: str) -> str:
    """Return a text that is not empty: an option that is not to be is left out."""
    if not text:
        raise argparse.ArgumentTypeError("'' is not allowed: leave the option out")
    return text


def a_path(text: str) -> Path:
    """Return a path. ``~`` is the home folder, in ``--out=~/x`` too, which no shell expands."""
    if not text:
        raise argparse.ArgumentTypeError("'' is not allowed: the path of a file or a folder")
    if _ADDRESS.match(text):  # else it is a folder called "file:", which pandas would not write to
        raise argparse.ArgumentTypeError(f"{text!r} is an address; allowed: the path of a folder")
    try:
        return named_path(text)
    except SweepError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def cluster_address(text: str) -> str:
    """Return the address of a Ray cluster's head, ``HOST:PORT``.

    ``auto`` is refused: it joins whatever Ray happens to run on this machine, of another user too.
    """
    if text in ("auto", "local"):
        means = (
            "any Ray that runs here" if text == "auto" else "a Ray of its own: leave --address out"
        )
        raise argparse.ArgumentTypeError(
            f"{text!r} means {means}; a cluster is named by its head's HOST:PORT, 10.0.0.1:6379 say"
        )
    match = _HEAD.fullmatch(text)
    if match is None or not 1 <= int(match["port"]) <= 65535:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not allowed: HOST:PORT of the cluster's head, as `ray start --head` "
            "printed it, 10.0.0.1:6379 say"
        )
    return text


def one_of(*names: str) -> Callable[[str], str]:
    """Return a type of argument: one of a few names, of which its message gives the nearest."""

    def read(text: str) -> str:
        if text not in names:
            raise argparse.ArgumentTypeError(
                f"{text!r} is not allowed{nearest(text, names)}; allowed: {', '.join(names)}"
            )
        return text

    return read
