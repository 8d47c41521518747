import numpy as np
import pytest
import torch

from tests.trainables.graph.graphs import symmetric_graph
from trainables.graph.attention import softmax_over_pairs
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


def random_block(num_edges: int = 60) -> RelationalBlock:
    """Twelve sources, six targets, four relations of which one has no edge."""
    rng = np.random.default_rng(0)
    return RelationalBlock.of(
        rng.integers(0, 5, num_edges),
        rng.integers(0, 12, num_edges).astype(np.int32),
        rng.choice([0, 1, 3], num_edges),
        num_targets=6,
        num_relations=4,
    )


BLOCK = random_block()


def test_large_scores_overflow_nowhere() -> None:
    weights = softmax_over_pairs(torch.full((60, 2), 1e4), BLOCK)
    assert weights.isfinite().all()
