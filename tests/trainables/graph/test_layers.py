from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from trainables.graph.layers import Dropout, relu_dropout


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


def test_gradients_flow_to_what_was_kept() -> None:
    x = torch.randn(50, 7, requires_grad=True)
    out = relu_dropout(x, 0.5, training=True)
    out.backward(torch.full_like(out, 3.0))
    assert x.grad is not None
    torch.testing.assert_close(x.grad, torch.where(out > 0, 6.0, 0.0))


@pytest.mark.parametrize(("p", "training"), [(0.5, False), (0.0, True), (0.0, False)])
def test_where_nothing_is_dropped_it_is_relu(p: float, training: bool) -> None:
    x = torch.randn(50, 7)
    assert torch.equal(relu_dropout(x, p, training=training), functional.relu(x))


def test_the_seed_decides_and_threads_do_not() -> None:
    x, threads = torch.rand(300, 301), torch.get_num_threads()

    def dropped(seed: int, count: int) -> torch.Tensor:
        torch.manual_seed(seed)
        torch.set_num_threads(count)
        out = relu_dropout(x, 0.5, training=True)
        torch.set_num_threads(threads)
        return out

    assert torch.equal(dropped(0, 1), dropped(0, 2))
    assert not torch.equal(dropped(0, 1), dropped(1, 1))


def test_half_precision_stays_half() -> None:
    out = relu_dropout(torch.randn(9, 9).bfloat16(), 0.5, training=True)
    assert out.dtype is torch.bfloat16


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
