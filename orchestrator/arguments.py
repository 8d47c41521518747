"""Command lines: types of their arguments, and commands for the user to type."""

import argparse
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final, NoReturn

from orchestrator.errors import SweepError, nearest
from orchestrator.locations import named_path, short
from orchestrator.texts import bounded, bounded_lines

MOST: Final = 2**31 - 1
"""Largest whole number of an argument that has no limit of its own."""
MOST_RUNS: Final = 100_000
"""Most runs of one config: a plan of many more does not fit in memory."""
EXIT_WRONG_REQUEST: Final = 2

_SHOWN: Final = 40
"""Characters of a wrong number that are shown."""


class Parser(argparse.ArgumentParser):
    """Reports an error in one message, with the nearest option and without the usage.

    An option is not abbreviated: ``--resum`` would be another one once there are two of them.

    Attributes:
        complete: Called in place of parsing where a shell asks for completions.
    """

    complete: ClassVar["Callable[[Parser], object] | None"] = None

    def __init__(self, *, allow_abbrev: bool = False, **more: Any) -> None:  # noqa: ANN401 - argparse's
        super().__init__(allow_abbrev=allow_abbrev, **more)

    def parse_args(  # type: ignore[override]  # no namespace is given
        self, args: Sequence[str] | None = None
    ) -> argparse.Namespace:
        """Return the options of a command line, as argparse does."""
        if Parser.complete is not None:
            Parser.complete(self)
        return super().parse_args(args)

    @property
    def options(self) -> list[str]:
        """Return the options that it knows, as they are typed."""
        return list(self._option_string_actions)

    def takes(
        self, name: str, metavar: str | None, read: Callable[[str], Any], text: str,
        default: object = None, **more: Any,  # noqa: ANN401 - argparse's
    ) -> None:  # fmt: skip
        """Add an argument of one value; ``text`` is its help, ``more`` as of ``add_argument``."""
        self.add_argument(name, metavar=metavar, type=read, help=text, default=default, **more)

    def switch(self, name: str, text: str) -> None:
        """Add an option that is on or off."""
        self.add_argument(name, action="store_true", help=text)

    def error(self, message: str) -> NoReturn:
        """End the program with the message."""
        unknown = [word for word in message.split()[2:] if word.startswith("-") and word.strip("-")]
        if message.startswith("unrecognized arguments") and unknown:
            option = f"--{unknown[0].lstrip('-').partition('=')[0]}".lower()
            option = "--trials" if option == "--num-samples" else option  # Ray Tune's
            message += nearest(option, self.options)
        text = bounded_lines(f"{message}\n  see {self.prog} --help")
        self.exit(EXIT_WRONG_REQUEST, f"error: {text}\n")


def whole_number(least: int, most: int = MOST) -> Callable[[str], int]:
    """Return a type of argument: a whole number within limits, which its message names."""

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = least - 1
        if not least <= number <= most:
            limit = f" and at most {most}" if most != MOST or number > most else ""
            raise argparse.ArgumentTypeError(
                f"{bounded(text, _SHOWN)!r} is not allowed: a whole number of at least "
                f"{least}{limit}"
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
    if not text or re.match(r"[A-Za-z][A-Za-z0-9+.-]+:/", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not allowed: the path of a file or a folder")
    try:
        return named_path(text)
    except SweepError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def cluster_address(text: str) -> str:
    """Return the address of a Ray cluster's head, ``HOST:PORT``.

    ``auto`` is refused: it joins any Ray that runs on this machine, of another user too.
    """
    host, _, port = text.rpartition(":")
    if not host or "/" in host or not port.isdecimal():
        raise argparse.ArgumentTypeError(
            f"{text!r} is not allowed: HOST:PORT of the cluster's head, 10.0.0.1:6379 say"
        )
    return text


@dataclass(frozen=True, eq=False)  # argparse hashes it
class Names:
    """A type of argument: one of a few names, of which its message gives the nearest.

    Attributes:
        names: The names.
    """

    names: Collection[str]

    def __call__(self, text: str) -> str:
        """Return the name, as ``names`` has it."""
        if text not in (names := list(self.names)):
            raise argparse.ArgumentTypeError(
                f"{text!r} is not allowed{nearest(text, names)}; allowed: {', '.join(names)}"
            )
        return names[names.index(text)]


# -- commands to type

_PROGRAM: Final = "orchestrator"


def command(words: str = "") -> str:
    """Return a command of this program, with the program as the user has typed it."""
    is_program = Path(sys.argv[0]).name == _PROGRAM
    return f"{'' if is_program else 'python -m '}{_PROGRAM} {words}".rstrip()


def typed(module: str, arguments: Sequence[str | Path], *, program: str = "") -> str:
    """Return a command line for this environment: quoted, and found whatever the search path is.

    Args:
        module: Module for ``python -m``, where there is no program.
        arguments: Its arguments; paths are shown relative to the current folder where they
            lie under it.
        program: A program that the environment has for the module, preferred where it does.
    """
    words = [str(short(word)) if isinstance(word, Path) else word for word in arguments]
    python, started = Path(sys.executable).absolute(), Path(sys.argv[0]).absolute()
    if module == started.name == _PROGRAM:
        return shlex.join([_found(started), *words])
    if program and python.with_name(program).exists():
        return shlex.join([_found(python.with_name(program)), *words])
    return shlex.join([_found(python), "-m", module, *words])


def _found(program: Path) -> str:
    """Return a program's name where typing that runs it, else its path."""
    on_path = shutil.which(program.name)
    same = on_path is not None and Path(on_path).absolute() == program
    return program.name if same else str(short(program))
