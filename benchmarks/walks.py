"""How a reader walks through the code: modules in the order in which functions are first called.

    python -m benchmarks.walks

Two walks: a config's, from the command line to its first training process, and a run directory's,
from a finished run to its report. A stay is consecutive functions of one module; a return is a stay
in a module visited before. Functions that only other threads call are left out.
"""

from __future__ import annotations

import inspect
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from types import CodeType, FrameType
from typing import Final

from benchmarks.harness import ROOT, in_fresh_process

SWEEP: Final = (
    "sweeps/mnist_dataloader.py", "--data", "digits", "--search", "grid", "--trials", "3",
    "--epochs", "2", "--executor", "inline", "--no-mlflow", "--out",
)  # fmt: skip
LAUNCH: Final = ("execution/process/fork_client.py", "__init__")
"""File and function with which a trial's process begins."""
ENDS: Final = ("", "")
"""No function: the walk ends with the command."""


def stays_of(package: Path, last: tuple[str, str], run: Callable[[], object]) -> list[str]:
    """Return the modules of a package in the order in which ``run`` first calls their functions.

    Args:
        package: Its folder.
        last: File and function that end the walk, if they are called.
        run: The function to follow.
    """
    called = set[CodeType]()
    stays = list[str]()

    def see(frame: FrameType, event: str, _argument: object) -> None:
        code = frame.f_code
        if event != "call" or code in called or not code.co_flags & inspect.CO_OPTIMIZED:
            return  # CO_OPTIMIZED: a function, and not the body of a module or a class
        called.add(code)
        place = Path(code.co_filename)
        if package not in place.parents or code.co_name.startswith("<"):
            return
        module = place.relative_to(package).as_posix()
        if stays[-1:] != [module]:
            stays.append(module)
        if (module, code.co_name) == last:
            sys.setprofile(None)

    sys.setprofile(see)
    try:
        run()
    finally:
        sys.setprofile(None)
    return stays


def walk(last: tuple[str, str], command: Sequence[str]) -> list[str]:
    """Return the stays of a command of the program."""
    from orchestrator.cli import main as run

    with redirect_stdout(sys.stderr):
        return stays_of(ROOT / "orchestrator", (last[0], last[1]), lambda: run(command))


def main() -> int:
    """Print a table of the walks."""
    print("| walk | modules | stays | returns |\n| --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        for name, last, command in (
            ("a config, from the sweep file to its launch", LAUNCH, [*SWEEP, f"{folder}/run"]),
            ("a run directory, from the command to its report", ENDS, ["show", f"{folder}/run"]),
        ):
            stays = in_fresh_process(walk, last, command)
            modules = len(set(stays))
            print(f"| {name} | {modules} | {len(stays)} | {len(stays) - modules} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
