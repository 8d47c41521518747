from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.trainables.graph.graphs import symmetric_graph
from trainables.graph.drawing import UniformDraw
from trainables.graph.relational import RelationalBlock, RelationalSampler
from trainables.graph.sampling import ByTable, Relabelling, by_sorting

INDPTR, INDICES = symmetric_graph()
EDGE_TYPE = np.random.default_rng(5).integers(0, 4, len(INDICES)).astype(np.uint8)
SEEDS = np.random.default_rng(3).permutation(500)[:40]


def edges_of(block: RelationalBlock) -> list[tuple[int, int, int]]:
    """Source, relation and target of each edge."""
    ends = (block.sources, block.relations[block.pairs], block.targets[block.pairs])
    return sorted(zip(*(each.tolist() for each in ends), strict=True))


def test_edges_are_grouped_by_relation_then_target() -> None:
    targets = np.array([0, 0, 1, 3, 3, 3])
    sources = np.array([4, 5, 6, 7, 0, 4], dtype=np.int32)
    relations = np.array([2, 0, 2, 0, 0, 2], dtype=np.uint8)
    block = RelationalBlock.of(targets, sources, relations, num_targets=4, num_relations=4)
    assert block.relations.tolist() == [0, 0, 2, 2, 2]
    assert block.targets.tolist() == [0, 3, 0, 1, 3]
    assert block.bounds == (0, 2, 2, 5, 5)
    assert block.indptr.tolist() == [0, 1, 3, 4, 5, 6]
    assert block.sources.tolist() == [5, 7, 0, 4, 6, 4]
    assert block.pairs.tolist() == [0, 1, 1, 2, 3, 4]
    assert edges_of(block) == sorted(
        zip(sources.tolist(), relations.tolist(), targets.tolist(), strict=True)
    )


def test_a_block_may_have_no_edges() -> None:
    nothing = np.empty(0, dtype=np.int64)
    block = RelationalBlock.of(
        nothing, nothing.astype(np.int32), nothing, num_targets=3, num_relations=2
    )
    assert block.bounds == (0, 0, 0)
    assert block.indptr.tolist() == [0]
    assert len(block.sources) == len(block.targets) == 0


def sampler(*fanouts: int, relabel: Relabelling = by_sorting) -> RelationalSampler:
    return RelationalSampler(
        draw=UniformDraw(INDPTR, INDICES, replace=False),
        fanouts=fanouts,
        relabel=relabel,
        edge_type=EDGE_TYPE,
        num_relations=4,
    )


@pytest.mark.parametrize("relabel", [ByTable(500), by_sorting], ids=["table", "sorting"])
def test_a_sample_has_edges_of_the_graph_with_their_relations(relabel: Relabelling) -> None:
    targets = np.repeat(np.arange(500), np.diff(INDPTR))
    graph = set(zip(INDICES.tolist(), EDGE_TYPE.tolist(), targets.tolist(), strict=True))
    sample = sampler(3, 5, relabel=relabel).sample(SEEDS, 1, 2)
    first, last = sample.blocks
    assert last.num_targets == 40
    assert sample.nodes[:40].tolist() == SEEDS.tolist()
    assert len(set(sample.nodes.tolist())) == len(sample.nodes)
    for block in sample.blocks:
        edges = edges_of(block)
        ids = [(sample.nodes[s], relation, sample.nodes[t]) for s, relation, t in edges]
        assert set(ids) <= graph
        assert len(set(ids)) == len(ids)
    degrees = np.diff(INDPTR)[sample.nodes[: first.num_targets]]
    heard = torch.bincount(first.targets[first.pairs], minlength=first.num_targets)
    assert heard.tolist() == np.minimum(degrees, 3).tolist()


def test_the_keys_decide_what_is_sampled() -> None:
    def edges(*keys: int) -> list[list[tuple[int, int, int]]]:
        return [edges_of(block) for block in sampler(3, 5).sample(SEEDS, *keys).blocks]

    assert edges(1, 2) == edges(1, 2) != edges(1, 3)


def test_with_the_same_keys_a_node_hears_the_same_in_any_batch() -> None:
    def heard(seeds: np.ndarray, node: int) -> set[int]:
        sample = sampler(4).sample(seeds, 7)
        place = seeds.tolist().index(node)
        [block] = sample.blocks
        return {int(sample.nodes[s]) for s, _, t in edges_of(block) if t == place}

    node = int(SEEDS[11])
    assert heard(SEEDS, node) == heard(SEEDS[10:13], node) == heard(SEEDS[::-1].copy(), node)
