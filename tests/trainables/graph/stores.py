"""Small relational stores, and one whose features are larger than memory."""

from __future__ import annotations

import json
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
        arrays: By the names of the files; ``indptr`` says how many nodes there are.
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
