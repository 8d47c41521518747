"""From a sweep file to a checked sweep."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from orchestrator.errors import SweepError, SweepFileError, collecting_problems, raise_all
from orchestrator.locations import place
from orchestrator.sweep.checks import sweep_problems
from orchestrator.sweep.definition import Sweep
from orchestrator.sweep.file import run_sweep_file
from orchestrator.trainable import IF_POSSIBLE, Trainable


def load_sweep(path: Path) -> Sweep[Any]:
    """Return the sweep that a file holds as its module-level ``SWEEP``.

    Raises:
        SweepError: The file is missing, raises, has no usable ``SWEEP``, or its sweep has
            something wrong with it. All that can be found in one pass is reported at once.
    """
    with collecting_problems() as problems:
        try:
            module = run_sweep_file(path)
        except SweepFileError as error:
            raise_all(_in_order([*problems, error]))
    sweep: Any = vars(module).get("SWEEP")
    if not isinstance(sweep, Sweep):
        raise_all(_in_order([*problems, _no_sweep(path, vars(module))]))
    checked: Sweep[Any] = sweep
    raise_all(_in_order([*problems, *_of_fields(checked, path, problems)]))
    return checked


def _of_fields(
    sweep: Sweep[Any], path: Path, problems: Sequence[SweepError]
) -> Sequence[SweepError]:
    """Return what is wrong with a sweep's fields.

    Parts of it that were refused have what no check expects; then what was refused is told alone.
    """
    try:
        return sweep_problems(sweep, path)
    except SweepError as error:
        return () if problems else [error]
    except Exception:
        if problems:
            return ()
        raise


def require_modules(trainable: Trainable[Any]) -> None:
    """Check that the modules to preload can be found; only the top one of each is looked for.

    Raises:
        SweepError: One of them cannot.
    """
    names = [name for name in trainable.preload if not name.startswith(IF_POSSIBLE)]
    for top in dict.fromkeys(name.partition(".")[0] for name in names):
        if top not in sys.modules and find_spec(top) is None:
            raise SweepError(
                f"{trainable.name} preloads {top}, which is not installed here",
                f"install it for {sys.executable}, or the extra that brings it: docs/install.md",
            )


def _in_order(problems: Sequence[SweepError]) -> list[SweepError]:
    """Return the problems by line of the file."""

    def line(problem: SweepError) -> int:
        match = re.match(r".*?:(\d+): ", problem.message)
        return int(match[1]) if match else 0

    return sorted(problems, key=line)


def _no_sweep(path: Path, names: dict[str, Any]) -> SweepError:
    allowed = "a sweep file assigns its sweep to SWEEP: SWEEP = Sweep(...)"
    if "SWEEP" in names:
        kind = type(names["SWEEP"]).__name__
        return SweepFileError(f"{place(path)}: SWEEP is of type {kind}, not Sweep", allowed)
    values = {
        name.upper(): name
        for name, value in names.items()
        if not (name.startswith("_") or isinstance(value, (type, ModuleType, FunctionType)))
    }
    sweeps = [name for name, value in names.items() if isinstance(value, Sweep)]
    close = sweeps or [values[name] for name in get_close_matches("SWEEP", values)]
    meant = f"; did you mean {close[0]!r}?" if close else ""
    return SweepFileError(f"{place(path)}: there is no SWEEP{meant}", allowed)
