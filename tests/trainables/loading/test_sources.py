from __future__ import annotations

import pytest
import torch
from torch.utils.data import TensorDataset

from trainables.loading import Batch, Batched, BatchOrder, Fetch, PerSample

INPUTS, LABELS = torch.randn(5, 1, 2), torch.arange(5)


@pytest.mark.parametrize(
    "fetch",
    [PerSample(TensorDataset(INPUTS, LABELS)), Batched(INPUTS, LABELS)],
    ids=["per_sample", "batched"],
)
def test_a_rank_s_share_of_the_last_batch_may_be_empty(fetch: Fetch[Batch]) -> None:
    order = BatchOrder(num_samples=5, batch_size=4, seed=0, rank=1, world_size=2)
    whole, empty = (fetch(draw) for draw in order.epoch(0))
    assert [(len(batch.inputs), batch.total) for batch in (whole, empty)] == [(2, 4), (0, 1)]
    for all_values, values in ((INPUTS, empty.inputs), (LABELS, empty.labels)):
        assert values.dtype == all_values.dtype
        assert values.shape == (0, *all_values.shape[1:])
