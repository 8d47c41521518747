"""Parts of a line, laid out in the width that there is: never cut, and never wider than it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.text import Text

GAP = 2
"""Spaces between two parts of a line."""


def flowed(parts: Iterable[Text], width: int, *, indent: int = 2) -> list[Text]:
    """Return lines that hold all of the parts.

    A part that does not fit begins a new line. One that is wider than a line goes on in the next,
    between two words where it has some.

    Args:
        parts: What the line consists of; empty ones are left out.
        width: Most columns of a line, at least one.
        indent: Columns that all lines but the first are indented by.
    """
    indent = max(0, min(indent, width - 10))
    lines: list[Text] = []
    for part in parts:
        if part.plain:
            _place(part, lines, width, indent, GAP)
    return lines


def _place(part: Text, lines: list[Text], width: int, indent: int, gap: int) -> None:
    """Add a part to the last line, or to new ones."""
    if lines and lines[-1].cell_len + gap + part.cell_len <= width:
        lines[-1] = Text().append_text(lines[-1]).append(" " * gap).append_text(part)
        return
    room = width - (indent if lines else 0)
    if part.cell_len <= room:
        lines.append(Text(" " * (indent if lines else 0)).append_text(part))
        return
    words = _words(part)
    if len(words) > 1:
        # Its first word begins where a part would, the others follow closely.
        for number, word in enumerate(words):
            _place(word, lines, width, indent, gap if number == 0 else 1)
        return
    for piece in _pieces(part, room):
        lines.append(Text(" " * (indent if lines else 0)).append_text(piece))


def _words(part: Text) -> Sequence[Text]:
    return [word for word in part.split(" ") if word.plain]


def _pieces(word: Text, room: int) -> Iterator[Text]:
    """Yield a word in pieces of ``room`` columns at most; a wide character may take two."""
    piece = Text()
    for character in (word[at] for at in range(len(word))):
        if piece and piece.cell_len + character.cell_len > room:
            yield piece
            piece = Text()
        piece = piece.append_text(character)
    yield piece
