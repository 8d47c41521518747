"""The executors by their name on the command line; ``driver/assembly.py`` makes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, kw_only=True)
class ExecutorKind:
    """An executor that the command line can name.

    Attributes:
        doc: Meaning, a few words of plain text.
        on_clusters: True where it runs trials on an existing cluster too.
        one_at_a_time: True where it never runs two trials at the same time.
        simulated: True where it plays recorded runs, and nothing is measured.
    """

    doc: str
    on_clusters: bool = False
    one_at_a_time: bool = False
    simulated: bool = False


DEFAULT_EXECUTOR: Final = "ray"

EXECUTORS: Final[Mapping[str, ExecutorKind]] = {
    "ray": ExecutorKind(doc="Ray Tune", on_clusters=True),
    "inline": ExecutorKind(doc="one trial after the other without it", one_at_a_time=True),
    "replay": ExecutorKind(doc="recorded runs on a simulated clock", simulated=True),
}
"""The executors by name. A new one is its file in ``execution``, its entry here and its maker."""
