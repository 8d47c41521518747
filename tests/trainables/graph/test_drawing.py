import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chisquare

from tests.trainables.graph.graphs import dgl_graph, symmetric_graph
from trainables.graph.drawing import ALL, Draw, Drawn, LaborDraw, UniformDraw

INDPTR, INDICES = symmetric_graph()
DEGREES = np.diff(INDPTR)
NODES = np.random.default_rng(2).permutation(500)[:200]

WITH = UniformDraw(INDPTR, INDICES, replace=True)
WITHOUT = UniformDraw(INDPTR, INDICES, replace=False)
LABOR = LaborDraw(dgl_graph(INDPTR, INDICES).formats(["csc"]))
DRAWS: dict[str, Draw] = {"with": WITH, "without": WITHOUT, "labor": LABOR}

draws = pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS.keys())


def heard(drawn: Drawn, target: int) -> list[int]:
    return drawn.ids[drawn.indptr[target] : drawn.indptr[target + 1]].tolist()


def neighbours(node: int) -> list[int]:
    return INDICES[INDPTR[node] : INDPTR[node + 1]].tolist()


@draws
def test_only_neighbours_are_drawn(draw: Draw) -> None:
    drawn = draw(NODES, 5, key=1)
    for target, node in enumerate(NODES):
        assert set(heard(drawn, target)) <= set(neighbours(node))
    assert (INDICES[drawn.edges] == drawn.ids).all()


def test_with_replacement_every_node_with_a_neighbour_hears_the_whole_fanout() -> None:
    counts = np.diff(WITH(NODES, 30, key=1).indptr)
    assert (counts == np.where(DEGREES[NODES] > 0, 30, 0)).all()
    assert (DEGREES[NODES] == 0).any()


def test_without_replacement_neighbours_are_distinct_and_all_where_there_are_few() -> None:
    drawn = WITHOUT(NODES, 13, key=1)
    for target, node in enumerate(NODES):
        ids = heard(drawn, target)
        assert len(set(ids)) == len(ids) == min(DEGREES[node], 13)
    assert (DEGREES[NODES] > 13).any()
    assert ((DEGREES[NODES] < 13) & (DEGREES[NODES] > 0)).any()


@draws
def test_the_fanout_of_all_takes_every_neighbour(draw: Draw) -> None:
    drawn = draw(NODES, ALL, key=1)
    for target, node in enumerate(NODES):
        assert sorted(heard(drawn, target)) == neighbours(node)


@draws
def test_a_key_decides_the_draw(draw: Draw) -> None:
    first, again, other = (draw(NODES, 5, key) for key in (1, 1, 2**64 - 7))
    assert (first.ids == again.ids).all()
    assert first.ids.tolist() != other.ids.tolist()


@draws
def test_a_node_s_draw_does_not_depend_on_the_other_nodes(draw: Draw) -> None:
    together, apart = draw(NODES, 5, key=1), draw(NODES[100:], 5, key=1)
    for target in range(100):
        assert heard(together, 100 + target) == heard(apart, target)


def test_labor_shares_draws_so_that_fewer_nodes_are_needed() -> None:
    def distinct(draw: Draw) -> float:
        return float(np.mean([len(np.unique(draw(NODES, 5, key).ids)) for key in range(20)]))

    assert distinct(LABOR) < 0.9 * distinct(WITHOUT)


# -- in distribution: 4,000 draws, in which a neighbour twice as likely would stand out


def drawn_counts(draw: Draw, node: int, fanout: int, repeats: int = 4000) -> NDArray[np.int64]:
    """Return the number of draws of each neighbour of a node."""
    ids = np.concatenate([draw(np.array([node]), fanout, key).ids for key in range(repeats)])
    return np.array([np.count_nonzero(ids == other) for other in neighbours(node)])


@pytest.mark.parametrize("name", ["with", "without"])
@pytest.mark.parametrize("fanout", [1, 3, 10])
def test_every_neighbour_is_as_likely_as_the_others(name: str, fanout: int) -> None:
    node = int(np.argmax(DEGREES))
    counts = drawn_counts(DRAWS[name], node, fanout)
    assert counts.sum() == 4000 * fanout
    # The variance of counts without replacement is smaller: the test is the stricter for it.
    assert chisquare(counts).pvalue > 1e-3
    lopsided = counts.copy()
    lopsided[0] *= 2
    assert chisquare(lopsided, np.full(len(counts), lopsided.mean())).pvalue < 1e-6


def test_labor_hears_the_fanout_on_average_every_neighbour_as_likely() -> None:
    node = int(np.argmax(DEGREES))
    counts = drawn_counts(LABOR, node, 5)
    assert counts.sum() == pytest.approx(4000 * 5, rel=0.02)
    assert chisquare(counts).pvalue > 1e-3
