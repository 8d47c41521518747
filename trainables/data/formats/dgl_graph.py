"""DGL graphs over memory-mapped columns."""

from __future__ import annotations

import os
from typing import Any

from trainables.data.formats.arrays import Array, as_tensor


def dgl_over(indptr: Array, indices: Array) -> Any:  # noqa: ANN401 - DGL has no types
    """A ``dgl.DGLGraph`` over the memory of ``indptr`` and ``indices``, without features.

    Edge ``i`` leads from ``indices[i]``. The graph has the csc format only: else each worker of a
    loader makes the other formats, in its own memory.
    """
    os.environ.setdefault("DGLBACKEND", "pytorch")  # without it DGL writes a config file
    import torch
    from dgl.convert import create_from_edges

    edge_ids_as_stored = torch.empty(0, dtype=torch.int64)
    num_nodes = len(indptr) - 1
    # dgl.graph() ends in the same call, but first looks for the largest node in all indices:
    # that would read the whole map.
    graph = create_from_edges(
        "csc",
        (as_tensor(indptr), as_tensor(indices), edge_ids_as_stored),
        "_N",
        "_E",
        "_N",
        num_nodes,
        num_nodes,
    )
    return graph.formats(["csc"])
