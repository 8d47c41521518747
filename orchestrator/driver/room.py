"""Room for a run's temporary files: without any, every further trial would fail."""

from __future__ import annotations

import errno
import time
from pathlib import Path
from typing import Final

LOOK_S: Final = 1.0
"""Least time between two looks, but for one that a failure asks for."""
_PROBE: Final = bytes(1 << 16)


class Room:
    """Looks whether the private folder of a run can be written to.

    Args:
        folder: The folder. It is not made again where it has gone: what trials need was in it.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._looked_at = float("-inf")

    def require(self, *, now: bool = False) -> None:
        """Check that there is room, now and then or ``now``.

        Raises:
            OSError: There is none, or the folder has gone. The run ends by it, and no trial has a
                row for it.
        """
        if not now and time.monotonic() < self._looked_at + LOOK_S:
            return
        self._looked_at = time.monotonic()
        probe = self._folder / ".room"
        try:
            probe.write_bytes(_PROBE)
        except FileNotFoundError:
            gone = "the folder of this run's temporary files has gone"
            raise FileNotFoundError(errno.ENOENT, gone, str(self._folder)) from None
        finally:
            probe.unlink(missing_ok=True)
