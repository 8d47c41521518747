"""The command line: arguments in, exit code out."""

import argparse
import os
import platform
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Final

from orchestrator.arguments import EXIT_WRONG_REQUEST, Names, Parser, a_path, command
from orchestrator.driver.options.declaration import Group, Option, as_today, flag
from orchestrator.driver.options.options import DECLARATIONS, Options
from orchestrator.errors import SweepError, nearest, refusing_os_errors
from orchestrator.provenance.version import __version__
from orchestrator.storage.files import RunFile
from orchestrator.storage.runs import DEFAULT_RUNS, runs_below
from orchestrator.texts import bounded_lines

EXIT_INTERRUPTED = 130
_COMMANDS: Final = {
    "run": ("", "run a sweep, as without this word"),
    "plan": ("", "print what a sweep would run"),
    "list": ("storage.runs", "list the runs with their answers"),
    "show": ("analysis.command_line", "print a run's answer and front; write its report again"),
    "front": ("analysis.command_line", "print the configs that no other one beats"),
    "export": ("analysis.command_line", "write a run's tables as CSV or Parquet"),
    "open": ("analysis.command_line", "open a run's report in the browser"),
    "compare": ("analysis.command_line", "compare two runs"),
    "train": ("train", "train once with what a run recommends"),
    "tune": ("tune.command", "find the arguments with which a training script runs fastest"),
    "judge": ("judge.command", "decide which of two revisions, configs or commands is faster"),
    "demo": ("demo.play", "replay a recorded sweep in seconds, and open its report"),
    "init": (
        "templates.init",
        "write a sweep and a trainable to begin with, or a sweep of a script",
    ),
}
"""The commands: the module with the function ``main`` of each, and its line of help."""
_LAST: Final = "Commands about a finished run take the last one where none is named."


def main(arguments: Sequence[str]) -> int:
    """Run the command line.

    Returns:
        0 where every planned trial has a row and there is an answer, 3 where every one has a
        row and nothing can be recommended, 1 where the sweep could not finish, 2 where
        the request was wrong, 130 or 143 where it was interrupted or terminated.
    """
    if (completed := completing()) is not None:
        arguments = completed
    try:
        word, rest = (arguments[0], list(arguments[1:])) if arguments else ("", [])
        if module := _COMMANDS.get(word, ("", ""))[0]:
            words = arguments if module == "analysis.command_line" else rest
            with refusing_os_errors():
                code: int = resolve_name(f"orchestrator.{module}.main")(words)
                return code
        if word in ("run", "plan"):
            arguments = [*rest, "--plan"] if word == "plan" else rest
        _require_file(arguments[0] if arguments else "")
        options = parse(arguments)
        from orchestrator.driver.planning.text import print_plan
        from orchestrator.driver.run import run

        return print_plan(options) if options.plan else run(options, list(arguments))
    except SweepError as error:
        sys.stderr.write(f"error: {bounded_lines(str(error))}\n")
        return EXIT_WRONG_REQUEST
    except KeyboardInterrupt:
        sys.stderr.write("interrupted before anything was started\n")
        return EXIT_INTERRUPTED


def _require_file(word: str) -> None:
    """Refuse the folder of a run, and what is nearly a command, as the sweep file."""
    if word and os.path.isfile(f"{word}/{RunFile.SWEEP}"):  # noqa: PTH113 - of any length
        raise SweepError(
            f"{word} is the folder of a run, not a sweep file",
            f"to resume it: --resume {word}; to see it: {command(f'show {word}')}",
        )
    close = "" if word.startswith("-") else nearest(word, _COMMANDS)
    if close and not os.path.exists(word):  # noqa: PTH110
        raise SweepError(f"{word}: no such command or file{close}")


def parse(arguments: Sequence[str]) -> Options:
    """Return the options of a command line; end the program where it has unknown ones.

    An option of the last version still works, with a sentence that names the new one.
    """
    words, sentences = as_today(arguments)
    for sentence in sentences:
        sys.stderr.write(f"NOTE: {sentence}\n")
    given: dict[str, Any] = vars(_parser().parse_args(words))
    for name in [name for name, option in DECLARATIONS.items() if option.is_list]:
        values = given.get(name, [])
        if given["sweep_file"] is None and values and str(values[-1]).endswith(".py"):
            # The option has taken the file behind its values as one of them.
            given["sweep_file"] = Path(values.pop())
        given[name] = tuple(values)
    return Options(**given)


def _parser() -> argparse.ArgumentParser:
    """Return the parser; an option that is not given has no attribute."""
    lines = [f"  {name:22}{text}" for name, (_, text) in _COMMANDS.items()]
    parser = Parser(
        prog=command(),
        description="Finds which settings train a model fastest without costing accuracy.",
        usage=f"{command('SWEEP.py')} [options], or {command('COMMAND')} [options]",
        epilog="\n".join(["commands, each with its own --help:", *lines, "", _LAST]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        argument_default=argparse.SUPPRESS,
    )
    file = "file with a module-level SWEEP; may be left out with --resume"
    parser.takes("sweep_file", "SWEEP.py", a_path, file, nargs="?")
    version = f"sweep-orchestrator {__version__}, Python {platform.python_version()}"
    parser.add_argument("--version", action="version", version=version, help="print it, and stop")
    groups = {group: parser.add_argument_group(group) for group in Group}
    for name, option in DECLARATIONS.items():
        _add(groups[option.group], name, option)
    return parser


def _add(group: argparse._ArgumentGroup, name: str, option: Option) -> None:
    text = option.help.replace("%", "%%")
    if not option.metavar:
        group.add_argument(flag(name), action="store_true", help=text)
        return
    several: dict[str, Any] = {"nargs": "+", "action": "extend"} if option.is_list else {}
    metavar = option.metavar
    group.add_argument(flag(name), metavar=metavar, type=option.read, help=text, **several)


# -- what a shell completes: argcomplete runs the program with the line in its environment

_ASKED: Final = "_ARGCOMPLETE"
"""Variable of a shell that asks: the number of the word that is the program."""
_OF_RUNS: Final = ("run", "run_dir", "resume", "warm_start", "second")
"""Names of the arguments that are run directories."""


def completing() -> list[str] | None:
    """Have the parser that reads the line complete it, where a shell asks for that.

    Returns:
        The command that is typed already, as the arguments to parse; None where no shell asks.
    """
    if _ASKED not in os.environ:
        return None
    number = int(os.environ[_ASKED])
    line = os.environ["COMP_LINE"][: int(os.environ["COMP_POINT"])]
    words = f"{line}|".split()[number:-1]  # the last one is being typed
    typed = [word for word in words[:1] if word in _COMMANDS]
    os.environ[_ASKED] = str(number + len(typed))
    Parser.complete = partial(_complete, commands=() if words else tuple(_COMMANDS))
    return typed


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
