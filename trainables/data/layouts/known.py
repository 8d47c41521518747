"""Layouts of folders, known by a file in them: what a folder is, and which trainables take it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from orchestrator.errors import DataError


@dataclass(frozen=True, kw_only=True)
class Layout:
    """A layout of a data set's folder.

    Attributes:
        what: Its name in a message, with an article.
        marks: Patterns of files; a folder with one of them is in this layout.
        trainables: Names of those that take it.
    """

    what: str
    marks: Sequence[str]
    trainables: Sequence[str]

    def mark_in(self, folder: Path) -> str | None:
        """Return the first file in ``folder`` that shows the layout, relative to it, or None."""
        found = (path for mark in self.marks for path in sorted(folder.glob(mark)))
        return next((str(path.relative_to(folder)) for path in found), None)


HETEROGENEOUS: Final = Layout(
    what="a heterogeneous graph (several kinds of nodes or edges) in OGB's layout",
    marks=["raw/triplet-type-list.csv.gz"],
    trainables=["rgat"],
)
HOMOGENEOUS: Final = Layout(
    what="a homogeneous graph (one kind of nodes and edges) in OGB's layout",
    marks=["raw/edge.csv.gz", "raw/num-edge-list.csv.gz", "ogbn_products/raw/edge.csv.gz"],
    trainables=["graphsage", "node_embedding"],
)
MAG240M_FILES: Final = Layout(
    what="a heterogeneous graph in MAG240M's layout",
    marks=["meta.pt", "mag240m_kddcup2021/meta.pt"],
    trainables=["rgat"],
)
IMAGES: Final = Layout(
    what="images in MNIST's format",
    marks=[f"{place}*-idx?-ubyte*" for place in ("", "raw/", "MNIST/raw/", "mnist/MNIST/raw/")],
    trainables=["lenet", "mlp"],
)
LAYOUTS: Final = (HETEROGENEOUS, HOMOGENEOUS, MAG240M_FILES, IMAGES)


def refuse_others(folder: Path, *accepted: Layout) -> None:
    """Check that ``folder`` is in one of the ``accepted`` layouts, or in none that is known.

    Raises:
        DataError: It is in another; the message names it and the trainables that take it.
    """
    known = ((layout, layout.mark_in(folder)) for layout in LAYOUTS)
    found = {layout.what: (layout, mark) for layout, mark in known if mark is not None}
    if not found or any(layout.what in found for layout in accepted):
        return
    layout, mark = next(iter(found.values()))
    raise DataError(
        f"{folder} holds {layout.what}: it has {mark}",
        f"that is trained on by {' and '.join(layout.trainables)}; "
        f"here it must be {' or '.join(wanted.what for wanted in accepted)}",
    )
