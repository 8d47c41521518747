from __future__ import annotations

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
from trainables.data.formats.arrays import Array, release
from trainables.data.formats.conversion import MANIFEST
from trainables.data.formats.graph_store import GraphStore
from trainables.data.formats.ogb_loader import quiet_ogb
from trainables.data.formats.plain_pickle import plain_globals
from trainables.data.formats.relational_store import RelationalStore
from trainables.data.sets.mag240m import MAG240M, Mag240m
from trainables.data.sets.mag_synthetic import MAG_SYNTHETIC
from trainables.data.sets.ogb_hetero import OGBN_AIFB

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


def test_nodes_of_all_types_share_one_space(store: RelationalStore, layout: Path) -> None:
    assert [(kind.name, kind.offset) for kind in store.schema.node_types] == [
        ("author", 0), ("institution", 2448), ("paper", 2478)
    ]  # fmt: skip
    assert store.num_nodes == 2448 + 30 + 2435
    assert store.schema.target == "paper"
    labels = np.load(layout / LABELS)
    assert np.array_equal(store.labels[2478:], np.where(np.isnan(labels), -1, labels))
    assert (store.labels[:2478] == -1).all()
    assert store.num_classes == store.labels.max() + 1


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
    assert store.features is not None
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


def test_is_mapped_and_shared(store: RelationalStore) -> None:
    tensors = store.tensors()
    assert tensors.features is not None
    assert tensors.features.data_ptr() == store.features.ctypes.data  # type: ignore[union-attr]
    assert tensors.features.dtype == torch.float16
    graph = store.dgl_graph()
    indptr, indices, _ = graph.adj_tensors("csc")
    assert indptr.data_ptr() == store.indptr.ctypes.data
    assert indices.data_ptr() == store.indices.ctypes.data
    assert graph.formats()["created"] == ["csc"]


def test_edge_types_of_a_sampled_block(store: RelationalStore) -> None:
    import dgl

    sampler = dgl.dataloading.NeighborSampler([5, 10])
    tensors = store.tensors()
    _, _, blocks = sampler.sample_blocks(store.dgl_graph(), tensors.train[:200])
    for block in blocks:
        types = tensors.edge_type[block.edata[dgl.EID]]
        sources, targets = (ends.numpy() for ends in block.edges())
        sources = block.srcdata[dgl.NID].numpy()[sources]
        targets = block.dstdata[dgl.NID].numpy()[targets]
        kinds = np.digitize(sources, [2448, 2478]), np.digitize(targets, [2448, 2478])
        names = ["author", "institution", "paper"]
        for relation, source, target in zip(types.tolist(), *kinds, strict=True):
            expected = store.schema.relations[relation]
            assert (names[source], names[target]) == (expected.source, expected.target)


def test_features_can_be_given_back(store: RelationalStore) -> None:
    assert store.features is not None
    before = store.features.sum(dtype=np.float64)
    resident = resident_kib(store.folder / "features.npy")
    assert resident > 5000
    release(store.features)
    assert resident_kib(store.folder / "features.npy") == 0
    assert store.features.sum(dtype=np.float64) == before


def resident_kib(file: Path) -> int:
    within, total = False, 0
    for line in Path("/proc/self/smaps").read_text().splitlines():
        key, _, rest = line.partition(" ")
        if not key.endswith(":"):
            within = line.endswith(str(file))
        elif within and key == "Rss:":
            total += int(rest.split()[0])
    return total


def test_a_classifier_needs_the_neighbours(store: RelationalStore) -> None:
    assert store.features is not None
    own = store.features.astype(np.float32)
    targets = np.repeat(np.arange(store.num_nodes), np.diff(store.indptr))
    near = np.zeros_like(own)
    np.add.at(near, targets, own[store.indices])
    near /= np.maximum(np.diff(store.indptr), 1)[:, None]
    alone, together = accuracy(store, own), accuracy(store, near)
    assert together > alone + 0.15
    assert together > 3 / store.num_classes


def accuracy(store: RelationalStore, inputs: Array) -> float:
    """Return the accuracy of the class whose mean over the training nodes is nearest."""
    labels = store.labels[store.train]
    centres = np.stack(
        [inputs[store.train[labels == kind]].mean(0) for kind in range(store.num_classes)]
    )
    nodes = np.concatenate([store.val, store.test])
    scores = inputs[nodes] @ centres.T - (centres**2).sum(1) / 2
    return float((scores.argmax(1) == store.labels[nodes]).mean())


def test_is_the_same_every_time(tmp_path: Path) -> None:
    folders = [DataFolders(root=tmp_path, cache=tmp_path / name) for name in "ab"]
    small = MAG_SYNTHETIC.at("1e-5")
    first, second = (small.prepare(each) for each in folders)
    assert first.path != second.path
    assert first.fingerprint == second.fingerprint
    assert first.facts == second.facts


def test_generated_sets_do_without_ogb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with a GPU may have torch alone; what it reads is the same."""
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
    for wrong in ("0", "2", "nan", "big"):
        with pytest.raises(DataError, match="is no scale"):
            MAG_SYNTHETIC.at(wrong)


def test_a_folder_in_the_layout(broken: Path, folders: DataFolders) -> None:
    assert not MAG240M.present(DataFolders(root=folders.cache, cache=folders.cache))
    assert MAG240M.present(folders)
    by_path = find_data([MAG240M, MAG_SYNTHETIC], str(broken))
    assert by_path == find_data([MAG240M], str(broken.parent)) == Mag240m(folder=broken)
    before = state(folders.root)
    data = by_path.prepare(folders)
    assert data.name.startswith("mag240m-like-")
    assert data.name == by_path.headers(folders).name
    assert state(folders.root) == before
    assert MAG240M.prepare(folders) == data


def test_absent(folders: DataFolders, no_network: None) -> None:
    with pytest.raises(DataError, match="mag240m: there is no folder") as error:
        MAG240M.prepare(folders)
    assert "167 GB" in error.value.hint


def test_asks_nothing_where_the_release_is_not_named(
    broken: Path, folders: DataFolders, monkeypatch: pytest.MonkeyPatch
) -> None:
    (broken / "RELEASE_v1.txt").unlink()
    monkeypatch.setattr("builtins.input", lambda *_: pytest.fail("asked a question"))
    assert MAG240M.prepare(folders).facts["relations"] == 5


def test_a_folder_that_is_something_else(tmp_path: Path) -> None:
    (tmp_path / "mag240m_kddcup2022").mkdir()
    with pytest.raises(DataError, match="did you mean 'mag240m_kddcup2022'"):
        MAG240M.at(str(tmp_path))


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
    "no features": (lambda folder: (folder / FEATURES).unlink(), "node_feat.npy is missing"),
    "truncated features": (cut(FEATURES), "node_feat.npy is damaged: "),
    "features in single precision": (
        change(FEATURES, lambda array: array.astype(np.float32)),
        "node_feat.npy holds float32\n  expected float16",
    ),
    "too few features": (
        change(FEATURES, lambda array: array[:-1]),
        "node_feat.npy: shape 2434 x 768\n",
    ),
    "NaN": (put(FEATURES, (1234, 5), np.nan), "node_feat.npy: paper[1234]: column 6 is nan"),
    "a label too large": (put(LABELS, 77, 40.0), "node_label.npy: item[77]: label 40.0 does not"),
    "a label between two classes": (
        put(LABELS, 77, 1.5),
        "node_label.npy: item[77]: label 1.5 is not whole",
    ),
    "labels that are text": (
        change(LABELS, lambda array: array.astype("U4")),
        "node_label.npy holds <U4\n  expected numbers",
    ),
    "no label to learn from": (
        change(LABELS, lambda array: array.fill(np.nan)),
        "split_dict.pt has it in 'train'\n  every paper to train on",
    ),
    "an edge to nowhere": (put(CITES, (1, 42), 2435), "edge_index.npy: row 1, edge[42]: node 2435"),
    "edges of three ends": (
        change(CITES, lambda array: np.concatenate([array, array[:1]])),
        "edge_index.npy: int64 of shape 3 x ",
    ),
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
    "fewer authors than edges name": (
        resave("meta.pt", lambda meta: {**meta, "author": 10}),
        "edge_index.npy: row 0, edge[",
    ),
    "no number of papers": (
        resave("meta.pt", lambda meta: {**meta, "paper": "many"}),
        "meta.pt: 'paper' is 'many'\n  'paper' must be a whole number, 1 or more",
    ),
    "more institutions than an edge has room for": (
        resave("meta.pt", lambda meta: {**meta, "institution": 2**40}),
        "meta.pt gives 1,099,511,632,659 nodes\n  allowed: at most 536,870,911",
    ),
    "code in the counts": (
        resave("meta.pt", lambda meta: {**meta, "author": Mischief()}),
        "meta.pt holds posix.mkdir: refused, nothing of it was run",
    ),
    "code in the splits": (
        resave("split_dict.pt", lambda splits: {**splits, "train": Mischief()}),
        "split_dict.pt holds posix.mkdir: refused, nothing of it was run",
    ),
    "code in the labels": (
        lambda folder: np.save(folder / LABELS, np.full(2435, Mischief()), allow_pickle=True),
        "node_label.npy is damaged: ",
    ),
    "a split that overlaps": (
        resave("split_dict.pt", lambda splits: {**splits, "valid": splits["train"][:9]}),
        "split_dict.pt: valid[0]: node ",
    ),
    "a split of papers that do not exist": (
        resave("split_dict.pt", lambda splits: {**splits, "valid": np.array([2435])}),
        "split_dict.pt: valid[0]: node 2435 does not exist\n  allowed: 0 to 2434",
    ),
    "an empty split": (
        resave("split_dict.pt", lambda splits: {**splits, "train": splits["train"][:0]}),
        "split_dict.pt: 'train' is empty",
    ),
    "no test split": (
        resave("split_dict.pt", without_test),
        "split_dict.pt names no test papers",
    ),
    "a half of the test split that overlaps": (
        resave("split_dict.pt", lambda splits: {**splits, "test-dev": splits["train"][:5]}),
        "split_dict.pt: test-dev[0]: node ",
    ),
    "two halves that are the same": (
        resave(
            "split_dict.pt", lambda splits: {**splits, "test-challenge": splits["test-dev"][:5]}
        ),
        "is also in 'test-dev'",
    ),
    "a half that is no part of the whole": (
        resave("split_dict.pt", lambda splits: {**splits, "test-whole": splits["test-dev"]}),
        "split_dict.pt: test-challenge[0]: node ",
    ),
    "more classes than papers": (
        resave("meta.pt", lambda meta: {**meta, "num_classes": 2**40}),
        "meta.pt: 'num_classes' is 1099511627776\n  allowed: at most 2435, the number of papers",
    ),
    "a split of fractions": (
        resave("split_dict.pt", lambda splits: {**splits, "train": np.array([0.5])}),
        "split_dict.pt: 'train' is no array of whole numbers",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_named(broken: Path, folders: DataFolders, fault: str) -> None:
    assert_named(FAULTS[fault], MAG240M, broken, folders)
    assert not Path("made-by-a-pickle").exists()


def test_counts_may_be_numpys(broken: Path, layout: Path, folders: DataFolders) -> None:
    resave("meta.pt", lambda meta: {name: np.int64(count) for name, count in meta.items()})(broken)
    found = MAG240M.prepare(folders)
    again = Mag240m(folder=layout).prepare(folders)
    assert found.fingerprint == again.fingerprint


def test_an_older_release_of_the_splits(broken: Path, folders: DataFolders) -> None:
    """It had one test split, which OGB's class halves."""
    resave(
        "split_dict.pt",
        lambda splits: {
            "train": splits["train"],
            "valid": torch.from_numpy(splits["valid"]),
            "test": splits["test-whole"],
        },
    )(broken)
    store = RelationalStore.open(MAG240M.prepare(folders).path)
    assert store.test_dev is not None
    assert store.test_challenge is not None
    assert len(store.test_dev) + len(store.test_challenge) == len(store.test)


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


def test_the_first_set_finds_either_layout(test_data: Path) -> None:
    found = find_data([MAG240M, OGBN_AIFB], str(test_data / "ogb" / "ogbn_aifb"))
    assert found.name == "ogbn-aifb"
