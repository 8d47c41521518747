"""A terminal's screen: what its user sees of the characters that were written to it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_TOKENS = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])|\x1b\][^\x07]*\x07|\r|\n|([^\x1b\r\n]+)")


@dataclass
class _Row:
    text: str = ""
    goes_on: bool = False  # the next row is the rest of the same line


@dataclass
class Screen:
    """Rows of a terminal that breaks long lines, and breaks them anew when its width changes.

    It knows what our views write. Anything else is an error, so that no test passes by chance.
    """

    columns: int = 80
    height: int = 24
    rows: list[_Row] = field(default_factory=lambda: [_Row()])
    row: int = 0
    column: int = 0
    has_cursor: bool = True

    def feed(self, written: str) -> None:
        """Write to it."""
        position = 0
        for token in _TOKENS.finditer(written):
            assert token.start() == position, f"unknown: {written[position : token.start()]!r}"
            position = token.end()
            argument, command, text = token.groups()
            if text:
                self._write(text)
            elif command:
                self._control(argument, command)
            elif token[0] == "\r":
                self.column = 0
            elif token[0] == "\n":
                self._line_feed()
        assert position == len(written), f"unknown: {written[position:]!r}"

    def resize(self, columns: int) -> None:
        """Break the lines anew, as most terminals do; empty rows at the end make room."""
        while len(self.rows) > self.row + 1 and not self.rows[-1].text:
            self.rows.pop()
        lines: list[_Row] = []
        starts: list[int] = []
        for row in self.rows:
            if not starts or not lines[-1].goes_on:
                lines.append(_Row())
            starts.append(len(lines) - 1)
            lines[-1] = _Row(lines[-1].text + row.text, row.goes_on)
        line = starts[self.row]
        before = sum(
            len(self.rows[at].text) for at in range(self.row) if starts[at] == line
        ) + self.column  # fmt: skip
        self.rows, self.columns = [], columns
        for number, each in enumerate(lines):
            first = len(self.rows)
            pieces = [
                each.text[at : at + columns] for at in range(0, max(1, len(each.text)), columns)
            ]
            self.rows += [_Row(piece, piece is not pieces[-1]) for piece in pieces]
            if number == line:
                self.row = min(first + before // columns, len(self.rows) - 1)
                self.column = before - columns * (self.row - first)

    @property
    def lines(self) -> list[str]:
        """Return all rows, also those that have scrolled away, without empty ones at the end."""
        texts = [row.text.rstrip() for row in self.rows]
        while texts and not texts[-1]:
            texts.pop()
        return texts

    def _write(self, text: str) -> None:
        for character in text:
            if self.column >= self.columns:
                self.rows[self.row].goes_on = True
                self.column = 0
                self._line_feed()
            row = self.rows[self.row]
            padded = row.text.ljust(self.column)
            row.text = padded[: self.column] + character + padded[self.column + 1 :]
            self.column += 1

    def _line_feed(self) -> None:
        self.row += 1
        if self.row == len(self.rows):
            self.rows.append(_Row())

    def _control(self, argument: str, command: str) -> None:
        if command == "A":
            top = max(0, len(self.rows) - self.height)
            self.row = max(top, self.row - int(argument or 1))
        elif (argument, command) == ("2", "K"):
            self.rows[self.row] = _Row()
        elif (argument, command) in (("?25", "h"), ("?25", "l")):
            self.has_cursor = command == "h"
        else:
            assert command == "m", f"unknown: {argument}{command}"
