"""Generated sets, of a size that is a share of the real one's: ``name@0.1``."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from orchestrator.data import DataFolders
from orchestrator.errors import DataError


@dataclass(frozen=True, kw_only=True)
class GeneratedSet:
    """A data set that needs no file, ``name`` or ``name@SCALE``.

    Attributes:
        scale: Its size as a share of the real one's.
    """

    scale: float

    base_name: ClassVar[str]
    default_scale: ClassVar[float]
    smallest_scale: ClassVar[float]

    embedded = True
    how_to_get = "it is generated"

    @property
    def name(self) -> str:
        """With the scale, unless it is the default one."""
        is_default = self.scale == self.default_scale
        return self.base_name if is_default else f"{self.base_name}@{self.scale:g}"

    def at(self, variant: str) -> Self:
        """Another size.

        Raises:
            DataError: ``variant`` is no number from :attr:`smallest_scale` to 1.
        """
        try:
            scale = float(variant)
        except ValueError:
            scale = math.nan
        if not self.smallest_scale <= scale <= 1:
            raise DataError(
                f"{self.base_name}@{variant}: {variant!r} is no scale",
                f"allowed: a number from {self.smallest_scale:g} to 1, {self.base_name}@0.1 say",
            )
        return replace(self, scale=scale)

    def present(self, folders: DataFolders) -> bool:
        """Return True: the set is generated."""
        return True

    def name_in(self, folders: DataFolders) -> str:
        """Return its name. See :class:`orchestrator.data.DataSet`."""
        return self.name
