"""From a sweep file, run as a module, to a checked sweep; errors become messages.

A message has Python's own words, the file's line, and the nearest name.
"""

import builtins
import importlib.util
import inspect
import linecache
import os
import pickle
import re
import sys
import traceback
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any, Final, NoReturn

from orchestrator.errors import SweepError, SweepFileError, collecting_problems, nearest, raise_all
from orchestrator.locations import argument_line, place
from orchestrator.sweep.checks import sweep_problems
from orchestrator.sweep.definition import Sweep
from orchestrator.system.import_path import PROJECT, folders_after, folders_before, make_importable
from orchestrator.texts import MOST_OF_A_LINE, bounded, described
from orchestrator.trainable import IF_POSSIBLE, Trainable

_NUM_NAMES = 12
_UNKNOWN_ARGUMENT = re.compile(
    r"(\w+)(?:\.__init__)?\(\) got an unexpected keyword argument '(\w+)'"
)
_HOOK: Final = "RAY_RUNTIME_ENV_HOOK"

PICKLED: Final = ".sweep"
"""Ending of a file that has a sweep of ``orchestrator.run``, with all that it needs by value."""


def load_sweep(path: Path) -> Sweep[Any]:
    """Return the sweep that a file assigns to its module-level ``SWEEP``.

    Raises:
        SweepError: The file is missing, raises, has no usable ``SWEEP``, or its sweep has
            something wrong with it. All that can be found in one pass is reported at once.
    """
    if path.suffix == PICKLED:
        make_importable(path.resolve())
        pickled: Sweep[Any] = pickle.loads(path.read_bytes())
        raise_all(list(sweep_problems(pickled, path)))
        return pickled
    with collecting_problems() as problems:
        try:
            module = run_sweep_file(path)
        except SweepFileError as error:
            raise_all([*problems, error])
    sweep: Any = vars(module).get("SWEEP")
    if not isinstance(sweep, Sweep):
        raise_all([*problems, _no_sweep(path, vars(module))])
    checked: Sweep[Any] = sweep
    try:
        wrong = sweep_problems(checked, path)
    except Exception:
        if not problems:
            raise
        wrong = []  # parts that were refused have values that no check expects
    raise_all([*problems, *wrong])
    return checked


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


def _no_sweep(path: Path, names: dict[str, Any]) -> SweepError:
    allowed = "a sweep file assigns its sweep to SWEEP: SWEEP = Sweep(...)"
    if "SWEEP" in names:
        kind = type(names["SWEEP"]).__name__
        return SweepFileError(f"{place(path)}: SWEEP is of type {kind}, not Sweep", allowed)
    sweeps = [name for name, value in names.items() if isinstance(value, Sweep)]
    meant = f"; did you mean {sweeps[0]!r}?" if sweeps else ""
    return SweepFileError(f"{place(path)}: there is no SWEEP{meant}", allowed)


# -- the file as a module


def run_sweep_file(path: Path) -> ModuleType:
    """Run a sweep file, afresh on every call.

    It can import from the root of its repository, the current folder and its own folder. The
    module gets the name by which a process with the same path would import it, so that such a
    process finds the functions defined in it.

    Raises:
        SweepFileError: The file cannot be read, raises, or starts Ray.
    """
    source = _source(path)
    file = path.resolve()
    make_importable(file)
    name = _module_name(file)
    module = ModuleType(name)
    module.__file__ = str(file)
    linecache.checkcache(str(file))
    sys.modules[name] = module
    try:
        with _refusing_ray():
            exec(compile(source, str(file), "exec", dont_inherit=True), module.__dict__)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - raised again, as a message
        sys.modules.pop(name, None)
        raise _explained(error, file) from None
    return module


@contextmanager
def _refusing_ray() -> Iterator[None]:
    """Have Ray's own hook of ``ray.init``, which whatever needs a running Ray calls, refuse it."""
    before = os.environ.get(_HOOK)
    os.environ[_HOOK] = f"{__name__}.{refuse_ray.__name__}"
    try:
        yield
    finally:
        del os.environ[_HOOK]
        if before is not None:
            os.environ[_HOOK] = before


def refuse_ray(_runtime_env: object) -> NoReturn:
    """Refuse to start Ray while a sweep file is imported.

    Raises:
        SweepFileError: In any case.
    """
    raise SweepFileError(
        "it starts Ray, or joins one, when it is imported",
        "put ray.init, ray.put, ray.get and tuner.fit() under if __name__ == '__main__': the "
        "program starts its own Ray",
    )


def _source(path: Path) -> str:
    folder = path if path.is_dir() else path.parent
    if not path.exists():
        meant = nearest(path.name, [file.name for file in folder.glob("*.py")])
        raise SweepFileError(f"{path}: no such file{meant}", _files_in(folder))
    if path.suffix != ".py":
        raise SweepFileError(f"{path} is not a Python file", _files_in(folder))
    try:
        return importlib.util.decode_source(path.read_bytes())
    except (OSError, ValueError, LookupError, SyntaxError) as error:
        raise SweepFileError(f"{path} cannot be read: {error}") from None


def _files_in(folder: Path) -> str:
    names = sorted(file.name for file in folder.glob("*.py") if file.name != "__init__.py")
    shown = ", ".join(names[:_NUM_NAMES]) + (", ..." if len(names) > _NUM_NAMES else "")
    return f"in {folder}: {shown}" if names else f"there is no .py file in {folder}"


def _module_name(file: Path) -> str:
    """Return the name under which the file can be imported, or one that nothing else has."""
    *inner, own = folders_after(file)
    for folder in (*inner, *folders_before(file), PROJECT, own):
        if file.is_relative_to(folder):
            parts = file.relative_to(folder).with_suffix("").parts
            if all(part.isidentifier() for part in parts) and _finds(".".join(parts), file):
                return ".".join(parts)
    return "sweep_file_" + re.sub(r"\W", "_", file.stem)


def _finds(name: str, file: Path) -> bool:
    loaded = sys.modules.get(name)
    if loaded is not None:
        return getattr(loaded, "__file__", None) == str(file)
    try:
        spec = importlib.util.find_spec(name)
    except Exception:  # noqa: BLE001 - the package around it is the user's, and may raise anything
        return False
    return spec is not None and spec.origin == str(file)


# -- an error of the file as one message


def _explained(error: BaseException, file: Path) -> SweepFileError:
    """Return the error as one about ``file``: its own line, and the place the error came from."""
    frames = list(traceback.walk_tb(error.__traceback__))
    own = [(f, line) for f, line in frames if f.f_code.co_filename == str(file)]
    if not own:  # it could not even be compiled
        line = error.lineno if isinstance(error, SyntaxError) else None
        *_, last = traceback.format_exception_only(error)
        shown = (getattr(error, "text", None) or "").strip()
        return SweepFileError(_message(place(file, line), last.strip(), shown))
    frame, line = own[-1]
    if match := _unknown_argument(error):
        line = argument_line(frame.f_code, frame.f_lasti, match[2]) or line
    what, hint = _in_words(error, file, frame, frames[-1])
    what = what.removeprefix(f"{place(file, line)}: ")
    return SweepFileError(
        _message(place(file, line), what, linecache.getline(str(file), line).strip()), hint
    )


def _message(where: str, what: str, line: str) -> str:
    shown = f"\n    {bounded(line, MOST_OF_A_LINE)}" if line else ""
    return f"{where}: {what}{shown}"


def _in_words(
    error: BaseException, file: Path, frame: FrameType, innermost: tuple[FrameType, int]
) -> tuple[str, str]:
    """Return what is wrong, by the file's own frame, and a hint: where it came from."""
    if isinstance(error, SweepError):
        return error.message, error.hint
    if isinstance(error, SystemExit):
        hint = "put what ends it, such as parse_args(), under if __name__ == '__main__'"
        return "a sweep file must not end the program (SystemExit)", hint
    what = f"{described(error)}{_nearest(error, frame.f_globals)}"
    (frame, line), origin = innermost, innermost[0].f_code.co_filename
    if isinstance(error, SyntaxError) and error.filename:
        origin, line = error.filename, error.lineno or 0
    is_ours = frame.f_globals.get("__name__", "").startswith("orchestrator.")
    if is_ours or origin == str(file) or origin.startswith("<frozen"):
        return what, ""
    shown = bounded(linecache.getline(origin, line).strip(), MOST_OF_A_LINE)
    return what, f"raised in {place(origin, line)}: {shown}"


def _unknown_argument(error: BaseException) -> re.Match[str] | None:
    return _UNKNOWN_ARGUMENT.search(described(error)) if isinstance(error, TypeError) else None


def _nearest(error: BaseException, names: Mapping[str, Any]) -> str:
    """Return the name that was probably meant, to follow the message, if there is one."""
    if isinstance(error, NameError) and error.name:
        return nearest(error.name, [*names, *dir(builtins)])
    if isinstance(error, AttributeError) and error.name:
        return nearest(error.name, dir(error.obj))
    if match := _unknown_argument(error):
        return nearest(match[2], _parameters(names.get(match[1])))
    return ""


def _parameters(called: object) -> Iterable[str]:
    try:
        return inspect.signature(called).parameters  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return ()
