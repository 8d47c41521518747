"""Keeping the memory that mapped files take in a process within bounds."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from trainables.data.formats.arrays import Array, release

_STATUS = Path("/proc/self/status")
_MAPPED = re.compile(rb"RssFile:\s+(\d+) kB")


@dataclass(frozen=True)
class MappedMemory:
    """Arrays of files that may be larger than memory.

    The pages that a process reads of a mapped file count as its own until memory is short: then
    it is too late for other processes. The released pages stay in the page cache, so
    reading them again costs little as long as there is room.

    Attributes:
        arrays: The arrays, mapped.
        limit_bytes: How much of all mapped files may be in this process's memory.
    """

    arrays: Sequence[Array]
    limit_bytes: float

    def keep_within_limit(self) -> None:
        """Release the pages that were read of the arrays, if they have become too many."""
        if mapped_bytes() > self.limit_bytes:
            for array in self.arrays:
                release(array)


def mapped_bytes() -> int:
    """Bytes of mapped files, libraries among them, in this process's memory."""
    found = _MAPPED.search(_STATUS.read_bytes())
    assert found is not None, "Linux 4.5 and later says it"
    return int(found[1]) * 1024
