from __future__ import annotations

import json
import mmap
from pathlib import Path

import numpy as np
import pytest
import torch

from orchestrator.data import DataFolders
from orchestrator.errors import DataError
from tests.trainables.data.formats.csc_graphs import compressed
from trainables.data.formats.conversion import MANIFEST
from trainables.data.formats.graph_store import ARRAYS, GraphStore
from trainables.data.sets.digits import DIGITS
from trainables.data.sets.products_synthetic import PRODUCTS_SYNTHETIC


@pytest.fixture
def store(folders: DataFolders) -> GraphStore:
    return GraphStore.open(folder_of(folders))


def folder_of(folders: DataFolders) -> Path:
    return PRODUCTS_SYNTHETIC.at("0.001").prepare(folders).path


def test_in_edges_of_a_node() -> None:
    #     0 -> 1, 2 -> 1, 3 -> 0, twice 1 -> 3
    sources, targets = np.array([2, 0, 3, 1, 1]), np.array([1, 1, 0, 3, 3])
    indptr, indices = compressed(sources, targets, 4)
    assert indptr.tolist() == [0, 1, 3, 3, 5]
    assert indices.tolist() == [3, 0, 2, 1, 1]


def test_tensors_share_the_memory_of_the_map(store: GraphStore) -> None:
    tensors = store.tensors()
    for name in ARRAYS:
        array = getattr(store, name)
        assert getattr(tensors, name).data_ptr() == array.ctypes.data, name
        assert isinstance(array.base, mmap.mmap), name


def test_the_graph_shares_the_memory_of_the_map(store: GraphStore) -> None:
    graph = store.dgl_graph()
    indptr, indices, _ = graph.adj_tensors("csc")
    assert indptr.data_ptr() == store.indptr.ctypes.data
    assert indices.data_ptr() == store.indices.ctypes.data
    assert graph.formats()["created"] == ["csc"]
    assert graph.formats()["not created"] == []
    assert (graph.num_nodes(), graph.num_edges()) == (store.num_nodes, store.num_edges)


def test_the_graph_has_the_edges_of_the_arrays(store: GraphStore) -> None:
    graph = store.dgl_graph()
    for node in (0, 7, store.num_nodes - 1):
        expected = store.indices[store.indptr[node] : store.indptr[node + 1]]
        sources, targets = graph.in_edges(node)
        assert sources.tolist() == expected.tolist()
        assert set(targets.tolist()) == {node}


def test_sampling_with_workers_gives_neighbours(store: GraphStore) -> None:
    from dgl.dataloading import DataLoader, NeighborSampler

    seeds = store.tensors().train
    loader = DataLoader(
        store.dgl_graph(), seeds, NeighborSampler([3, 5]), batch_size=100, num_workers=2
    )
    num_seeds = 0
    for inputs, outputs, blocks in loader:
        num_seeds += len(outputs)
        block = blocks[1]
        sources, targets = (ends[:50] for ends in block.edges())
        pairs = zip(block.srcdata["_ID"][sources], block.dstdata["_ID"][targets], strict=True)
        for source, target in pairs:
            assert source in store.indices[store.indptr[target] : store.indptr[target + 1]]
        assert store.tensors().features[inputs].shape == (len(inputs), store.num_features)
    assert num_seeds == len(seeds)


def test_writing_stays_in_this_process(folders: DataFolders) -> None:
    first, second = (GraphStore.open(folder_of(folders)) for _ in range(2))
    before = float(second.features[0, 0])
    first.features[0, 0] = before + 1
    assert second.features[0, 0] == before
    assert GraphStore.open(folder_of(folders)).features[0, 0] == before


def test_opening_reads_no_data(folders: DataFolders) -> None:
    """A hole of 8 GiB in the features opens as fast as any file, and takes no memory."""
    folder = folder_of(folders)
    rows = 2**33 // 400
    header = {"descr": "<f4", "fortran_order": False, "shape": (rows, 100)}
    with (folder / "features.npy").open("wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        file.truncate(file.tell() + rows * 400)
    store = GraphStore.open(folder)
    assert store.features.shape == (rows, 100)
    assert resident_mib(folder) < 1


def resident_mib(folder: Path) -> float:
    within, total_kib = False, 0
    for line in Path("/proc/self/smaps").read_text().splitlines():
        key, _, rest = line.partition(" ")
        if not key.endswith(":"):
            within = str(folder) in line
        elif within and key == "Rss:":
            total_kib += int(rest.split()[0])
    return total_kib / 1024


def test_a_folder_that_is_no_store(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"is not a converted data set: it has no manifest\.json"):
        GraphStore.open(tmp_path)


def test_a_store_of_something_else(folders: DataFolders) -> None:
    with pytest.raises(DataError, match="holds images data, not a graph"):
        GraphStore.open(DIGITS.prepare(folders).path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, r"indices\.npy is missing"),
        (b"", r"indices\.npy is damaged"),
        (b"\x93NUMPY\x01\x00", r"indices\.npy is damaged"),
        (b"nonsense, and more of it", r"indices\.npy is damaged"),
    ],
)
def test_a_damaged_array(folders: DataFolders, content: bytes | None, message: str) -> None:
    folder = folder_of(folders)
    (folder / "indices.npy").unlink()
    if content is not None:
        (folder / "indices.npy").write_bytes(content)
    with pytest.raises(DataError, match=message) as error:
        GraphStore.open(folder)
    assert str(folder) in error.value.hint


def test_a_pickle_in_an_array_is_not_executed(folders: DataFolders) -> None:
    folder = folder_of(folders)
    np.save(folder / "labels.npy", np.array([print], dtype=object), allow_pickle=True)
    with pytest.raises(DataError, match=r"labels\.npy is damaged"):
        GraphStore.open(folder)


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"format": 1}'])
def test_a_damaged_manifest(folders: DataFolders, text: str) -> None:
    folder = folder_of(folders)
    (folder / MANIFEST).write_text(text)
    with pytest.raises(DataError, match=r"manifest\.json is damaged"):
        GraphStore.open(folder)


def test_another_format(folders: DataFolders) -> None:
    path = folder_of(folders) / MANIFEST
    path.write_text(json.dumps({**json.loads(path.read_text()), "format": 99}))
    with pytest.raises(DataError, match="format 99, this program reads 1"):
        GraphStore.open(path.parent)


def test_torch_takes_the_arrays_without_a_warning(
    store: GraphStore, recwarn: pytest.WarningsRecorder
) -> None:
    assert store.tensors().features.dtype == torch.float32
    assert store.tensors().indptr.dtype == store.tensors().labels.dtype == torch.int64
    assert not recwarn.list
