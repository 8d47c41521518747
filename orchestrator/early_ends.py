"""Ends of a program before its command line is read, said in a sentence: no traceback of ours.

They are Ctrl-C amid the imports, and a file of the user's that has the name of a module which is
needed: ``python -m`` looks for modules in the current folder first.
"""

import os
import sys
from types import TracebackType

# Nothing else is imported: it could be what is hidden.

EXIT_WRONG_REQUEST = 2
EXIT_INTERRUPTED = 130

_NEEDED = (
    "dgl", "matplotlib", "mlflow", "numpy", "optuna", "pandas", "plotly", "psutil", "pyarrow",
    "pynvml", "ray", "rich", "sqlalchemy", "torch",
)  # fmt: skip
"""Modules of other projects that a run imports, as far as they are there."""
_INSTALLED = ("site-packages", "dist-packages")


def explain_early_ends() -> None:
    """Have this process end with a sentence, where it would end with a traceback for one of them.

    To be called by programs, not where the package is merely imported.
    """
    sys.excepthook = _explain


def is_program() -> bool:
    """Return True amid the start of ``python -m``, which has not set the program's name yet."""
    return sys.argv[:1] == ["-m"]


def _explain(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if issubclass(kind, KeyboardInterrupt):
        _end("interrupted before anything was started\n", EXIT_INTERRUPTED)
    if issubclass(kind, ImportError | AttributeError) and (file := _hiding(trace)):
        name = _module(file)
        _end(f"error: {file} hides the module {name}\n  rename it\n", EXIT_WRONG_REQUEST)
    sys.__excepthook__(kind, error, trace)


def _end(text: str, code: int) -> None:
    if sys.stderr is not None:
        sys.stderr.write(text)
        sys.stderr.flush()
    os._exit(code)


def _hiding(trace: TracebackType | None) -> str:
    """Return a file that hides a module that is needed; empty where none does."""
    files = []
    while trace is not None:
        files.append(trace.tb_frame.f_code.co_filename)
        trace = trace.tb_next
    modules = list(sys.modules.items())
    files += [
        getattr(module, "__file__", None) or "" for name, module in modules if "." not in name
    ]
    return next(filter(_hides, files), "")


def _hides(file: str) -> bool:
    folder = os.path.dirname(file)  # noqa: PTH120
    if not file or folder.startswith(os.path.dirname(os.__file__)):  # noqa: PTH120
        return False
    if any(name in file for name in _INSTALLED):
        return False
    is_package = os.path.basename(file) == "__init__.py"  # noqa: PTH119
    place = os.path.dirname(folder) if is_package else folder  # noqa: PTH120
    name = _module(file)
    # A package of another project may have been installed for editing.
    is_needed = name in sys.stdlib_module_names or (name in _NEEDED and not is_package)
    return is_needed and place in [path or os.getcwd() for path in sys.path]  # noqa: PTH109


def _module(file: str) -> str:
    folder, name = os.path.split(file)
    return os.path.basename(folder if name == "__init__.py" else name).partition(".")[0]  # noqa: PTH119
