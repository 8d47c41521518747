"""OGB's own loaders, without questions, output, or files next to their input."""

from __future__ import annotations

import io
import os
import sys
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from orchestrator.errors import DataError
from trainables.data.formats.downloads import arriving
from trainables.data.formats.packages import needing


@contextmanager
def quiet_ogb(*, progress: bool = False) -> Iterator[None]:
    """A block in which ``ogb`` may be imported and used.

    When imported it starts a thread that asks a package registry for its newest release
    and sets a variable; its loaders print to standard output. None of that is left.

    Args:
        progress: Show what it prints, on standard error.
    """
    shown: IO[str] = sys.stderr if progress else io.StringIO()
    os.environ.setdefault("DGLBACKEND", "pytorch")  # without it DGL writes a config file
    ignore = os.environ.get("OUTDATED_IGNORE")
    with redirect_stdout(shown), redirect_stderr(shown):
        _import_without_asking()
        _restore("OUTDATED_IGNORE", ignore)
        yield


def _import_without_asking() -> None:
    if "ogb" in sys.modules:
        return
    hidden = {"outdated": sys.modules.get("outdated")}
    sys.modules["outdated"] = None  # type: ignore[assignment] # makes its import fail
    try:
        with needing("ogb", "reading OGB's layouts"):
            import ogb  # noqa: F401
    finally:
        del sys.modules["outdated"]
        sys.modules.update({name: module for name, module in hidden.items() if module})


def _restore(name: str, value: str | None) -> None:
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value


def link_layout(source: Path, folder: Path, files: Iterable[str], *, version: int) -> None:
    """Make a folder in OGB's layout with links as files, for a loader to write into.

    Args:
        source: The real folder, which may be read-only.
        folder: The folder to make.
        files: Files to link, relative to ``source``; folders are linked whole.
        version: Version of the release. Without its file OGB's loaders ask a question.
    """
    (folder / "processed").mkdir(parents=True)
    (folder / f"RELEASE_v{version}.txt").touch()
    for name in files:
        link = folder / name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to((source / name).resolve())


@dataclass(frozen=True, kw_only=True)
class Release:
    """Place of a set at OGB.

    Attributes:
        url: Address of its archive.
        folder: The folder in the archive.
    """

    url: str
    folder: str


def node_set_release(name: str) -> Release:
    """Return the release of a node-property set, from OGB's own list."""
    with quiet_ogb():
        from ogb import nodeproppred
    import pandas as pd

    listed = pd.read_csv(Path(nodeproppred.__file__).parent / "master.csv", index_col=0)
    return Release(url=str(listed[name]["url"]), folder=str(listed[name]["download_name"]))


def download_set(name: str, release: Release, target: Path) -> None:
    """Download a set with OGB's own functions, but without their question.

    Progress is shown on standard error.

    Args:
        name: For messages.
        release: Its address and folder.
        target: Name of its folder, which appears when it is complete.

    Raises:
        DataError: It cannot be downloaded or written.
    """
    with quiet_ogb(progress=True), arriving(name, target.parent) as incoming:
        from ogb.utils.url import download_url, extract_zip

        archive = download_url(release.url, str(incoming))
        try:
            extract_zip(archive, str(incoming))
        except zipfile.BadZipFile as error:
            raise DataError(f"what {release.url} gave is no zip archive: {error}") from error
        (incoming / release.folder).rename(target)
