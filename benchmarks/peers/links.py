"""Link prediction by hand: common neighbours, and GATNE's skip-gram with DGL's walks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import dgl
import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.metrics import roc_auc_score
from torch import Tensor, nn
from torch.nn import functional

from trainables.embedding.link_split import HeldOut, LinkSplit

if TYPE_CHECKING:
    from trainables.node_embedding import NodeEmbeddingConfig

_PAIRS_A_CHUNK = 4096


def common_neighbours(
    _config: NodeEmbeddingConfig, folder: Path, *, epochs: int, seed: int
) -> float:
    """Return the AUC of the number of common neighbours in the training graph."""
    del epochs, seed
    split = LinkSplit.of(folder, "all")
    indptr, indices = np.asarray(split.indptr), np.asarray(split.indices)
    shape = (split.num_nodes, split.num_nodes)
    graph = csr_array((np.ones(len(indices), np.int32), indices, indptr), shape=shape)
    ends = _ends(split.test)
    counts: list[NDArray[np.int32]] = [
        graph[part[:, 0]].multiply(graph[part[:, 1]]).sum(1)
        for part in np.split(ends, range(_PAIRS_A_CHUNK, len(ends), _PAIRS_A_CHUNK))
    ]
    return _auc(split.test, np.concatenate(counts))


def skip_gram(config: NodeEmbeddingConfig, folder: Path, *, epochs: int, seed: int) -> float:
    """Train embeddings from nodes' own rows and their neighbours'; return the test AUC."""
    split = LinkSplit.of(folder, "all")
    torch.manual_seed(seed)
    dgl.seed(seed)
    indptr, indices = (torch.from_numpy(np.array(part)) for part in (split.indptr, split.indices))
    graph = dgl.graph(("csc", (indptr, indices, [])), num_nodes=split.num_nodes)
    degrees = indptr.diff()
    own, said, contexts = (
        nn.Embedding(split.num_nodes, config.dims, sparse=True) for _ in range(3)
    )
    for table in (own, said):
        nn.init.uniform_(table.weight, -0.1, 0.1)
    nn.init.normal_(contexts.weight, std=config.dims**-0.5)
    mix = nn.Linear(config.dims, config.dims, bias=False)
    rows = [*own.parameters(), *said.parameters(), *contexts.parameters()]
    optimizers = [
        torch.optim.SparseAdam(rows, lr=config.lr),
        torch.optim.Adam(mix.parameters(), lr=config.lr),
    ]
    pairs = _walk_pairs(graph, degrees, config)
    noise = degrees.double() ** 0.75
    for _ in range(epochs):
        chosen = pairs[torch.randperm(len(pairs))[: config.epoch_pairs or len(pairs)]]
        for batch in chosen.split(config.batch_size):
            centres, near = batch.unbind(1)
            drawn = (torch.rand(len(batch), config.neighbours) * degrees[centres, None]).long()
            heard = indices[indptr[centres, None] + drawn]
            far = torch.multinomial(noise, len(batch) * config.negatives, replacement=True)
            embedded = functional.normalize(own(centres) + mix(said(heard).mean(1)))
            both = contexts(torch.cat([near[:, None], far.view(len(batch), -1)], 1))
            scores = (both * embedded[:, None]).sum(2)
            signs = torch.tensor([1.0] + [-1.0] * config.negatives)
            loss = -functional.logsigmoid(scores * signs).sum(1).mean()
            for optimizer in optimizers:
                optimizer.zero_grad()
            loss.backward()
            for optimizer in optimizers:
                optimizer.step()
    with torch.no_grad():
        graph.ndata["said"] = said.weight
        graph.update_all(dgl.function.copy_u("said", "m"), dgl.function.mean("m", "heard"))
        embedded = functional.normalize(own.weight + mix(graph.ndata["heard"]))
        u, v = torch.from_numpy(_ends(split.test)).unbind(1)
        learned = (contexts.weight[u] * embedded[v] + contexts.weight[v] * embedded[u]).sum(1)
        walked = degrees[u].clip(min=0.5).log() + degrees[v].clip(min=0.5).log()
    return _auc(split.test, (learned + 1.75 * walked).numpy())


def _walk_pairs(graph: Any, degrees: Tensor, config: NodeEmbeddingConfig) -> Tensor:  # noqa: ANN401 - DGL has no types
    starts = torch.nonzero(degrees).flatten().repeat(config.walks_per_node)
    walks, _ = dgl.sampling.random_walk(graph, starts, length=config.walk_length - 1)
    pairs = []
    for apart in range(1, config.window + 1):
        ahead = torch.stack([walks[:, :-apart].flatten(), walks[:, apart:].flatten()], 1)
        pairs += [ahead, ahead.flip(1)]
    return torch.cat(pairs)


def _ends(held_out: HeldOut) -> NDArray[np.int64]:
    return np.concatenate([held_out.edges, held_out.non_edges])


def _auc(held_out: HeldOut, scores: NDArray[Any]) -> float:
    truth = np.repeat([1, 0], [len(held_out.edges), len(held_out.non_edges)])
    return float(roc_auc_score(truth, scores))
