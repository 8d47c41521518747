from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from trainables.embedding.pairs import held_in, pairs_of

WALKS = np.array([[1, 2, 3, 4], [5, 6, 5, 7]], dtype=np.int32)


@pytest.mark.parametrize("window", [1, 2, 3, 9])
def test_pairs_are_all_nodes_of_a_walk_that_are_close(window: int) -> None:
    expected = sorted(
        (int(walk[i]), int(walk[j]))
        for walk in WALKS
        for i in range(4)
        for j in range(4)
        if 0 < abs(i - j) <= window
    )
    found = pairs_of(WALKS, window)
    assert found.dtype == np.int32
    assert sorted(map(tuple, found.tolist())) == expected


@pytest.mark.parametrize("container", ["list", "ndarray", "tensor"])
def test_every_container_gives_the_same_pairs(container: Any) -> None:  # noqa: ANN401
    pairs = pairs_of(WALKS, 2)
    numbers = np.array([3, 0, 7, 3])
    found = held_in(container, pairs)(numbers)
    assert found.dtype == np.int64
    assert np.array_equal(found, pairs[numbers])
    assert held_in(container, pairs)(numbers[:0]).shape == (0, 2)


def test_a_list_holds_python_s_own_objects() -> None:
    listed = held_in("list", np.array([[1000, 2000], [3000, 1000]], dtype=np.int32))
    [first, second] = listed._pairs  # type: ignore[attr-defined]
    assert first == (1000, 2000)
    assert {type(node) for node in (*first, *second)} == {int}
    assert first[0] is not second[1]  # an object each, as a generator of pairs makes them
