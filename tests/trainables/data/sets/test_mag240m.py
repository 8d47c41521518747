import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from orchestrator.data import DataFolders, find_data
from orchestrator.errors import DataError
from tests.trainables.data.conftest import assert_named, state
from trainables.data.formats.arrays import Array
from trainables.data.formats.conversion import MANIFEST
from trainables.data.formats.graph_store import GraphStore
from trainables.data.formats.ogb_loader import quiet_ogb
from trainables.data.formats.plain_pickle import plain_globals
from trainables.data.formats.relational_store import RelationalStore
from trainables.data.sets.mag240m import MAG240M, Mag240m
from trainables.data.sets.mag_synthetic import MAG_SYNTHETIC

SMALL = MAG_SYNTHETIC.at("2e-5")
FEATURES, LABELS = "processed/paper/node_feat.npy", "processed/paper/node_label.npy"
CITES = "processed/paper___cites___paper/edge_index.npy"
WRITES = "processed/author___writes___paper/edge_index.npy"
AFFILIATED = "processed/author___affiliated_with___institution/edge_index.npy"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> DataFolders:
    cache = tmp_path_factory.mktemp("cache")
    return DataFolders(root=cache, cache=cache)


@pytest.fixture(scope="module")
def layout(shared: DataFolders) -> Path:
    return SMALL.layout(shared)


@pytest.fixture(scope="module")
def store(shared: DataFolders) -> RelationalStore:
    return RelationalStore.open(SMALL.prepare(shared).path)


@pytest.fixture
def broken(layout: Path, tmp_path: Path) -> Path:
    """A copy of the layout that a test may break."""
    return shutil.copytree(layout, tmp_path / "root" / "mag240m_kddcup2021")


def test_ogbs_class_reads_what_is_generated(layout: Path) -> None:
    with quiet_ogb(), plain_globals():
        from ogb.lsc import MAG240MDataset

        dataset = MAG240MDataset(str(layout.parent))
        splits = dataset.get_idx_split()
    assert dataset.num_papers == 2435
    assert dataset.num_paper_features == dataset.paper_feat.shape[1] == 768
    assert dataset.paper_feat.dtype == np.float16
    assert dataset.paper_label.shape == dataset.paper_year.shape == (2435,)
    assert sorted(splits) == ["test-challenge", "test-dev", "test-whole", "train", "valid"]
    assert not np.isnan(dataset.paper_label[splits["train"]]).any()
    assert dataset.paper_year[splits["train"]].max() < dataset.paper_year[splits["valid"]].min()
    assert dataset.edge_index("author", "paper").shape[0] == 2
    assert dataset.edge_index("author", "institution")[1].max() < dataset.num_institutions
    assert dataset.edge_index("paper", "paper").max() < dataset.num_papers


def test_every_relation_is_there_in_both_directions(store: RelationalStore, layout: Path) -> None:
    found = edges_of(store)
    offsets = {kind.name: kind.offset for kind in store.schema.node_types}
    for number, relation in enumerate(store.schema.relations):
        name = relation.name.removeprefix("rev_")
        ends = (relation.source, relation.target)
        if relation.name != name:
            ends = ends[::-1]
        rows = np.load(layout / f"processed/{ends[0]}___{name}___{ends[1]}/edge_index.npy")
        given = set(zip(rows[0] + offsets[ends[0]], rows[1] + offsets[ends[1]], strict=True))
        if relation.name != name:
            given = {(target, source) for source, target in given}
        if name == "cites":
            given |= {(target, source) for source, target in given}
        assert found[number] == given, relation
    assert store.num_relations == 5


def edges_of(store: RelationalStore) -> list[set[tuple[int, int]]]:
    targets = np.repeat(np.arange(store.num_nodes), np.diff(store.indptr))
    found = []
    for relation in range(store.num_relations):
        of_it = store.edge_type == relation
        found.append(set(zip(store.indices[of_it], targets[of_it], strict=True)))
    return found


def test_authors_and_institutions_have_means(store: RelationalStore, layout: Path) -> None:
    papers = np.load(layout / FEATURES)
    assert np.array_equal(store.features[2478:], papers)
    writes, affiliated = (np.load(layout / name) for name in (WRITES, AFFILIATED))
    authors = means(writes[0], papers[writes[1]], writes, 2448)
    assert np.allclose(store.features[:2448], authors, atol=2e-3)
    of_authors = store.features[:2448]
    institutions = means(affiliated[1], of_authors[affiliated[0]], affiliated, 30)
    assert np.allclose(store.features[2448:2478], institutions, atol=2e-3)


def means(groups: Array, rows: Array, edges: Array, number: int) -> Array:
    """Mean of ``rows`` in each group, each distinct edge once."""
    _, once = np.unique(edges, axis=1, return_index=True)
    sums, counts = np.zeros((number, rows.shape[1])), np.zeros((number, 1))
    np.add.at(sums, groups[once], rows[once].astype(np.float64))
    np.add.at(counts, groups[once], 1)
    return sums / np.maximum(counts, 1)


def test_splits_are_those_of_the_set(store: RelationalStore, layout: Path) -> None:
    with plain_globals():
        splits = torch.load(layout / "split_dict.pt", weights_only=True)
    ours: dict[str, Array | None] = {
        "train": store.train,
        "valid": store.val,
        "test-whole": store.test,
    }
    ours |= {"test-dev": store.test_dev, "test-challenge": store.test_challenge}
    for name, nodes in ours.items():
        assert nodes is not None
        assert np.array_equal(nodes, splits[name] + 2478), name
    assert (store.labels[store.train] >= 0).all()


def test_generated_sets_do_without_ogb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with a GPU may have only torch; it reads the same."""
    small, folders = MAG_SYNTHETIC.at("1e-5"), DataFolders(root=tmp_path, cache=tmp_path)
    through_ogb = Mag240m(folder=small.layout(folders)).prepare(folders)
    monkeypatch.setitem(sys.modules, "ogb", None)
    assert small.prepare(folders).fingerprint == through_ogb.fingerprint


def test_names_and_scales() -> None:
    assert MAG_SYNTHETIC.name == "mag-synthetic"
    assert MAG_SYNTHETIC.at("0.01").name == "mag-synthetic@0.01"
    assert MAG_SYNTHETIC.embedded
    full = MAG_SYNTHETIC.at("1").size
    assert (full.num_papers, full.num_authors) == (121_751_666, 122_383_112)
    assert (full.num_institutions, full.num_classes) == (25_721, 153)


def test_a_folder_in_the_layout(broken: Path, folders: DataFolders) -> None:
    assert not MAG240M.present(DataFolders(root=folders.cache, cache=folders.cache))
    assert MAG240M.present(folders)
    by_path = find_data([MAG240M, MAG_SYNTHETIC], str(broken))
    assert by_path == find_data([MAG240M], str(broken.parent)) == Mag240m(folder=broken)
    before = state(folders.root)
    data = by_path.prepare(folders)
    assert data.name.startswith("mag240m-like-")
    assert data.name == by_path.name_in(folders)
    assert state(folders.root) == before
    assert MAG240M.prepare(folders) == data


def test_absent(folders: DataFolders, no_network: None) -> None:
    with pytest.raises(DataError, match="mag240m: there is no folder") as error:
        MAG240M.prepare(folders)
    assert "167 GB" in error.value.hint


Break = Callable[[Path], object]


def change(name: str, edit: Callable[[Array], Array | None]) -> Break:
    """Load an array, edit it in place or by a function that returns another, and save it."""

    def breaks(folder: Path) -> None:
        array = np.load(folder / name)
        edited = edit(array)
        np.save(folder / name, array if edited is None else edited)

    return breaks


def put(name: str, place: int | tuple[int, int], value: float) -> Break:
    return change(name, lambda array: array.__setitem__(place, value))


def resave(name: str, edit: Callable[[dict[str, Any]], dict[str, Any]]) -> Break:
    def breaks(folder: Path) -> None:
        with plain_globals():
            given = torch.load(folder / name, weights_only=True)
        torch.save(edit(given), folder / name)

    return breaks


def cut(name: str) -> Break:
    return lambda folder: os.truncate(folder / name, (folder / name).stat().st_size // 2)


def without_test(splits: dict[str, Any]) -> dict[str, Any]:
    return {name: splits[name] for name in ("train", "valid", "test-whole")}


class Mischief:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, ("made-by-a-pickle",)


FAULTS: dict[str, tuple[Break, str]] = {
    "truncated features": (cut(FEATURES), "node_feat.npy is damaged: "),
    "too few features": (
        change(FEATURES, lambda array: array[:-1]),
        "node_feat.npy: shape 2434 x 768\n",
    ),
    "labels that are text": (
        change(LABELS, lambda array: array.astype("U4")),
        "node_label.npy holds <U4\n  expected numbers",
    ),
    "an edge to nowhere": (put(CITES, (1, 42), 2435), "edge_index.npy: row 1, edge[42]: node 2435"),
    "another name of a relation": (
        lambda folder: (folder / WRITES).parent.rename(
            folder / "processed" / "author___write___paper"
        ),
        "has no relation 'author___writes___paper'; did you mean 'author___write___paper'?",
    ),
    "counts that disagree": (
        resave("meta.pt", lambda meta: {**meta, "paper": 2000}),
        "meta.pt says there are 2000 papers",
    ),
    "more institutions than an edge has room for": (
        resave("meta.pt", lambda meta: {**meta, "institution": 2**40}),
        "meta.pt gives 1,099,511,632,659 nodes\n  allowed: at most 536,870,911",
    ),
    "code in the splits": (
        resave("split_dict.pt", lambda splits: {**splits, "train": Mischief()}),
        "split_dict.pt holds posix.mkdir: refused, nothing of it was run",
    ),
    "a split that overlaps": (
        resave("split_dict.pt", lambda splits: {**splits, "valid": splits["train"][:9]}),
        "split_dict.pt: valid[0]: node ",
    ),
    "no test split": (resave("split_dict.pt", without_test), "split_dict.pt names no test papers"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_named(broken: Path, folders: DataFolders, fault: str) -> None:
    assert_named(FAULTS[fault], MAG240M, broken, folders)
    assert not Path("made-by-a-pickle").exists()


def test_test_papers_may_have_no_labels(broken: Path, folders: DataFolders) -> None:
    """MAG240M itself has none."""
    with plain_globals():
        test = torch.load(broken / "split_dict.pt", weights_only=True)["test-whole"]
    change(LABELS, lambda array: array.__setitem__(test, np.nan))(broken)
    store = RelationalStore.open(MAG240M.prepare(folders).path)
    assert (store.labels[store.test] == -1).all()


def test_a_store_of_another_kind(shared: DataFolders, store: RelationalStore) -> None:
    with pytest.raises(DataError, match="holds relational data, not a graph"):
        GraphStore.open(store.folder)
    (shared.cache / "empty").mkdir()
    with pytest.raises(DataError, match=f"it has no {MANIFEST}"):
        RelationalStore.open(shared.cache / "empty")
