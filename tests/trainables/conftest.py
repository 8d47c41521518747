"""Data that the tests of several trainables share."""

import shutil
from pathlib import Path

import pytest

from trainables.data.sets.ogbn_products import OGBN_PRODUCTS, OgbGraph


@pytest.fixture(scope="session")
def photo(test_data: Path, tmp_path_factory: pytest.TempPathFactory) -> OgbGraph:
    """The Amazon Photo graph in ogbn-products' layout."""
    root = tmp_path_factory.mktemp("data")
    shutil.copytree(
        test_data / "ogb" / "ogbn_products", root / "ogbn_products", copy_function=shutil.copyfile
    )
    return OGBN_PRODUCTS.at(str(root / "ogbn_products"))
