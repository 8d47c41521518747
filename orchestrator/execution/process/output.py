"""Output of a trial: as much of its file as is worth keeping, however much there is."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

MOST_BYTES: Final = 64 * 2**10
"""Bytes kept from the beginning of an output, and the same number from its end."""


def output_of(path: Path) -> str:
    """Return an output file as text; for a long file, its first and last 64 KiB.

    It is empty if there is no file, or the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size <= 2 * MOST_BYTES:
                return file.read(2 * MOST_BYTES).decode(errors="replace")
            first = file.read(MOST_BYTES).decode(errors="replace")
            file.seek(size - MOST_BYTES)
            last = file.read(MOST_BYTES).decode(errors="replace")
    except OSError:
        return ""
    return f"{first}\n... {size - 2 * MOST_BYTES:,} bytes are left out here ...\n{last}"


def tail_of(path: Path, num_lines: int = 20) -> str:
    """Return the last lines of an output file; empty where there is none."""
    return "\n".join(output_of(path).splitlines()[-num_lines:])
