"""mag-synthetic: a generated set in MAG240M's own layout, read by the same code.

It has MAG240M's proportions of papers, authors, institutions and edges, and its 768
features, at any scale. No figure from it applies to papers. Small ones have more of
their papers labelled, in fewer classes, so that there is something to learn from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from orchestrator.data import DataFolders, PreparedData
from trainables.data.formats.conversion import Conversion
from trainables.data.layouts.mag240m import FOLDER
from trainables.data.sets.mag240m import prepare_layout
from trainables.data.sets.mag_generator import Size, write_layout
from trainables.data.sets.scales import GeneratedSet

_NAME = "mag-synthetic"
_VERSION = 1
_SEED = 0
_DEFAULT_SCALE = 1e-4
_SMALLEST_SCALE = 1e-5
_PAPERS, _AUTHORS, _INSTITUTIONS = 121_751_666, 122_383_112, 25_721
_FEWEST_INSTITUTIONS = 30
_LABELLED, _FEWEST_LABELLED, _LARGEST_SHARE = 0.0115, 5_000, 0.4
_CLASSES, _FEWEST_CLASSES, _PAPERS_OF_CLASS = 153, 4, 200


@dataclass(frozen=True, kw_only=True)
class MagSynthetic(GeneratedSet):
    """The data set ``mag-synthetic``, or ``mag-synthetic@SCALE``.

    Attributes:
        scale: Its size as a share of MAG240M's.
    """

    scale: float = _DEFAULT_SCALE

    base_name = _NAME
    default_scale = _DEFAULT_SCALE
    smallest_scale = _SMALLEST_SCALE

    def prepare(self, folders: DataFolders, *, download: bool = False) -> PreparedData:
        """Generate and convert it once. See :class:`orchestrator.data.DataSet`."""
        return prepare_layout(self.name, self.layout(folders), folders, with_ogb=False)

    def layout(self, folders: DataFolders) -> Path:
        """The generated folder in MAG240M's layout, as OGB's own class reads it."""
        conversion = Conversion(
            name=self.name,
            kind="mag240m-layout",
            source=f"generated, seed {_SEED}",
            key=f"{self.name}-layout-v{_VERSION}",
            signature=f"seed-{_SEED}",
        )
        return conversion.prepare(folders.cache, self._generate).path / FOLDER

    @property
    def size(self) -> Size:
        """Size of what is generated."""
        num_papers = round(_PAPERS * self.scale)
        labelled = min(_LARGEST_SHARE, max(_LABELLED, _FEWEST_LABELLED / num_papers))
        most_classes = int(num_papers * labelled) // _PAPERS_OF_CLASS
        return Size(
            num_papers=num_papers,
            num_authors=round(_AUTHORS * self.scale),
            num_institutions=max(round(_INSTITUTIONS * self.scale), _FEWEST_INSTITUTIONS),
            num_classes=min(_CLASSES, max(most_classes, _FEWEST_CLASSES)),
            labelled=labelled,
        )

    def _generate(self, folder: Path) -> Mapping[str, int]:
        write_layout(folder / FOLDER, self.size, _SEED)
        return {"papers": self.size.num_papers, "authors": self.size.num_authors}


MAG_SYNTHETIC = MagSynthetic()
