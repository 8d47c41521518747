"""Arguments written into a call of a script, without a change to the rest of it."""

import ast
from collections.abc import Mapping
from typing import Any


def with_arguments(text: str, line: int, column: int, values: Mapping[str, Any]) -> str | None:
    """Return a script in which a call has other keyword arguments.

    Args:
        text: The script.
        line: Line of the call, from 1.
        column: Its column in bytes, from 0.
        values: The arguments.

    Returns:
        None where there is no such call, or it takes its arguments from ``**``.
    """
    calls = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call))
    call = next((each for each in calls if (each.lineno, each.col_offset) == (line, column)), None)
    if call is None or any(each.arg is None for each in call.keywords):
        return None
    content = text.encode()
    starts = [0]
    for each in content.splitlines(keepends=True):
        starts.append(starts[-1] + len(each))

    def place(at_line: int | None, at_column: int | None) -> int:
        assert at_line is not None
        assert at_column is not None
        return starts[at_line - 1] + at_column

    given = {each.arg: each.value for each in call.keywords}
    edits: list[tuple[int, int, str]] = []
    for name, value in values.items():
        if (old := given.get(name)) is not None:
            span = place(old.lineno, old.col_offset), place(old.end_lineno, old.end_col_offset)
            edits.append((*span, repr(value)))
    new = [f"{name}={value!r}" for name, value in values.items() if name not in given]
    if new:
        last = max(
            (place(each.end_lineno, each.end_col_offset)
             for each in [*call.args, *given.values()]), default=None,
        )  # fmt: skip
        end = place(call.end_lineno, call.end_col_offset) - 1
        # A parenthesis around the last argument ends behind it; a comma may follow.
        behind = end if last is None else last + content[last:end].rfind(b")") + 1
        edits.append((behind, behind, f"{', ' if last is not None else ''}{', '.join(new)}"))
    for begin, end, word in sorted(edits, reverse=True):
        content = content[:begin] + word.encode() + content[end:]
    return content.decode()
