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

    From here on a ``random.py`` in the current folder hides nothing. To be called by programs, not
    where the package is merely imported.
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
    if issubclass(kind, KeyboardInterrupt):
        _end("interrupted before anything was started\n", EXIT_INTERRUPTED)
    if issubclass(kind, ImportError | AttributeError) and (file := hiding(trace)):
        _end(f"error: {file} hides the module {module_of(file)}\n  rename it\n", EXIT_WRONG_REQUEST)
    sys.__excepthook__(kind, error, trace)


def _end(text: str, code: int) -> None:
    if sys.stderr is not None:
        sys.stderr.write(text)
        sys.stderr.flush()
    os._exit(code)


def hiding(trace: TracebackType | None) -> str:
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
    name = module_of(file)
    # A package of another project may have been installed for editing.
    is_needed = name in sys.stdlib_module_names or (name in _NEEDED and not is_package)
    return is_needed and place in [path or os.getcwd() for path in sys.path]  # noqa: PTH109


def module_of(file: str) -> str:
    """Return the name by which a file at the top of an import path is imported."""
    folder, name = os.path.split(file)
    return os.path.basename(folder if name == "__init__.py" else name).partition(".")[0]  # noqa: PTH119
