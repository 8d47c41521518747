"""Conversion of a data set: once a node, at the first request, and never half."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import msgspec

from orchestrator.data import PreparedData
from orchestrator.errors import DataError
from orchestrator.system.disk import open_lock

MANIFEST = "manifest.json"
FORMAT = 1
"""Version of the layout of converted sets; part of every signature."""

_LOCK = "lock"
_BUILDING = ".building-"


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """Description of a converted set, its ``manifest.json``.

    Attributes:
        format: Version of the layout.
        kind: ``graph``, ``relational`` or ``images``.
        name: Value of ``data`` in the trials table.
        fingerprint: Hash of the files.
        facts: Counts: nodes, edges, classes and so on.
        source: The folder that it was converted from, or how it was made.
        files: Size of each file in bytes, by its path within the folder.
    """

    format: int
    kind: str
    name: str
    fingerprint: str
    facts: Mapping[str, int]
    source: str
    files: Mapping[str, int]

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        """The manifest of a converted set.

        Raises:
            DataError: ``folder`` contains none, or one of another format.
        """
        path = folder / MANIFEST
        try:
            manifest = msgspec.json.decode(path.read_bytes(), type=cls)
        except FileNotFoundError:
            raise DataError(
                f"{folder} is not a converted data set: it has no {MANIFEST}",
                "open the folder that a data set's prepare() returns",
            ) from None
        except NotADirectoryError:
            raise DataError(f"{folder} is no folder") from None
        except (ValueError, TypeError, RecursionError, OSError) as error:
            raise DataError(f"{path} is damaged: {error}", f"remove {folder}") from None
        if manifest.format != FORMAT:
            raise DataError(f"{path}: format {manifest.format}, this program reads {FORMAT}")
        return manifest

    def whole(self, folder: Path) -> bool:
        """Return True if all files are there, at their size."""
        try:
            return all((folder / name).stat().st_size == n for name, n in self.files.items())
        except OSError:
            return False


@dataclass(frozen=True, kw_only=True)
class Conversion:
    """One source of data, and where its converted form is kept.

    Attributes:
        name: Value of ``data`` in the trials table.
        kind: Kind of store that it becomes.
        source: The folder that it is converted from, or how it is made.
        key: Folder in the cache, the same for all states of the source.
        signature: Hash of what the source looks like now. See :func:`signature_of`.
    """

    name: str
    kind: str
    source: str
    key: str
    signature: str

    def folder(self, cache: Path) -> Path:
        """Folder that the converted set is in, or will be."""
        return cache / "data" / self.key / self.signature

    def found(self, cache: Path) -> PreparedData | None:
        """Return the converted set if it is there, whole; under the name it was converted with."""
        return _found(self.folder(cache))

    def prepare(self, cache: Path, build: Callable[[Path], Mapping[str, int]]) -> PreparedData:
        """The converted set; ``build`` makes it where it is not there yet.

        One process builds, in a folder that is renamed when it is complete; others wait.
        The next conversion removes what an interrupted one left.

        Args:
            cache: Folder that this node's converted sets are kept in.
            build: Called with an empty folder to write ``.npy`` files to; returns facts.

        Raises:
            DataError: From ``build``, or the cache cannot be written.
        """
        folder = self.folder(cache)
        try:
            # No lock is needed: a folder has this name only once it is complete.
            if (found := _found(folder)) is not None:
                return found
            with _locked(folder.parent):
                # Looked for again: another process may have built it while this one waited.
                return _found(folder) or self._build(folder, build)
        except OSError as error:
            raise _cannot_convert(self.name, cache, error) from error

    def _build(self, folder: Path, build: Callable[[Path], Mapping[str, int]]) -> PreparedData:
        _clear(folder.parent)
        # In the folder of its final place: only within a file system is a rename one step.
        building = folder.parent / f"{_BUILDING}{os.getpid()}"
        building.mkdir()
        try:
            facts = build(building)
            self._describe(building, facts)
            # The last step, so that no reader takes a part for the whole.
            building.rename(folder)
        finally:
            shutil.rmtree(building, ignore_errors=True)
        found = _found(folder)
        assert found is not None, "what was just built is whole"
        return found

    def _describe(self, folder: Path, facts: Mapping[str, int]) -> None:
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        manifest = Manifest(
            format=FORMAT,
            kind=self.kind,
            name=self.name,
            fingerprint=content_hash(folder, files),
            facts=dict(facts),
            source=self.source,
            files={str(path.relative_to(folder)): path.stat().st_size for path in files},
        )
        (folder / MANIFEST).write_text(json.dumps(asdict(manifest), indent=1))


def cache_of(folder: Path) -> Path:
    """The cache that a converted set's ``folder`` is in: the inverse of `Conversion.folder`."""
    return folder.parents[2]


def signature_of(folder: Path, files: Iterable[Path], *, version: int) -> str:
    """Hash of the names, sizes and times of a source's files: cheap, no content is read.

    Args:
        folder: The folder that the names are relative to.
        files: The files; one that is absent counts as absent.
        version: Version of the code that converts them.
    """
    digest = hashlib.blake2b(f"{FORMAT} {version}".encode(), digest_size=8)
    for file in files:
        try:
            stat = file.stat()
            state = f"{stat.st_size} {stat.st_mtime_ns}"
        except (FileNotFoundError, NotADirectoryError):
            state = "absent"
        digest.update(f"\n{file.relative_to(folder)} {state}".encode())
    return digest.hexdigest()


def content_hash(folder: Path, files: Iterable[Path]) -> str:
    """Hash of the paths within ``folder`` and the content of ``files``: 16 hex digits."""
    digest = hashlib.blake2b(digest_size=8)
    for path in files:
        with path.open("rb") as file:
            content = hashlib.file_digest(file, hashlib.blake2b).hexdigest()
        digest.update(f"{path.relative_to(folder)} {content}\n".encode())
    return digest.hexdigest()


def path_key(path: Path) -> str:
    """A short name for a folder, the same in every process."""
    return hashlib.blake2b(str(path.resolve()).encode(), digest_size=4).hexdigest()


def _found(folder: Path) -> PreparedData | None:
    try:
        manifest = Manifest.read(folder)
    except DataError:
        return None
    if not manifest.whole(folder):
        return None
    return PreparedData(
        name=manifest.name, path=folder, fingerprint=manifest.fingerprint, facts=manifest.facts
    )


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """The only builder of what is in ``folder``; the kernel frees the lock if it dies."""
    folder.mkdir(parents=True, exist_ok=True)
    with os.fdopen(open_lock(folder / _LOCK), "rb") as lock:
        # It waits as long as the build takes: the set is of use to both.
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _clear(folder: Path) -> None:
    """Remove what was interrupted, is damaged, or was converted from an older source."""
    for entry in folder.iterdir():
        # With a new lock file two processes could each have a lock, on different files.
        if entry.name != _LOCK:
            shutil.rmtree(entry, ignore_errors=True)


def _cannot_convert(name: str, cache: Path, error: OSError) -> DataError:
    file = Path(os.fsdecode(error.filename)) if error.filename else cache
    hint = ""
    if file.is_relative_to(cache):
        hint = "converted data is kept there; set SWEEP_CACHE to a folder with room"
    return DataError(f"{name} cannot be converted: {file}: {error.strerror}", hint)
