"""Lines of a plan for a terminal: broken between words, below the text that they go on with."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator

_HEAD = re.compile(r"NOTE: | {6}(?=\S)|.{12}( *[\d,]+  )?")
"""What the text of a line stands behind: a note's mark, a label, a count."""
_WIDE = 50
"""Columns from which on there is room to indent by all of it."""


def wrapped(lines: Iterable[str], width: int) -> Iterator[str]:
    """Yield the lines in ``width`` columns."""
    for line in lines:
        if width < _WIDE:
            text, indent = re.sub(" {2,}", "  ", line), 4
        else:
            head = _HEAD.match(line)
            text, indent = line, 0 if head is None else head.end()
        hanging = " " * min(indent, width - 1)
        yield from textwrap.wrap(
            text, width, subsequent_indent=hanging, break_on_hyphens=False
        ) or [""]
