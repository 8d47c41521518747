from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.data import TensorDataset

from trainables.loading import Batch, Batched, BatchOrder, Fetch, PerSample


def orders(*, drop_last: bool) -> st.SearchStrategy[BatchOrder]:
    """Orders of one batch or more."""
    return st.integers(1, 50).flatmap(
        lambda batch_size: st.builds(
            BatchOrder,
            num_samples=st.integers(batch_size if drop_last else 1, 200),
            batch_size=st.just(batch_size),
            seed=st.integers(0, 3),
            drop_last=st.just(drop_last),
        )
    )


ORDERS = st.one_of(orders(drop_last=False), orders(drop_last=True))


@given(order=ORDERS, world_size=st.integers(1, 4), epoch=st.integers(0, 3))
@settings(deadline=None)
def test_ranks_share_the_batches_that_one_process_would_have(
    order: BatchOrder, world_size: int, epoch: int
) -> None:
    alone = list(order.epoch(epoch))
    shares = [
        list(replace(order, rank=rank, world_size=world_size).epoch(epoch))
        for rank in range(world_size)
    ]
    for step, whole in enumerate(alone):
        mine = [shares[rank][step] for rank in range(world_size)]
        assert sorted(np.concatenate([draw.indices for draw in mine])) == sorted(whole.indices)
        assert {draw.total for draw in mine} == {len(whole.indices)}
        assert max(len(d.indices) for d in mine) - min(len(d.indices) for d in mine) <= 1


@given(order=ORDERS, epoch=st.integers(0, 3))
@settings(deadline=None)
def test_an_epoch_has_each_sample_once(order: BatchOrder, epoch: int) -> None:
    draws = list(order.epoch(epoch))
    assert len(draws) == len(order)
    seen = [index for draw in draws for index in draw.indices]
    assert len(set(seen)) == len(seen)
    if order.drop_last:
        assert all(len(draw.indices) == order.batch_size for draw in draws)
        assert len(seen) > order.num_samples - order.batch_size
    else:
        assert len(seen) == order.num_samples


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
