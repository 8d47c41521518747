from pathlib import Path

import numpy as np
import pytest
import torch

from trainables.data.formats.arrays import map_array
from trainables.graph.layers import Dropout, relu_dropout
from trainables.graph.places.mapped import MappedMemory, mapped_bytes


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_values_are_dropped_as_often_as_asked_and_the_rest_scaled(p: float) -> None:
    torch.manual_seed(0)
    x = torch.randn(1000, 200)
    out = relu_dropout(x, p, training=True)
    kept = out > 0
    share = kept.sum() / (x > 0).sum()
    assert share.item() == pytest.approx(1 - p, abs=5e-3)
    torch.testing.assert_close(out[kept], x[kept] / (1 - p))
    assert not out[x <= 0].any()
    # No column or row is favoured: within five deviations of a binomial.
    for axis in (0, 1):
        found = kept.sum(axis) / (x > 0).sum(axis)
        assert (found - (1 - p)).abs().max() < 5 * (p * (1 - p) / 90) ** 0.5


def test_dropout_alone_drops_and_scales_while_training() -> None:
    torch.manual_seed(0)
    dropout, x = Dropout(0.25), torch.randn(300, 300, requires_grad=True)
    out = dropout(x)
    kept = out != 0
    assert kept.float().mean().item() == pytest.approx(0.75, abs=0.01)
    torch.testing.assert_close(out[kept], x[kept] / 0.75)
    out.backward(torch.ones_like(out))
    assert x.grad is not None
    torch.testing.assert_close(x.grad, kept / 0.75)
    assert dropout.eval()(x) is x or torch.equal(dropout(x), x)


MIB = 2**20


def test_what_was_read_is_given_back_once_it_is_too_much(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.ones(32 * MIB, dtype=np.uint8))
    array = map_array(tmp_path / "a.npy")
    before = mapped_bytes()
    memory = MappedMemory([array], before + 16 * MIB)
    assert array[: 8 * MIB].sum() == 8 * MIB
    memory.keep_within_limit()
    assert mapped_bytes() >= before + 7 * MIB
    assert array.sum(dtype=np.int64) == 32 * MIB
    assert mapped_bytes() >= before + 30 * MIB
    memory.keep_within_limit()
    assert mapped_bytes() <= before + 2 * MIB
    assert array[-1] == 1
