"""Energy of the CPU packages, by their own counters (RAPL, through Linux' powercap)."""

from __future__ import annotations

from pathlib import Path
from typing import Final

POWERCAP: Final = Path("/sys/class/powercap")
_PACKAGES: Final = "intel-rapl:[0-9]*"
"""AMD's packages have the same name. A second colon is a part of a package, counted with it."""


class PackageEnergy:
    """Energy of this node's CPU packages since it was first read, but for the gaps.

    The counters are the whole node's, of everything that runs on it, and since Linux 5.10 root
    alone may read them. Where one cannot be read nothing is known.

    Args:
        root: Folder of the counters.
    """

    def __init__(self, root: Path = POWERCAP) -> None:
        self._zones = [p for p in sorted(root.glob(_PACKAGES)) if p.name.count(":") == 1]
        self._last: list[int] | None = None
        self._total_uj = 0

    @property
    def joules(self) -> float | None:
        """Return the energy so far; None where it cannot be read."""
        return None if self._last is None else self._total_uj / 1e6

    def read(self, *, skip: bool = False) -> None:
        """Add what was used since the last reading.

        Args:
            skip: True after a gap that does not count.
        """
        try:
            now = [int((zone / "energy_uj").read_text()) for zone in self._zones]
            ranges = [int((zone / "max_energy_range_uj").read_text()) for zone in self._zones]
        except (OSError, ValueError):
            self._zones, self._last = [], None
            return
        if self._last is not None and not skip:
            # A counter goes back to 0 after its range: within minutes on a busy package.
            steps = zip(now, self._last, ranges, strict=True)
            self._total_uj += sum((new - old) % (most + 1) for new, old, most in steps)
        self._last = now if self._zones else None
