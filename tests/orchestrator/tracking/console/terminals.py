"""A pseudo-terminal, and what is written to it."""

import os
import pty
import re
import struct
import subprocess
import termios
from collections.abc import Callable, Sequence
from contextlib import suppress
from fcntl import ioctl
from threading import Condition, Thread
from typing import Any

import pyte

COLUMNS, ROWS = 80, 24
_MARK = "\x1b]0;read to here\x07"
"""Sets a terminal's title; nothing else here does."""
_WHOLE = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]")


class Terminal:
    """A pseudo-terminal that remembers what was written to it, and what that looks like."""

    def __init__(self, columns: int = COLUMNS, rows: int = ROWS) -> None:
        self._master, self._keyboard = pty.openpty()
        self._got = bytearray()
        self._has_more = Condition()
        self._screen = pyte.HistoryScreen(columns, rows, history=1000, ratio=1e-9)
        self._fed = pyte.Stream(self._screen)
        self.stream = os.fdopen(self._keyboard, "w")
        self.written = ""
        ioctl(self._keyboard, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        # In a thread: the writer to an unread terminal waits.
        self._reader = Thread(target=self._read_on, daemon=True)
        self._reader.start()

    @property
    def has_cursor(self) -> bool:
        """True while the cursor is shown."""
        return not self._screen.cursor.hidden

    @property
    def lines(self) -> list[str]:
        """All rows, also those that have scrolled away, without empty ones at the end."""
        columns = range(self._screen.columns)
        above = ["".join(row[at].data for at in columns) for row in self._screen.history.top]
        rows = [row.rstrip() for row in (*above, *self._screen.display)]
        while rows and not rows[-1]:
            rows.pop()
        return rows

    def seen(self) -> list[str]:
        """Return the lines that the user sees by now."""
        self.read()
        return self.lines

    def read(self) -> str:
        """Return all that was written since the last time: up to a mark of our own."""
        self.stream.write(_MARK)
        self.stream.flush()
        with self._has_more:
            found = self._has_more.wait_for(lambda: self._got.endswith(_MARK.encode()), 10.0)
            assert found, f"no mark after {bytes(self._got)!r}"
            new = self._got.decode().removesuffix(_MARK)
            self._got.clear()
        self.written += new
        self._fed.feed(new)
        return new

    def start(self, command: Sequence[str], **options: Any) -> subprocess.Popen[bytes]:  # noqa: ANN401
        """Start a command with this as its terminal, as a shell does."""
        return subprocess.Popen(
            command,
            stdin=self._keyboard,
            stdout=self._keyboard,
            stderr=self._keyboard,
            start_new_session=True,
            preexec_fn=lambda: ioctl(0, termios.TIOCSCTTY, 0),
            **options,
        )

    def type(self, characters: str) -> None:
        """Type on the keyboard: ``\\x03`` is Ctrl-C."""
        os.write(self._master, characters.encode())

    def watched(self) -> list[str]:
        """Return the lines that the user sees of a command that continues to write."""
        with self._has_more:
            # A sequence or a character may have come in part.
            end = len(self._got)
            if (start := self._got.rfind(b"\x1b")) >= 0 and not _WHOLE.match(self._got, start):
                end = start
            new = self._got[:end].decode(errors="ignore")
            del self._got[: len(new.encode())]
        self.written += new
        self._fed.feed(new)
        return self.lines

    def close(self) -> None:
        self.stream.close()
        self._reader.join(10.0)
        os.close(self._master)

    def _read_on(self) -> None:
        with suppress(OSError):  # the other end was closed
            while data := os.read(self._master, 65536):
                with self._has_more:
                    self._got += data
                    self._has_more.notify()


def plain(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)


def last_view(terminal: Terminal, tick: Callable[[], None]) -> list[str]:
    """Return the lines that one tick draws."""
    terminal.read()
    tick()
    return [line.rstrip() for line in plain(terminal.read()).splitlines() if line.strip()]
