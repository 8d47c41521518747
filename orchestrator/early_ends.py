"""Ctrl-C before a command line is read, in a sentence; and Python's own modules first.

``python -m`` looks for modules in the current folder first: a ``random.py`` there would hide one.
"""

import os
import sys
from types import TracebackType

# Nothing else is imported: it could be what is hidden.

EXIT_INTERRUPTED = 130


def explain_early_ends() -> None:
    """Have Ctrl-C end this process with a sentence, and no file hide a module of Python's own.

    To be called by programs, not where the package is merely imported.
    """
    sys.excepthook = _explain
    sys.path[:] = python_first(sys.path)


def is_program() -> bool:
    """Return True amid the start of ``python -m``, which has not set the program's name yet."""
    return sys.argv[:1] == ["-m"]


def python_first(path: list[str]) -> list[str]:
    """Return an import path with Python's own modules in front, where no file hides them."""
    own = [folder for folder in path if is_pythons(folder)]
    return [*own, *(folder for folder in path if folder not in own)]


def is_pythons(folder: str) -> bool:
    """Return True for a folder of an import path that holds modules of Python's own."""
    library = os.path.dirname(os.__file__)  # noqa: PTH120
    archive = f"python{sys.version_info.major}{sys.version_info.minor}.zip"
    return folder == library or os.path.basename(folder) in (archive, "lib-dynload")  # noqa: PTH119


def _explain(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if not issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)
        return
    if sys.stderr is not None:
        sys.stderr.write("interrupted before anything was started\n")
        sys.stderr.flush()
    os._exit(EXIT_INTERRUPTED)
