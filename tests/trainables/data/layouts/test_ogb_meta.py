"""Descriptions of sets in OGB's layouts: OGB's list, the folder's own, and classes by labels."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from orchestrator.errors import DataError
from trainables.data.layouts.ogb_meta import Meta, numbered, read_meta, split_folder

UNDESCRIBED = Meta(split="", num_classes=None, both_ways=False)


def test_a_public_set_is_described_by_ogb_s_list_without_importing_ogb(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "ogb.nodeproppred", raising=False)
    meta = read_meta(tmp_path, hetero=False, public="ogbn-products")
    assert meta == Meta(split="sales_ranking", num_classes=47, both_ways=True)
    assert "ogb.nodeproppred" not in sys.modules


def test_the_folder_s_own_description_goes_before_the_list(tmp_path: Path) -> None:
    (tmp_path / "meta_dict.json").write_text(json.dumps({"num classes": 5}))
    meta = read_meta(tmp_path, hetero=False, public="ogbn-products")
    assert meta == Meta(split="", num_classes=5, both_ways=False)


def test_without_either_nothing_is_said(tmp_path: Path) -> None:
    assert read_meta(tmp_path, hetero=True, public=None) == UNDESCRIBED


def test_a_split_is_the_one_asked_for_then_the_described_then_the_only_one(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="split is missing or empty"):
        split_folder(tmp_path, UNDESCRIBED)
    (tmp_path / "split/random").mkdir(parents=True)
    described = Meta(split="time", num_classes=None, both_ways=False)
    assert split_folder(tmp_path, described, "mine").name == "mine"
    assert split_folder(tmp_path, described).name == "time"
    assert split_folder(tmp_path, UNDESCRIBED).name == "random"


def test_classes_are_numbered_only_where_their_number_is_not_described() -> None:
    labels, file = np.array([7, -1, 3, 7]), Path("labels")
    found, num_classes = numbered(labels, UNDESCRIBED, file)
    assert (found.tolist(), num_classes) == ([1, -1, 0, 1], 2)
    described = Meta(split="", num_classes=9, both_ways=False)
    kept, num_classes = numbered(labels, described, file)
    assert (kept.tolist(), num_classes) == ([7, -1, 3, 7], 9)
    with pytest.raises(DataError, match="labels:2: label -3 does not exist"):
        numbered(np.array([7, -3]), UNDESCRIBED, file)


@pytest.mark.parametrize("split", ["/etc", "../split", ".", "..", "a\0b", "\ud800", "x" * 300, 3])
def test_a_split_leads_nowhere_else(tmp_path: Path, split: object) -> None:
    (tmp_path / "meta_dict.json").write_text(json.dumps({"split": split}))
    with pytest.raises(DataError, match="expected the name of a folder in split"):
        read_meta(tmp_path, hetero=False, public=None)


def test_a_count_of_thousands_of_digits_is_refused(tmp_path: Path) -> None:
    (tmp_path / "meta_dict.json").write_text(json.dumps({"num classes": "9" * 5000}))
    with pytest.raises(DataError, match="expected a whole number, 1 or more"):
        read_meta(tmp_path, hetero=False, public=None)
