"""A pseudo-terminal, and what is written to it."""

from __future__ import annotations

import os
import pty
import re
import select
import struct
import termios
from collections.abc import Callable
from fcntl import ioctl

COLUMNS = 100
_MARK = "\x1b]0;read to here\x07"
"""What sets a terminal's title; nothing else here does."""


class Terminal:
    """A pseudo-terminal that remembers what was written to it."""

    def __init__(self) -> None:
        self._screen, keyboard = pty.openpty()
        ioctl(keyboard, termios.TIOCSWINSZ, struct.pack("HHHH", 40, COLUMNS, 0, 0))
        self.stream = os.fdopen(keyboard, "w")
        self.written = ""

    def read(self) -> str:
        """Return all that was written since the last time: up to a mark of our own."""
        self.stream.write(_MARK)
        self.stream.flush()
        new = ""
        while not new.endswith(_MARK):
            assert select.select([self._screen], [], [], 10.0)[0], f"no mark after {new!r}"
            new += os.read(self._screen, 65536).decode()
        new = new.removesuffix(_MARK)
        self.written += new
        return new

    def drain(self) -> None:
        """Take what is there, while another thread writes."""
        while select.select([self._screen], [], [], 0.1)[0]:
            os.read(self._screen, 65536)

    def close(self) -> None:
        self.stream.close()
        os.close(self._screen)


def plain(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)


def last_view(terminal: Terminal, tick: Callable[[], None]) -> list[str]:
    """Return the lines that one tick draws."""
    terminal.read()
    tick()
    return [line.rstrip() for line in plain(terminal.read()).splitlines() if line.strip()]
