"""Small relational stores, and one with features larger than memory."""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

import numpy as np

from orchestrator.data import PreparedData
from trainables.data.formats.arrays import Array
from trainables.data.formats.conversion import FORMAT, MANIFEST, Manifest
from trainables.data.formats.relational_store import KIND, NodeType, Relation, Schema


def write_store(
    folder: Path, arrays: Mapping[str, Array], *, num_relations: int = 2, num_classes: int = 3
) -> PreparedData:
    """Write a store of one type of nodes.

    Args:
        folder: Made here; files that are there already stay as they are.
        arrays: By the names of the files; the length of ``indptr`` sets the number of nodes.
        num_relations: Number of relations.
        num_classes: Number of classes.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    num_nodes = len(np.load(folder / "indptr.npy", mmap_mode="r")) - 1
    relations = (
        Relation(source="thing", name=f"r{number}", target="thing")
        for number in range(num_relations)
    )
    schema = Schema(
        node_types=(NodeType(name="thing", offset=0, num_nodes=num_nodes),),
        relations=tuple(relations),
        target="thing",
        num_classes=num_classes,
    )
    schema.write(folder)
    files = {path.name: path.stat().st_size for path in folder.iterdir()}
    manifest = Manifest(
        format=FORMAT, kind=KIND, name="made", fingerprint="0", facts={}, source="", files=files
    )
    (folder / MANIFEST).write_text(json.dumps(asdict(manifest)))
    return PreparedData(name="made", path=folder, fingerprint="0")


def write_holes(file: Path, shape: tuple[int, ...], descr: str) -> None:
    """Write an array of zeros that takes no room: the file has holes instead."""
    with file.open("wb") as there:
        header = {"descr": descr, "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(there, header)
        num_bytes = int(np.prod(shape)) * np.dtype(descr).itemsize
        there.truncate(there.tell() + num_bytes)


def larger_than_memory(folder: Path, *, num_trained: int = 4096, degree: int = 60) -> PreparedData:
    """Features of 4 KiB a node, more than fit; the last nodes have neighbours anywhere."""
    memory_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    num_nodes = memory_bytes * 5 // 4 // 4096
    folder.mkdir(parents=True)
    write_holes(folder / "features.npy", (num_nodes, 2048), "<f2")
    write_holes(folder / "labels.npy", (num_nodes,), "<i8")
    write_holes(folder / "indptr.npy", (num_nodes + 1,), "<i8")
    indptr = np.load(folder / "indptr.npy", mmap_mode="r+")
    indptr[-num_trained:] = degree * np.arange(1, num_trained + 1)
    indptr.flush()
    rng = np.random.default_rng(0)
    num_edges = degree * num_trained
    last = np.arange(num_nodes - num_trained, num_nodes)
    arrays = {
        "indices": rng.integers(0, num_nodes - num_trained, num_edges),
        "edge_type": rng.integers(0, 2, num_edges).astype(np.uint8),
        "train": last[20:],
        "val": last[:10],
        "test": last[10:20],
    }
    return write_store(folder, arrays)
