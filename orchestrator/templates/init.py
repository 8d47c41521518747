"""``python -m orchestrator init``: a sweep with a trainable to begin with, or one of a script."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from orchestrator.arguments import Parser, a_path, command, typed
from orchestrator.errors import SweepError
from orchestrator.texts import bounded_lines

_WRITTEN: Final = ("my_trainable.py", "my_sweep.py")


def main(arguments: Sequence[str]) -> int:
    """Write the files, and print what to type next.

    Returns:
        0.

    Raises:
        SweepError: One of the files is there already, or cannot be written.
    """
    parser = Parser(
        prog=command("init"),
        description="Writes a sweep and a trainable that run at once, without data and network.",
    )
    here = "where to (default: the current folder)"
    parser.takes("folder", "DIR", a_path, here, Path(), nargs="?")
    of_script = "write a sweep of this script, from the options that its argparse parser has"
    parser.takes("--from", "SCRIPT.py", a_path, of_script, dest="script")
    options = parser.parse_args(arguments)
    folder: Path = options.folder
    texts = _texts(options.script)
    # A link that leads nowhere is there too.
    if there := [name for name in texts if os.path.lexists(folder / name)]:
        raise SweepError(
            f"init: there is a {' and a '.join(there)} in {folder.absolute()}",
            f"allowed: another folder: {command('init DIR')}",
        )
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    if folder != Path():  # a folder called trainables would else be hidden by ours
        (folder / "__init__.py").touch()
    *trainables, sweep = (folder / name for name in texts)
    named = f"./{sweep}" if str(sweep).startswith("-") else sweep  # else it is an option
    python = typed("orchestrator", [named])
    check = " Check what the script reports, and what varies." if options.script else ""
    for each in trainables:
        sys.stdout.write(f"{each}: a small network and its knobs. Put your own model there.\n")
    sys.stdout.write(
        f"{sweep}: what is asked about it.{check}\n"
        f"To see what would run:  {python} --plan\n"
        f"To run it:              {python}\n"
    )
    return 0


def _texts(script: Path | None) -> dict[str, str]:
    """Return the files to write by name: the sweep of a script, or the trainable and its sweep."""
    if script is not None:
        return {f"{script.stem}_sweep.py": _sweep_of(script)}
    here = Path(__file__).parent
    return {name: (here / f"{name}.txt").read_text(encoding="utf-8") for name in _WRITTEN}


# -- a sweep of a script, from its own options

_FIGURES: Final = ("val_acc", "valid_acc", "test_acc", "val_accuracy", "accuracy", "acc",
                   "val_loss", "loss")  # fmt: skip
"""Figures that a script may print, the most telling first."""
_OF_THE_TRIAL: Final = {"epochs": r"(num_|max_|n_)?epochs", "seed": "(random_)?seed"}

_FILE: Final = '''\
"""Which settings train {name} fastest without costing accuracy? Written from its own options."""

from orchestrator import Sweep, choice, from_script, {directions}

SWEEP = Sweep(
    from_script(
        {command},
        config={{
{config}
        }},
        # Printed as {figure}=0.9, {figure}: 90 % or {{"{figure}": 0.9}} in a line.
        # report_s is the mean time of a report; where the script prints the samples so far,
        # samples=60000, there is samples_per_s.
        reports=[minimize("report_s"), {reports}],
    ),
    question="Which settings train {name} fastest without costing accuracy?",
    space={{
{space}
    }},{epochs}
)
'''


def _sweep_of(script: Path) -> str:
    """Return the text of a sweep file for a script.

    Raises:
        SweepError: The script has no parser of argparse, or ends before it has parsed.
    """
    options = _options(script)
    of_trial = {
        word: each["flag"]
        for word, pattern in _OF_THE_TRIAL.items()
        for each in options
        if each["flag"] and re.fullmatch(pattern, each["name"].replace("-", "_"))
    }
    words = ["python", shlex.quote(str(script))]
    words += [f"{flag} {{{word}}}" for word, flag in of_trial.items()]
    own = [each for each in options if each["flag"] not in of_trial.values() and _is_plain(each)]
    words += [f"{{{each['name']}}}" for each in own if not each["flag"]]
    space = dict(_space(own))
    if not space:
        raise SweepError(
            f"init: {script} has no option that a sweep could vary",
            "give it one for the loader's workers or the batch size, say",
        )
    source = script.read_text("utf-8", "replace")
    figure = next((name for name in _FIGURES if re.search(rf"\b{name}\b", source)), _FIGURES[0])
    direction = "minimize" if figure.endswith("loss") else "maximize"
    epochs = next((o["default"] for o in options if o["flag"] == of_trial.get("epochs", "-")), None)
    return _FILE.format(
        name=script.name,
        directions="minimize" if direction == "minimize" else "maximize, minimize",
        command=json.dumps(" ".join(words)),
        config="\n".join(f"            {_text(o['name'])}: {_text(o['default'])}," for o in own),
        figure=figure,
        reports=f'{direction}("{figure}")',
        space="\n".join(
            f"        {_text(name)}: choice({', '.join(map(_text, values))}),"
            for name, values in space.items()
        ),
        epochs=f"\n    epochs={epochs}," if isinstance(epochs, int) else "",
    )


def _options(script: Path) -> list[dict[str, Any]]:
    """Return the options of the script's parser, in their order."""
    reader = Path(__file__).parent / "options_of.py"
    done = subprocess.run(
        [sys.executable, reader, script], capture_output=True, text=True, check=False,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    last = done.stdout.rstrip().rpartition("\n")[2]
    if done.returncode or not last.startswith("["):
        why = f": {bounded_lines(done.stderr.strip())}" if done.stderr.strip() else ""
        raise SweepError(
            f"init: {script} does not parse options by argparse{why}",
            "write the sweep by hand: docs/scripts.md",
        )
    options: list[dict[str, Any]] = json.loads(last)
    return options


def _is_plain(option: Mapping[str, Any]) -> bool:
    """Return True for an option of one value, and for a switch that is off by default."""
    if option["is_switch"]:
        return option["default"] is False
    return option["takes_one"] and not isinstance(option["default"], list | dict)


def _space(options: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, list[Any]]]:
    """Yield what to vary: the options of a loader and of the batch, else the first of a number."""
    found = False
    for option in options:
        name, default = option["name"].replace("-", "_"), option["default"]
        if option["is_switch"] and re.search("pin|amp|compile|persist|channels_last", name):
            values: list[Any] = [False, True]
        elif type(default) is not int:
            continue
        elif "worker" in name:
            values = [0, 1, 2, 4]
        elif re.search("batch_?size|^bs$", name):
            values = [default, 2 * default, 4 * default]
        elif "prefetch" in name:
            values = [2, 4]
        else:
            continue
        found = True
        yield option["name"], list(dict.fromkeys([default, *values]))
    if not found:
        for option in options:
            if option["choices"] or type(option["default"]) in (int, float):
                default = option["default"]
                yield option["name"], option["choices"] or [default, 2 * default or 1]
                return


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)
