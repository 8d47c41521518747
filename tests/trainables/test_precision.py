from __future__ import annotations

from typing import Literal

import pytest
import torch
from torch import nn

from trainables.precision import Precision

CPU = torch.device("cpu")


@pytest.mark.parametrize(("amp", "dtype"), [("off", torch.float32), ("bf16", torch.bfloat16)])
def test_matrices_are_multiplied_in_the_precision_asked_for(
    amp: Literal["off", "bf16"], dtype: torch.dtype
) -> None:
    linear = nn.Linear(4, 2)
    with Precision(amp, CPU).autocast():
        assert linear(torch.ones(3, 4)).dtype == dtype
    assert linear.weight.dtype == torch.float32


def test_every_optimizer_is_stepped() -> None:
    networks = [nn.Linear(1, 1, bias=False) for _ in range(2)]
    optimizers = [torch.optim.SGD(network.parameters(), lr=1.0) for network in networks]
    before = [network.weight.item() for network in networks]
    precision = Precision("off", CPU)
    precision.backward(sum(network(torch.ones(1, 1)).sum() for network in networks))
    precision.step(*optimizers)
    after = [network.weight.item() for network in networks]
    assert after == pytest.approx([weight - 1.0 for weight in before])


def test_half_precision_needs_a_gpu() -> None:
    with pytest.raises(ValueError, match="amp='fp16' needs a CUDA device, not cpu"):
        Precision("fp16", CPU)


@pytest.mark.gpu
def test_a_step_with_infinite_gradients_is_left_out_and_the_scale_lowered() -> None:
    device = torch.device("cuda:0")
    linear = nn.Linear(1, 1, bias=False, device=device)
    optimizer = torch.optim.SGD(linear.parameters(), lr=1.0)
    precision = Precision("fp16", device)
    with precision.autocast():
        scores = linear(torch.ones(1, 1, device=device))
    assert scores.dtype == torch.float16
    before, scale = linear.weight.item(), None
    precision.backward(scores.sum() * float("inf"))
    precision.step(optimizer)
    assert linear.weight.item() == before
    scale = precision.state()["scale"]
    other = Precision("fp16", device)
    other.restore(precision.state())
    assert other.state()["scale"] == scale < Precision("fp16", device).state()["scale"]
