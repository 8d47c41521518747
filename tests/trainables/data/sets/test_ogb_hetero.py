import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from orchestrator.data import DataFolders
from orchestrator.errors import DataError
from tests.trainables.data.conftest import assert_named, copied, edit, pack, replaced, state
from trainables.data.formats.ogb_loader import quiet_ogb
from trainables.data.formats.relational_store import RelationalStore
from trainables.data.sets.ogb_hetero import OGBN_AIFB, OGBN_MAG, OgbHetero

SPLIT = "split/published/entity"
EDGES = "raw/relations/entity___r05___entity/edge.csv.gz"


@pytest.fixture
def aifb(test_data: Path, tmp_path: Path) -> Path:
    """A writable copy of a small real set in OGB's heterogeneous layout."""
    return copied(test_data / "ogb" / "ogbn_aifb", tmp_path / "root" / "ogbn_aifb")


def test_equals_what_ogbs_loader_loads(
    test_data: Path, aifb: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reference is OGB's loader on a copy, with the folder set as in its data notes."""
    with quiet_ogb():
        from ogb.nodeproppred import DglNodePropPredDataset

    meta = {**json.loads((aifb / "meta_dict.json").read_text()), "dir_path": str(aifb)}
    (aifb / "RELEASE_v1.txt").touch()
    (aifb / "processed").mkdir(exist_ok=True)
    loaded = DglNodePropPredDataset("ogbn-aifb", meta_dict=meta)
    graph, labels = loaded[0]
    splits = loaded.get_idx_split()

    folders = DataFolders(root=test_data / "ogb", cache=tmp_path / "cache")
    data = OGBN_AIFB.prepare(folders)
    store = RelationalStore.open(data.path)

    assert data.name == "ogbn-aifb"
    assert store.features is None
    assert store.num_features == 0
    assert (store.num_nodes, store.num_classes) == (8285, 4)
    assert np.array_equal(store.labels, labels["entity"][:, 0].numpy())
    for ours, theirs in (("train", "train"), ("val", "valid"), ("test", "test")):
        assert getattr(store, ours).tolist() == splits[theirs]["entity"].tolist()
    assert store.num_relations == len(graph.canonical_etypes) == 90  # it comes with inverses
    targets = np.repeat(np.arange(store.num_nodes), np.diff(store.indptr))
    for number, relation in enumerate(store.schema.relations):
        triplet = (relation.source, relation.name, relation.target)
        expected = set(zip(*(ends.tolist() for ends in graph.edges(etype=triplet)), strict=True))
        of_it = store.edge_type == number
        assert set(zip(store.indices[of_it], targets[of_it], strict=True)) == expected


def test_writes_nothing_to_its_input_folder_and_prints_nothing(
    aifb: Path, folders: DataFolders, capfd: pytest.CaptureFixture[str], no_network: None
) -> None:
    before = state(folders.root)
    first = OGBN_AIFB.prepare(folders)
    assert OGBN_AIFB.prepare(folders) == first
    assert state(folders.root) == before
    assert capfd.readouterr() == ("", "")


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """Five books, three people and two towns: only books have features; no inverses."""
    folder = tmp_path / "root" / "ogbn_library"
    pack(folder / "raw/num-node-dict.csv.gz", "book,person,town", "5,3,2")
    relations = {
        ("person", "reads", "book"): ["0,0", "0,1", "1,2", "2,4"],
        ("person", "lives_in", "town"): ["0,0", "1,0", "2,1"],
        ("book", "like", "book"): ["0,1", "1,0", "2,3", "3,2"],  # its own inverse
    }
    pack(folder / "raw/triplet-type-list.csv.gz", *(",".join(triplet) for triplet in relations))
    for triplet, edges in relations.items():
        home = folder / "raw/relations" / "___".join(triplet)
        pack(home / "edge.csv.gz", *edges)
        pack(home / "num-edge-list.csv.gz", str(len(edges)))
    pack(
        folder / "raw/node-feat/book/node-feat.csv.gz",
        *(f"{number}.0,{10 * number}.5" for number in range(5)),
    )
    pack(folder / "raw/nodetype-has-label.csv.gz", "book,person,town", "True,False,False")
    pack(folder / "raw/node-label/book/node-label.csv.gz", "0", "1", "0", "1", "-1")
    pack(folder / "split/random/nodetype-has-split.csv.gz", "book,person,town", "True,False,False")
    for number, name in enumerate(("train", "valid", "test")):
        pack(folder / f"split/random/book/{name}.csv.gz", str(number))
    meta = {"is hetero": "True", "binary": "False", "task type": "multiclass classification"}
    meta |= {"split": "random", "num classes": "2"}
    (folder / "meta_dict.json").write_text(json.dumps(meta))
    return folder


LIBRARY = OgbHetero(name="ogbn-library")


def test_inverses_are_added_where_there_are_none(library: Path, folders: DataFolders) -> None:
    store = RelationalStore.open(LIBRARY.prepare(folders).path)
    assert [(kind.name, kind.offset) for kind in store.schema.node_types] == [
        ("book", 0), ("person", 5), ("town", 8)
    ]  # fmt: skip
    names = [relation.name for relation in store.schema.relations]
    assert sorted(names) == ["like", "lives_in", "reads", "rev_lives_in", "rev_reads"]
    rev_reads = names.index("rev_reads")
    assert store.schema.relations[rev_reads].source == "book"
    into_first_person = slice(store.indptr[5], store.indptr[6])
    pairs = zip(store.indices[into_first_person], store.edge_type[into_first_person], strict=True)
    assert set(pairs) == {(0, rev_reads), (1, rev_reads), (8, names.index("rev_lives_in"))}


def test_types_without_features_have_means(library: Path, folders: DataFolders) -> None:
    store = RelationalStore.open(LIBRARY.prepare(folders).path)
    books = np.array([[n, 10 * n + 0.5] for n in range(5)])
    people = np.array([books[[0, 1]].mean(0), books[2], books[4]])
    towns = np.array([people[[0, 1]].mean(0), people[2]])
    assert np.allclose(store.features, np.concatenate([books, people, towns]))
    assert store.features.dtype == np.float32


def test_the_first_relation_leads_from_features(library: Path, folders: DataFolders) -> None:
    raw = library / "raw"
    shutil.rmtree(raw / "relations/person___reads___book")
    pack(raw / "relations/book___borrowed_by___person/edge.csv.gz", "0,0", "1,0", "2,1", "4,2")
    pack(raw / "relations/book___borrowed_by___person/num-edge-list.csv.gz", "4")
    edit(raw / "triplet-type-list.csv.gz", lambda rows: ["book,borrowed_by,person", *rows[1:]])
    store = RelationalStore.open(LIBRARY.prepare(folders).path)
    assert store.schema.relations[0].name == "borrowed_by"
    assert np.allclose(store.features[5:8, 0], [0.5, 2.0, 4.0])  # the people


def test_types_that_nothing_leads_to(library: Path, folders: DataFolders) -> None:
    shutil.rmtree(library / "raw/relations/person___lives_in___town")
    edit(
        library / "raw/triplet-type-list.csv.gz", lambda rows: [r for r in rows if "town" not in r]
    )
    with pytest.raises(DataError, match="no features for nodes of type town"):
        LIBRARY.prepare(folders)


def test_without_a_description_split_and_classes_are_found(
    library: Path, folders: DataFolders
) -> None:
    (library / "meta_dict.json").unlink()
    data = LIBRARY.prepare(folders)
    assert (data.name, data.facts["classes"], data.facts["val"]) == ("ogbn-library", 2, 1)


def test_of_several_splits_the_named_one_is_taken(library: Path, folders: DataFolders) -> None:
    (library / "meta_dict.json").unlink()
    shutil.copytree(library / "split/random", library / "split/time")
    pack(library / "split/time/book/valid.csv.gz", "3")
    timed = OGBN_AIFB.at(f"{library}@time").prepare(folders)
    assert RelationalStore.open(timed.path).val.tolist() == [3]


def test_absent(folders: DataFolders, no_network: None) -> None:
    for data in (OGBN_MAG, OGBN_AIFB):
        assert not data.present(folders)
        with pytest.raises(DataError, match=f"{data.name}: there is no folder"):
            data.prepare(folders)
    assert "--download" in OGBN_MAG.how_to_get
    assert "--download" not in OGBN_AIFB.how_to_get
    with pytest.raises(DataError, match="there is no folder"):
        OGBN_AIFB.prepare(folders, download=True)


Break = Callable[[Path], object]


def in_file(name: str, change: Callable[[list[str]], list[str]]) -> Break:
    return lambda folder: edit(folder / name, change)


def with_meta(**changed: object) -> Break:
    def breaks(folder: Path) -> None:
        path = folder / "meta_dict.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **changed}))

    return breaks


FAULTS: dict[str, tuple[Break, str]] = {
    "a node that does not exist": (
        in_file(EDGES, replaced(2, "0,8285")),
        "edge.csv.gz:2: entity node 8285 does not exist\n  allowed: 0 to 8284",
    ),
    "a relation without a folder": (
        lambda folder: (folder / EDGES).parent.rename(
            folder / "raw/relations/entity___r5___entity"
        ),
        "relation 'entity___r05___entity' is in ",
    ),
    "a relation that is there twice": (
        in_file("raw/triplet-type-list.csv.gz", lambda rows: [*rows, rows[4]]),
        "triplet-type-list.csv.gz:91: 'entity,r02,entity' is there twice",
    ),
    "no labels": (
        in_file("raw/nodetype-has-label.csv.gz", replaced(2, "False")),
        "nodetype-has-label.csv.gz: nodes with labels are of type none",
    ),
    "a split that overlaps": (
        in_file(f"{SPLIT}/test.csv.gz", replaced(2, "5759")),
        "test.csv.gz:2: node 5759 is also in 'train'",
    ),
    "another split": (with_meta(split="time"), "split/time/entity/train.csv.gz is missing"),
    "a damaged meta": (
        lambda folder: (folder / "meta_dict.json").write_text("{"),
        "meta_dict.json is damaged",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_named(aifb: Path, folders: DataFolders, fault: str) -> None:
    assert_named(FAULTS[fault], OGBN_AIFB, aifb, folders)


def features_of(library: Path, rows: list[str]) -> Path:
    path = library / "raw/node-feat/book/node-feat.csv.gz"
    pack(path, *rows)
    return path


# OGB reads 1e99 as a float32.
@pytest.mark.filterwarnings("default:overflow encountered in cast:RuntimeWarning")
@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (["1,2"] * 4, r"node-feat\.csv\.gz has 4 rows, .*num-node-dict\.csv\.gz says 5"),
        (["1,2"] * 4 + ["1,nan"], r"node-feat\.csv\.gz:5: 'nan' is not a finite number"),
        (["1,2"] * 4 + ["1,2-3"], r"node-feat\.csv\.gz:5: '2-3' is not a finite number"),
        (["1,2"] * 4 + ["1,1e99"], r"node-feat\.csv\.gz:5: column 2 is inf"),
    ],
)
def test_faulty_features(
    library: Path, folders: DataFolders, rows: list[str], message: str
) -> None:
    features_of(library, rows)
    with pytest.raises(DataError, match=message):
        LIBRARY.prepare(folders)
