from __future__ import annotations

import pytest

from orchestrator.execution.ray.remote_ranks import cpus_of_ranks, gpus_of_ranks


@pytest.mark.parametrize(
    ("num_cores", "ranks", "expected"),
    [
        (4, 1, [4]),
        (4, 2, [2, 2]),
        (3, 2, [2, 1]),
        (2, 4, [0.5] * 4),
        (1, 3, [0.3334, 0.3333, 0.3333]),
    ],
)
def test_ranks_share_the_cores_of_their_trial(
    num_cores: int, ranks: int, expected: list[float]
) -> None:
    assert cpus_of_ranks(num_cores, ranks) == expected
    assert sum(expected) == pytest.approx(num_cores)


def test_each_rank_gets_its_part_of_its_nodes_gpus() -> None:
    nodes = [["a", "b", "c", "d"], ["e", "f", "g", "h"]]
    assert gpus_of_ranks(nodes, 2) == [["a", "b"], ["c", "d"], ["e", "f"], ["g", "h"]]
    assert gpus_of_ranks([[], []], 2) == [[], [], [], []]
