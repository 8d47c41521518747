from __future__ import annotations

from orchestrator.execution.ray.remote_ranks import gpus_of_ranks


def test_each_rank_gets_its_part_of_its_nodes_gpus() -> None:
    nodes = [["a", "b", "c", "d"], ["e", "f", "g", "h"]]
    assert gpus_of_ranks(nodes, 2) == [["a", "b"], ["c", "d"], ["e", "f"], ["g", "h"]]
    assert gpus_of_ranks([[], []], 2) == [[], [], [], []]
