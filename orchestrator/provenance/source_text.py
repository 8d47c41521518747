"""Source text of a function, to compare it with that of another run."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

from orchestrator.locations import syntax_tree

_PLAIN = (bool, int, float, str, tuple, frozenset, type(None))


def source_text(function: Callable[..., Any]) -> str:
    """Return the code of ``function`` and of its parts, one a line.

    Comments, layout and the place in the file do not count. Its parts are the variables that it
    encloses, and the constants and functions of its own module that it names.
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
    """Return the value's text, or the name of its type where the text would hold an address."""
    if isinstance(value, _PLAIN):
        return repr(value)
    kind = value if isinstance(value, type) else type(value)
    return f"{kind.__module__}.{kind.__qualname__}"


def _code(function: FunctionType) -> str:
    tree, first = syntax_tree(function.__code__.co_filename), function.__code__.co_firstlineno
    parts = [ast.unparse(node) for node in ast.walk(tree or ast.Module([], [])) if _at(node, first)]
    return " ".join(parts) or function.__code__.co_code.hex()


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
