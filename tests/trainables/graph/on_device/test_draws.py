"""The draws in torch operations equal NumPy's, bit by bit."""

import numpy as np
import pytest
import torch

from tests.trainables.graph.graphs import symmetric_graph
from trainables.graph.drawing import ALL, UniformDraw
from trainables.graph.on_device import draws
from trainables.graph.on_device.draws import DeviceDraw, relabelled
from trainables.graph.randomness import below, key_of, random_bits
from trainables.graph.sampling import ByTable, by_sorting

INDPTR, INDICES = symmetric_graph()
DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]
KEYS = [0, 1, key_of(3, 4, 5), 2**63, 2**64 - 1]

on_each_device = pytest.mark.parametrize("device", DEVICES)


@on_each_device
@pytest.mark.parametrize("key", KEYS)
def test_bits_and_what_is_below_a_limit_are_the_same(key: int, device: str) -> None:
    nodes = np.array([0, 1, 499, 2**31 - 1, 2**31, 2**40 + 7, 244_160_498])
    expected = random_bits(nodes, 30, key)
    found = draws.random_bits(torch.from_numpy(nodes).to(device), 30, key)
    assert found.cpu().tolist() == expected.tolist()
    limits = np.array([1, 2, 7, 1000, 2**31, 2**32 - 1, 3])
    scaled = draws.below(found, torch.from_numpy(limits).to(device).unsqueeze(1))
    assert scaled.cpu().tolist() == below(expected, limits.astype(np.uint64)[:, None]).tolist()


@on_each_device
@pytest.mark.parametrize("replace", [True, False])
@pytest.mark.parametrize("fanout", [1, 5, 13, 40, ALL])
@pytest.mark.parametrize("key", KEYS)
def test_each_node_hears_the_same_neighbours(
    replace: bool, fanout: int, key: int, device: str
) -> None:
    nodes = np.random.default_rng(2).permutation(500)[:200]
    expected = UniformDraw(INDPTR, INDICES, replace)(nodes, fanout, key)
    indptr, indices, there = (torch.from_numpy(a).to(device) for a in (INDPTR, INDICES, nodes))
    found = DeviceDraw(indptr, indices, replace)(there, fanout, key)
    for name in ("indptr", "ids", "edges"):
        assert getattr(found, name).cpu().tolist() == getattr(expected, name).tolist()


@on_each_device
@pytest.mark.parametrize("by_last_edge", [True, False])
@pytest.mark.parametrize("num_heard", [0, 1, 300])
def test_nodes_have_the_same_positions(by_last_edge: bool, num_heard: int, device: str) -> None:
    rng = np.random.default_rng(num_heard)
    targets, heard = rng.permutation(500)[:60], rng.integers(0, 500, num_heard)
    nodes, positions = (ByTable(500) if by_last_edge else by_sorting)(targets, heard)
    found = relabelled(
        torch.from_numpy(targets).to(device),
        torch.from_numpy(heard).to(device),
        by_last_edge=by_last_edge,
    )
    assert [each.cpu().tolist() for each in found] == [nodes.tolist(), positions.tolist()]


def test_without_targets_nothing_is_drawn() -> None:
    nothing = torch.empty(0, dtype=torch.int64)
    for replace in (True, False):
        draw = DeviceDraw(torch.from_numpy(INDPTR), torch.from_numpy(INDICES), replace)
        drawn = draw(nothing, 5, 1)
        assert drawn.indptr.tolist() == [0]
        assert [each.numel() for each in relabelled(nothing, drawn.ids, by_last_edge=True)] == [
            0,
            0,
        ]
