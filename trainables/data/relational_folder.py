"""A folder of a relational graph that a user names: which layout is it in?"""

from __future__ import annotations

from orchestrator.data import DataSet
from trainables.data.folders import existing_folder, something_else
from trainables.data.mag240m_layout import FOLDER, META
from trainables.data.ogb_hetero_layout import TRIPLETS


def relational_at(given: str) -> DataSet:
    """The set in a folder, in MAG240M's layout or in OGB's heterogeneous one.

    Args:
        given: Its own folder, or the one that holds ``mag240m_kddcup2021``.

    Raises:
        DataError: There is no such folder, or it is something else.
    """
    from trainables.data.mag240m import Mag240m
    from trainables.data.ogb_hetero import OgbHetero

    folder = existing_folder(given)
    for candidate in (folder, folder / FOLDER):
        if (candidate / META).is_file():
            return Mag240m(folder=candidate)
    if (folder / TRIPLETS).is_file():
        return OgbHetero(name=folder.name.replace("_", "-"), folder=folder)
    raise something_else(folder, [FOLDER, META, TRIPLETS])
