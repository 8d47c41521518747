"""What a shell completes on the command line: commands, options, names, sweep files and runs.

argcomplete does the shell's part: it runs the program with the line in its environment.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from orchestrator.arguments import Names, Parser
from orchestrator.storage.runs import DEFAULT_RUNS, runs_below

_ASKED: Final = "_ARGCOMPLETE"
"""Variable of a shell that asks: the number of the word that is the program."""
_OF_RUNS: Final = ("run", "run_dir", "resume", "warm_start", "second", "again")
"""Names of the arguments that are run directories."""


def completing(commands: Sequence[str]) -> list[str] | None:
    """Have the parser that reads the line complete it, where a shell asks for that.

    Args:
        commands: Words that may stand in place of the sweep file.

    Returns:
        The command that is typed already, as the arguments to parse; None where no shell asks.
    """
    if _ASKED not in os.environ:
        return None
    number = int(os.environ[_ASKED])
    line = os.environ["COMP_LINE"][: int(os.environ["COMP_POINT"])]
    words = f"{line}|".split()[number:-1]  # the last one is being typed
    command = [word for word in words[:1] if word in commands]
    os.environ[_ASKED] = str(number + len(command))
    Parser.complete = partial(_complete, commands=() if words else commands)
    return command


def _complete(parser: Parser, commands: Sequence[str]) -> None:
    """Print what the word that is being typed may become, and end the program."""
    from argcomplete import autocomplete
    from argcomplete.completers import ChoicesCompleter, DirectoriesCompleter, FilesCompleter

    files, folders = FilesCompleter("py"), DirectoriesCompleter()

    def runs(prefix: str, **more: object) -> list[str]:
        found = [str(run) for run in runs_below(DEFAULT_RUNS) if str(run).startswith(prefix)]
        return found or list(folders(prefix=prefix, **more))

    def first(prefix: str, **more: object) -> list[str]:
        return [*commands, *files(prefix=prefix, **more)]

    for action in parser._actions:
        how: Callable[..., object] | None = None
        if isinstance(action.type, Names):
            how = ChoicesCompleter(dict.fromkeys(action.type.names, ""))
        elif action.dest in _OF_RUNS:
            how = runs
        elif action.dest == "sweep_file":
            how = first
        elif str(action.metavar).endswith(".py"):
            how = files
        elif action.metavar == "DIR":
            how = folders
        elif isinstance(action, argparse._StoreAction) and "FILE" not in str(action.metavar):
            how = ChoicesCompleter({})
        if how is not None:
            action.completer = how  # type: ignore[attr-defined]
    autocomplete(parser, always_complete_options=False)
