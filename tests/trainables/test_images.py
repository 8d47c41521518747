"""Splits, scales and evaluation of small images."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import pytest
import torch
from torch import nn

from orchestrator import Trainable
from orchestrator.measurement.run import Run
from orchestrator.trial import Budget
from tests.trainables.running import Reports, context, train_once
from trainables import images
from trainables.classification import classified
from trainables.data.sets.digits import DIGITS
from trainables.images import (
    Evaluation,
    Examples,
    ImageKnobs,
    image_splits,
    normalised,
    unit_scaled,
)
from trainables.lenet import LeNetConfig, lenet
from trainables.mlp import MlpConfig, mlp
from trainables.parallel import Ranks

CPU = torch.device("cpu")
NOTHING = Examples(inputs=torch.empty(0, 4), labels=torch.empty(0, dtype=torch.int64))


def test_scales_are_those_of_torchvision() -> None:
    pixels = torch.tensor([[0, 51, 255]], dtype=torch.uint8)
    assert unit_scaled(pixels).tolist() == [pytest.approx([0, 0.2, 1])]
    assert normalised(pixels).tolist() == [pytest.approx([-0.4242, 0.2249, 2.8215], abs=1e-4)]
    assert pixels.tolist() == [[0, 51, 255]], "the images stay as they are"


@pytest.mark.parametrize(("evaluated", "expected"), [(True, [1317, 120, 0]), (False, [1317, 0, 0])])
def test_images_that_are_not_looked_at_are_left_out(evaluated: bool, expected: list[int]) -> None:
    where = replace(context(DIGITS), budget=Budget(epochs=1, evaluated=evaluated))
    splits = image_splits(Run(where, Reports()), ImageKnobs())
    assert [len(part) for part in (splits.train, splits.val, splits.test)] == expected


@dataclass(frozen=True, kw_only=True)
class Together(Ranks):
    """Ranks that are threads; each gets the sum over all of them."""

    barrier: threading.Barrier
    brought: list[torch.Tensor]

    def sum(self, values: torch.Tensor) -> torch.Tensor:
        self.brought.append(values)
        self.barrier.wait(timeout=30)
        return torch.stack(self.brought).sum(0)


@pytest.mark.parametrize("num_images", [1, 2, 1101])
@pytest.mark.parametrize("num_classes", [2, 10])
def test_ranks_that_share_images_report_figures_of_all(num_images: int, num_classes: int) -> None:
    generator = torch.Generator().manual_seed(0)
    scores = torch.randn(num_images, num_classes, generator=generator)
    labels = torch.randint(num_classes, (num_images,), generator=generator)
    barrier, brought = threading.Barrier(2), list[torch.Tensor]()

    def of_rank(index: int) -> dict[str, float]:
        evaluation = Evaluation(
            run=Run(context(DIGITS), Reports()),
            ranks=Together(index=index, count=2, device=CPU, barrier=barrier, brought=brought),
            every=1,
            val=Examples(inputs=scores, labels=labels),
            test=NOTHING,
        )
        return evaluation.figures(nn.Identity(), epoch=0)

    with ThreadPoolExecutor(2) as both:
        first, second = both.map(of_rank, (0, 1))
    assert first == second == classified("val", scores, labels)


@pytest.mark.parametrize(
    ("trainable", "config"), [(lenet, LeNetConfig(amp="bf16")), (mlp, MlpConfig(amp="bf16"))]
)
def test_a_network_trained_in_bf16_is_evaluated_in_float32(
    trainable: Trainable[Any], config: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = list[torch.Tensor]()

    def keep(split: str, scores: torch.Tensor, labels: torch.Tensor) -> dict[str, float]:
        kept.append(scores)
        return classified(split, scores, labels)

    monkeypatch.setattr(images, "classified", keep)
    train_once(trainable, config, context(DIGITS, steps=1))
    (scores,) = kept
    assert (scores != scores.bfloat16().float()).any(), "not rounded"
