"""Downloads, from a server on this machine that has what the real ones have."""

import http.server
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.data import DataFolders
from orchestrator.errors import DataError
from trainables.data.formats.ogb_loader import Release
from trainables.data.sets import mag240m, ogbn_products
from trainables.data.sets.mnist import MNIST
from trainables.data.sets.ogbn_products import OGBN_PRODUCTS


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A folder and the address that it is served under."""
    folder = tmp_path / "served"
    folder.mkdir()

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args: object) -> None:
            super().__init__(*args, directory=str(folder))  # type: ignore[arg-type]

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield folder, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def products_server(served: tuple[Path, str], monkeypatch: pytest.MonkeyPatch) -> tuple[Path, str]:
    folder, address = served
    url = f"{address}/products.zip"
    release = Release(url=url, folder="products")
    monkeypatch.setattr(ogbn_products, "node_set_release", lambda _: release)
    return folder / "products.zip", url


def test_ogbn_products(
    test_data: Path,
    products_server: tuple[Path, str],
    folders: DataFolders,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    archive, _ = products_server
    source = test_data / "ogb" / "ogbn_products"
    with zipfile.ZipFile(archive, "w") as file:
        for path in source.rglob("*"):
            file.write(path, Path("products") / path.relative_to(source))
    monkeypatch.setattr("builtins.input", lambda *_: pytest.fail("asked a question"))

    data = OGBN_PRODUCTS.prepare(folders, download=True)

    assert data.facts["nodes"] == 7650
    assert [path.name for path in folders.root.iterdir()] == ["ogbn_products"]
    assert OGBN_PRODUCTS.present(folders)
    captured = capfd.readouterr()
    assert captured.out == ""
    assert "Downloading http://127.0.0.1" in captured.err
    archive.unlink()
    assert OGBN_PRODUCTS.prepare(folders, download=True) == data


def test_ogb_names_mag240m_and_its_folder() -> None:
    release = mag240m._release()
    assert release.url.endswith(f"/{release.folder}.zip")
    assert release.folder == "mag240m_kddcup2021"


def test_what_is_not_there(products_server: tuple[Path, str], folders: DataFolders) -> None:
    with pytest.raises(DataError, match=r"ogbn-products cannot be downloaded to .*404") as error:
        OGBN_PRODUCTS.prepare(folders, download=True)
    assert "--data-root" in error.value.hint
    assert list(folders.root.iterdir()) == []
    assert not OGBN_PRODUCTS.present(folders)


def test_what_is_no_archive(products_server: tuple[Path, str], folders: DataFolders) -> None:
    archive, url = products_server
    archive.write_text("<html>please log in</html>")
    with pytest.raises(DataError, match=f"what {url} gave is no zip archive"):
        OGBN_PRODUCTS.prepare(folders, download=True)
    assert list(folders.root.iterdir()) == []


def test_mnist(
    test_data: Path,
    served: tuple[Path, str],
    folders: DataFolders,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    from torchvision import datasets

    folder, address = served
    for path in (test_data / "mnist" / "MNIST" / "raw").iterdir():
        (folder / path.name).symlink_to(path)
    monkeypatch.setattr(datasets.MNIST, "mirrors", [f"{address}/"])

    assert MNIST.prepare(folders, download=True).facts["train"] == 60_000

    assert [path.name for path in folders.root.iterdir()] == ["mnist"]
    assert (folders.root / "mnist/MNIST/raw/t10k-labels-idx1-ubyte.gz").is_file()
    assert capfd.readouterr().out == ""
