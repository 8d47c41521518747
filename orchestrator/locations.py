"""Places in the user's own files, for messages: ``sweeps/products_loader.py:12``."""

from __future__ import annotations

import ast
import linecache
import sys
from collections.abc import Iterator
from itertools import islice
from types import FrameType

_OWN = __name__.partition(".")[0]


def caller(keyword: str = "") -> str:
    """``file:line: `` of the first code outside this package that led here.

    Args:
        keyword: Name of an argument of the call made there, or of a key of a dictionary in
            it. The line is then the one on which the argument's value begins.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == _OWN:
        frame = frame.f_back
    if frame is None:  # the package's own main program asked
        return ""
    line = _line_of_argument(frame, keyword) if keyword else None
    return f"{frame.f_code.co_filename}:{line or frame.f_lineno}: "


def argument_line(call: ast.Call, keyword: str) -> int | None:
    """The line on which an argument of ``call`` begins, or None where it has none so named."""
    for node in ast.walk(call):
        if isinstance(node, ast.Call):
            for argument in node.keywords:
                if argument.arg == keyword:
                    return argument.value.lineno
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and key.value == keyword:
                    return value.lineno
    return None


def parse_lines(file: str) -> ast.Module | None:
    """The syntax tree of a file that Python has read, or None where there is none any more."""
    try:
        return ast.parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return None


def _line_of_argument(frame: FrameType, keyword: str) -> int | None:
    position = next(islice(frame.f_code.co_positions(), frame.f_lasti // 2, None), None)
    tree = parse_lines(frame.f_code.co_filename)
    if position is None or tree is None:
        return None
    line, end_line, column, end_column = position
    place = (line, column, end_line, end_column)
    for call in _calls(tree):
        if (call.lineno, call.col_offset, call.end_lineno, call.end_col_offset) == place:
            return argument_line(call, keyword)
    return None


def _calls(tree: ast.Module) -> Iterator[ast.Call]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))
