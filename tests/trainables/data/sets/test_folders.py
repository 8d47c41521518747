"""Folders that a user names, and the error's description of other content."""

from pathlib import Path

import pytest

from orchestrator.errors import DataError
from trainables.data.formats.naming import folder_name, public_name
from trainables.data.sets.folders import (
    existing_folder,
    folder_and_part,
    set_folder,
    something_else,
)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "data" / "mnist" / "raw").mkdir(parents=True)
    (tmp_path / "data" / "mnist" / "raw" / "a.gz").touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("given", ["data", "data/mnist/raw"])
def test_a_set_is_found_in_its_own_folder_or_above_it(root: Path, given: str) -> None:
    assert set_folder(given, ["mnist/raw"], holds="*.gz") == root / "data/mnist/raw"


def test_a_folder_that_is_not_there_is_named_with_the_nearest(root: Path) -> None:
    with pytest.raises(DataError, match=r"there is no folder .*/dato.*did you mean 'data'"):
        existing_folder("dato")


def test_a_folder_of_something_else_is_refused_with_what_was_found(root: Path) -> None:
    error = something_else(root / "data", ["mnisd"])
    assert "holds none of 'mnisd'" in str(error)
    assert "did you mean 'mnist'" in str(error)
    assert error.hint == "found there: mnist"
    assert something_else(root / "data/mnist/raw", ["b"]).hint == "found there: a.gz"


def test_a_part_follows_the_last_at_sign_unless_that_is_the_folder_s_name(root: Path) -> None:
    assert folder_and_part("data@letters") == ("data", "letters")
    assert folder_and_part("data") == ("data", "")
    (root / "me@home").mkdir()
    assert folder_and_part("me@home") == ("me@home", "")
    assert folder_and_part("me@home@letters") == ("me@home", "letters")


PRODUCTS = {"nodes": 2_449_029, "edges": 61_859_140}


def test_a_public_set_is_known_by_its_counts_alone() -> None:
    assert public_name(PRODUCTS) == "ogbn-products"
    assert public_name({**PRODUCTS, "nodes": 7650}) is None
    assert public_name({"nodes": 2_449_029}) is None


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("/data/my_shop", "my-shop"),
        ("/data/KMNIST/raw", "KMNIST"),
        ("/data/kannada/MNIST/raw", "kannada"),
        ("/data/letters/gzip", "letters"),
        ("/data/ogbn_products", "ogbn-products-like-9-nodes"),
        ("/data/mnist/MNIST/raw", "mnist-like-9-nodes"),
        ("/data/mag240m_kddcup2021", "mag240m-like-9-nodes"),
        ("/data/digits", "digits-like-9-nodes"),
        ("/raw", "raw"),
    ],
)
def test_a_folder_names_a_set_but_never_as_a_known_one(folder: str, name: str) -> None:
    assert folder_name(Path(folder), size="9-nodes") == name
