from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from trainables.loading import BatchOrder


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


def test_the_order_depends_on_seed_and_epoch_alone() -> None:
    def order(seed: int, epoch: int) -> list[int]:
        draws = BatchOrder(num_samples=100, batch_size=10, seed=seed).epoch(epoch)
        return [int(index) for draw in draws for index in draw.indices]

    assert order(0, 0) == order(0, 0)
    assert len({tuple(order(seed, epoch)) for seed in range(3) for epoch in range(3)}) == 9
