import numpy as np
import pytest

from tests.trainables.graph.graphs import symmetric_graph
from trainables.graph.drawing import UniformDraw
from trainables.graph.sampling import ByTable, NeighbourSampler, Relabelling, Sample, by_sorting

INDPTR, INDICES = symmetric_graph()
SEEDS = np.random.default_rng(3).permutation(500)[:40]


def sampler(*fanouts: int) -> NeighbourSampler:
    return NeighbourSampler(UniformDraw(INDPTR, INDICES, True), fanouts, ByTable(500))


ways = pytest.mark.parametrize("relabel", [ByTable(500), by_sorting], ids=["table", "sorting"])


@ways
def test_positions_name_the_nodes_heard_from_targets_first(relabel: Relabelling) -> None:
    targets = np.array([7, 3, 400])
    heard = np.array([3, 9, 9, 7, 499, 3])
    nodes, positions = relabel(targets, heard)
    assert nodes[:3].tolist() == [7, 3, 400]
    assert sorted(nodes[3:].tolist()) == [9, 499]
    assert nodes[positions].tolist() == heard.tolist()
    assert positions.dtype == np.int32


@ways
def test_no_neighbours_and_no_new_ones_are_relabelled_too(relabel: Relabelling) -> None:
    for targets, heard in (([5, 2], []), ([5, 2], [2, 5, 5]), ([5, 2], [2])):
        nodes, positions = relabel(np.array(targets), np.array(heard, dtype=np.int64))
        assert nodes.tolist() == targets
        assert nodes[positions].tolist() == heard


@ways
def test_relabelling_keeps_nothing_from_one_batch_to_the_next(relabel: Relabelling) -> None:
    relabel(np.array([1, 2]), np.array([2, 5, 6]))
    nodes, positions = relabel(np.array([5]), np.array([1, 1]))
    assert nodes.tolist() == [5, 1]
    assert positions.tolist() == [1, 1]


def test_a_layer_s_targets_are_the_sources_of_the_next() -> None:
    sample = sampler(2, 3, 4).sample(SEEDS, 0)
    first, last = sample.blocks
    assert last.num_targets == len(SEEDS)
    assert first.num_targets == last.out_indptr.numel() - 1
    assert len(sample.targets) == first.out_indptr.numel() - 1
    assert sample.targets[: len(SEEDS)].tolist() == SEEDS.tolist()


def test_keys_decide_the_sample_and_ranks_share_it() -> None:
    whole, again, other = (sampler(3, 7).sample(SEEDS, *key) for key in ((1, 2), (1, 2), (2, 1)))
    assert whole.drawn.ids.tolist() == again.drawn.ids.tolist()
    assert whole.drawn.ids.tolist() != other.drawn.ids.tolist()
    # A seed node's sample does not depend on which other seeds are in its rank's share.
    share = sampler(3, 7).sample(SEEDS[1::2], 1, 2)
    for i in range(20):
        assert heard_by_seed(share, i) == heard_by_seed(whole, 2 * i + 1)


def heard_by_seed(sample: Sample, seed: int) -> list[int]:
    [block] = sample.blocks
    indptr, indices = block.indptr.numpy(), block.indices.numpy()
    return sample.targets[indices[indptr[seed] : indptr[seed + 1]]].tolist()
