"""Names of sets: a public set's own where the counts are that set's, else the folder's."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

_PUBLIC: Final[Mapping[str, Mapping[str, int]]] = {
    "ogbn-products": {"nodes": 2_449_029, "edges": 61_859_140},
    "ogbn-arxiv": {"nodes": 169_343, "edges": 1_166_243},
    "ogbn-mag": {
        "author": 1_134_649, "field_of_study": 59_965, "institution": 8_740, "paper": 736_389,
    },
    "mag240m": {
        "papers": 121_751_666, "affiliations": 44_592_586, "writings": 386_022_720,
        "citations": 1_297_748_926,
    },
}  # fmt: skip
"""Counts in the files of a public set, which identify it."""

_TAKEN: Final = {*_PUBLIC, "mnist", "digits", "products-synthetic", "mag-synthetic"}
"""Names of known sets: none of them may come from a folder's name alone."""

_SAYS_NOTHING: Final = {"raw", "MNIST", "gzip", "processed"}
"""Folders that torchvision and archives make for any set; the folder above has the name."""
_ALIASES: Final = {"mag240m-kddcup2021": "mag240m"}


def public_name(counts: Mapping[str, int]) -> str | None:
    """Return the public set that has these counts, or None."""
    return next((name for name, known in _PUBLIC.items() if known == counts), None)


def folder_name(folder: Path, size: str) -> str:
    """Return the name of a set that is none of the known ones, from its folder's.

    Args:
        folder: The set's own.
        size: Size in words, like ``7650-nodes``; part of the name where the folder's is that of
            a known set, so that the two are not confused.
    """
    *above, last = folder.parts
    while above and last in _SAYS_NOTHING and above[-1] != folder.anchor:
        last = above.pop()
    name = last.replace("_", "-")
    name = _ALIASES.get(name.lower(), name)
    return f"{name.lower()}-like-{size}" if name.lower() in _TAKEN else name
