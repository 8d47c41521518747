"""The code that trains: its hash, by which runs are comparable, and the text of a function."""

import ast
import functools
import hashlib
import inspect
import linecache
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib.util import resolve_name
from pathlib import Path
from types import FunctionType
from typing import Any

from orchestrator.system.import_path import INSTALLED, folders_after
from orchestrator.trainable import Trainable

_OWN = __name__.partition(".")[0]
_HASH_LENGTH = 16
_PLAIN = (bool, int, float, str, tuple, frozenset, type(None))


def source_hash(trainable: Trainable[Any]) -> str:
    """Return a hash that changes when the code that trains does.

    It covers the module of the training function, the module of its config class, and the
    modules that these import, directly or not, from the folder of their package, from
    ``src`` of its repository, and from the module's own folder.
    This package itself and installed ones do not count. Imports are read from the source;
    nothing is run. Any change of a file counts, even of a comment.
    """
    function = inspect.unwrap(trainable.train)
    while isinstance(function, functools.partial):
        function = inspect.unwrap(function.func)
    sources: dict[str, bytes] = {}
    for script in getattr(trainable.train, "source_files", ()):
        _follow(script.stem, script, sources)
    for part in (function, trainable.config):
        name = getattr(part, "__module__", "") or type(part).__module__
        file = getattr(sys.modules.get(name), "__file__", None)
        is_by_value = name == "__main__" and Path(file or "").parent.name == _OWN
        if file is not None and not is_by_value and name.partition(".")[0] != _OWN:
            _follow(name, Path(file), sources)
    digest = hashlib.sha256()
    for name in sorted(sources):
        digest.update(name.encode() + b"\0" + sources[name] + b"\0")
    if command := getattr(trainable.train, "command", ""):
        digest.update(command.encode())
    elif not sources:  # typed in by hand, so there is no file
        digest.update(source_text(function).encode())
    return digest.hexdigest()[:_HASH_LENGTH]


def _follow(name: str, file: Path, sources: dict[str, bytes]) -> None:
    """Add a module, and all that it imports from the folders of its package, to ``sources``."""
    depth = name.count(".") + (file.name == "__init__.py")
    root, top = file.resolve().parents[depth], name.partition(".")[0]
    installed = any(part in INSTALLED for part in root.parts)
    roots = [root] if installed else list(dict.fromkeys([root, *folders_after(file)]))
    files, seen = {name: file}, set[str]()
    unvisited = [*_with_packages(name)]
    while unvisited:
        name = unvisited.pop()
        first = name.partition(".")[0]
        if name in seen or first == _OWN or (installed and first != top):
            continue
        seen.add(name)
        source = files.get(name) or next(filter(None, (_file_of(name, r) for r in roots)), None)
        if source is not None:
            sources[name] = source.read_bytes()
            is_package = source.name == "__init__.py"
            unvisited += _imports(sources[name], name, is_package=is_package)


def _file_of(name: str, root: Path) -> Path | None:
    """Return the file of a module under ``root``: its own, or its package's."""
    path = root.joinpath(*name.split("."))
    files = (path.with_name(f"{path.name}.py"), path / "__init__.py")
    return next((file for file in files if file.is_file()), None)


def _imports(source: bytes, name: str, *, is_package: bool) -> Iterator[str]:
    """Yield the modules that a source may import, their packages included."""
    package = name if is_package else name.rpartition(".")[0]
    try:
        tree = ast.parse(source)
    except SyntaxError:  # a module that is not imported after all
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _with_packages(alias.name)
        elif isinstance(node, ast.ImportFrom):
            with suppress(ImportError):  # beyond the top: it is not imported after all
                base = resolve_name("." * node.level + (node.module or ""), package)
                yield from _with_packages(base)
                for alias in node.names:  # a name, or a module of the package
                    yield f"{base}.{alias.name}"


def _with_packages(name: str) -> Iterator[str]:
    parts = name.split(".")
    return (".".join(parts[: end + 1]) for end in range(len(parts)))


# -- the text of a function


def source_text(function: Callable[..., Any]) -> str:
    """Return the code of ``function`` and of its parts, one a line.

    Comments, layout and the place in the file do not count. Its parts are the variables that it
    encloses, and the constants and functions of its module that it names.
    """
    parts: dict[str, str] = {}
    _add("", function, parts)
    return "\n".join(f"{name} = {text}" if name else text for name, text in parts.items())


def _add(name: str, value: object, parts: dict[str, str]) -> None:
    if name in parts:
        return
    if not isinstance(value, FunctionType):
        parts[name] = _text_of_value(value)
        return
    parts[name] = _code(value)
    for inner_name, inner in _named(value):
        _add(inner_name, inner, parts)


def _text_of_value(value: object) -> str:
    """Return the value's text, or the name of its type where the text would have an address."""
    if isinstance(value, _PLAIN):
        return repr(value)
    kind = value if isinstance(value, type) else type(value)
    return f"{kind.__module__}.{kind.__qualname__}"


def _code(function: FunctionType) -> str:
    code, tree = function.__code__, ast.Module([], [])
    with suppress(SyntaxError, ValueError):  # it cannot be read again
        tree = ast.parse("".join(linecache.getlines(code.co_filename)))
    parts = [ast.unparse(node) for node in ast.walk(tree) if _at(node, code.co_firstlineno)]
    constants = [each for each in code.co_consts if isinstance(each, _PLAIN)]
    return " ".join(parts) or f"{code.co_code.hex()} {code.co_names} {constants}"


def _at(node: ast.AST, line: int) -> bool:
    """Return True if ``node`` is a function that begins in a line, decorators included."""
    if isinstance(node, ast.Lambda):
        return node.lineno == line
    if isinstance(node, ast.FunctionDef):
        return min([node.lineno, *(each.lineno for each in node.decorator_list)]) == line
    return False


def _named(function: FunctionType) -> Iterator[tuple[str, object]]:
    """Yield the variables that the function encloses, and what it names in its module."""
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        yield name, cell.cell_contents
    for name in function.__code__.co_names:
        value = function.__globals__.get(name)
        own = isinstance(value, FunctionType) and value.__module__ == function.__module__
        if own or (name in function.__globals__ and isinstance(value, _PLAIN)):
            yield name, value
