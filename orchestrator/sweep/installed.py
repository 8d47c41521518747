"""Modules that a trainable's processes import: there, or else said before anything starts."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any, Final

from orchestrator.errors import SweepError
from orchestrator.trainable import IF_POSSIBLE, Trainable

_EXTRAS: Final[Mapping[str, str]] = {
    "dgl": "graphs",
    "ogb": "graphs",
    "torchvision": "vision",
    "sklearn": "vision",
}
"""Extra of our distribution that brings a module."""


def require_modules(trainable: Trainable[Any]) -> None:
    """Check that the modules to preload can be found; only the top one of each is looked for.

    Raises:
        SweepError: One of them cannot.
    """
    names = [name for name in trainable.preload if not name.startswith(IF_POSSIBLE)]
    for top in dict.fromkeys(name.partition(".")[0] for name in names):
        if top not in sys.modules and find_spec(top) is None:
            raise SweepError(
                f"{trainable.name} preloads {top}, which is not installed here", _how_to_get(top)
            )


def _how_to_get(module: str) -> str:
    if module == "dgl" and sys.version_info >= (3, 12):
        python = f"{sys.version_info.major}.{sys.version_info.minor}"
        return f"DGL has no wheel for Python {python}: take Python 3.11"
    if module in _EXTRAS:
        return f"install the extra: pip install 'THE_WHEEL[{_EXTRAS[module]}]'; docs/install.md"
    return f"install it for {sys.executable}, or take it out of preload"
