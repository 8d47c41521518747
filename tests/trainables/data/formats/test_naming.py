"""Names of sets: public ones by their counts, others by their folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from trainables.data.formats.naming import folder_name, public_name

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
