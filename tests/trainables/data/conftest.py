import gzip
import shutil
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.data import DataFolders, DataSet
from orchestrator.errors import DataError


@pytest.fixture
def folders(tmp_path: Path) -> DataFolders:
    return DataFolders(root=tmp_path / "root", cache=tmp_path / "cache")


@pytest.fixture(scope="session")
def narrow_products(test_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Amazon Photo graph in ogbn-products' layout, with five features: 745 take seconds."""
    folder = tmp_path_factory.mktemp("narrow") / "ogbn_products"
    copied(test_data / "ogb" / "ogbn_products", folder)
    edit(
        folder / "raw/node-feat.csv.gz",
        lambda lines: [",".join(line.split(",", 5)[:5]) for line in lines],
    )
    return folder


@pytest.fixture
def ogb_products(narrow_products: Path, tmp_path: Path) -> Path:
    """A writable copy of a small real set in ogbn-products' layout."""
    return copied(narrow_products, tmp_path / "root" / "ogbn_products")


def copied(source: Path, target: Path) -> Path:
    """A copy of which a test may change files."""
    shutil.copytree(source, target, copy_function=shutil.copyfile)
    for path in (target, *target.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return target


def edit(path: Path, change: Callable[[list[str]], list[str]]) -> None:
    """Change the lines of a ``.csv.gz``."""
    pack(path, *change(gzip.decompress(path.read_bytes()).decode().splitlines()))


def pack(path: Path, *lines: str) -> None:
    """Write lines into a ``.csv.gz``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(f"{line}\n" for line in lines)
    path.write_bytes(gzip.compress(text.encode(), compresslevel=1))


def replaced(number: int, line: str) -> Callable[[list[str]], list[str]]:
    """Return a change of line ``number``, counted from 1."""
    return lambda lines: [*lines[: number - 1], line, *lines[number:]]


def truncated(path: Path) -> None:
    """Keep the first half of a file."""
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def state(folder: Path) -> dict[str, tuple[int, int]]:
    """Names, sizes and times of everything in a folder."""
    return {
        str(path.relative_to(folder)): (path.stat().st_size, path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
    }


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail every connection and name lookup."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a connection was tried")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


def assert_named(
    fault: tuple[Callable[[Path], object], str], data: DataSet, folder: Path, folders: DataFolders
) -> None:
    """Damage a set, and check that preparing it names the damage and leaves nothing prepared."""
    breaks, message = fault
    breaks(folder)
    with pytest.raises(DataError) as error:
        data.prepare(folders)
    assert message in str(error.value)
    assert str(folder) in str(error.value)
    assert {path.name for path in folders.cache.rglob("*") if path.is_file()} <= {"lock"}
