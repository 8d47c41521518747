"""Data sets by name, variant or folder."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from orchestrator.data import (
    DataFolders,
    DataHeaders,
    PreparedData,
    find_data,
    is_path,
)
from orchestrator.errors import DataError


@dataclass(frozen=True)
class Made:
    """Data set that is generated."""

    name: str
    variant: str = ""
    embedded: bool = True
    how_to_get: str = "it is generated"

    def at(self, variant: str) -> Made:
        return replace(self, variant=variant)

    def present(self, folders: DataFolders) -> bool:
        return True

    def headers(self, folders: DataFolders) -> DataHeaders:
        return DataHeaders(name=self.name)

    def prepare(self, folders: DataFolders, *, download: bool = False) -> PreparedData:
        assert not download
        return PreparedData(name=self.name, path=folders.cache / self.name, fingerprint="f")


SETS = (Made("products"), Made("digits"))


def test_a_set_is_found_by_name_with_or_without_a_variant() -> None:
    assert find_data(SETS, "digits") == Made("digits")
    assert find_data(SETS, "digits@0.1") == Made("digits", variant="0.1")


def test_a_folder_is_another_place_of_the_first_set(tmp_path: Path) -> None:
    assert is_path(SETS, str(tmp_path))
    assert find_data(SETS, str(tmp_path)) == Made("products", variant=str(tmp_path))


def test_an_unknown_name_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(DataError, match="unknown data 'digit'; did you mean 'digits'") as refused:
        find_data(SETS, "digit")
    assert refused.value.hint == "allowed: products, digits, or a folder"


def test_folders_come_from_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SWEEP_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("SWEEP_CACHE", str(tmp_path / "cache"))
    assert DataFolders.default() == DataFolders(root=tmp_path / "data", cache=tmp_path / "cache")
    assert DataFolders.default(tmp_path).root == tmp_path, "the command line's goes before"
