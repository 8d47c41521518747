"""Splits, scales and evaluation of small images."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from orchestrator import Trainable
from orchestrator.data import PreparedData
from orchestrator.measurement.run import Context, Run
from orchestrator.trial import Budget
from tests.trainables.running import Reports, context, train_once
from trainables.classification import classified
from trainables.data.formats.conversion import Conversion
from trainables.data.formats.image_data import KIND, save_images
from trainables.data.sets.digits import DIGITS
from trainables.images import (
    Evaluation,
    Examples,
    ImageKnobs,
    LabelledImages,
    image_splits,
    normalised,
    unit_scaled,
)
from trainables.lenet import LeNetConfig, lenet
from trainables.mlp import MlpConfig, mlp
from trainables.parallel import Ranks
from trainables.precision import Precision

CPU = torch.device("cpu")
VAL = Examples(inputs=torch.eye(4), labels=torch.tensor([0, 1, 2, 0]))
TEST = Examples(inputs=torch.eye(4)[:2], labels=torch.tensor([0, 1]))
NOTHING = Examples(inputs=torch.empty(0, 4), labels=torch.empty(0, dtype=torch.int64))


def figures(
    epoch: int, *, num_epochs: int = 3, every: int = 1, test: bool = False, val: Examples = VAL
) -> dict[str, float]:
    """Return what is due after an epoch, of a network that says the inputs' one."""
    run = Run(context(DIGITS, epochs=num_epochs, evaluate_test=test), Reports())
    epochs = run.epochs()
    for _ in range(epoch + 1):
        next(epochs)
    evaluation = Evaluation(
        run=run, ranks=Ranks.of(run), every=every, precision=Precision("off", CPU),
        val=val, test=TEST,
    )  # fmt: skip
    network = nn.Identity()
    found = evaluation.figures(network, epoch)
    assert network.training, "it trains on"
    return found


def noise(cache: Path) -> PreparedData:
    """Return a set that is prepared: 240 images of noise, each of one of two classes."""
    rng = np.random.default_rng(0)

    def convert(folder: Path) -> Mapping[str, int]:
        images = rng.integers(256, size=(240, 28, 28))
        labels = np.arange(240) % 2
        return save_images(
            folder,
            {"train_images": images, "train_labels": labels,
             "test_images": images, "test_labels": labels},
        )  # fmt: skip

    conversion = Conversion(name="noise", kind=KIND, source="here", key="noise", signature="1")
    return conversion.prepare(cache, convert)


def splits(found: dict[str, float]) -> set[str]:
    """Return the splits that there are figures of."""
    return {name.partition("_")[0] for name in found}


def test_scales_are_those_of_torchvision() -> None:
    pixels = torch.tensor([[0, 51, 255]], dtype=torch.uint8)
    assert unit_scaled(pixels).tolist() == [pytest.approx([0, 0.2, 1])]
    assert normalised(pixels).tolist() == [pytest.approx([-0.4242, 0.2249, 2.8215], abs=1e-4)]
    assert pixels.tolist() == [[0, 51, 255]], "the images stay as they are"


def test_every_seed_holds_out_the_same_images() -> None:
    def held_out(seed: int) -> LabelledImages:
        return image_splits(Run(context(DIGITS, seed=seed), Reports()), ImageKnobs()).val

    first, second = held_out(0), held_out(1)
    assert torch.equal(first.pixels, second.pixels)
    assert torch.equal(first.labels, second.labels)
    assert len(first) == 120


def test_nothing_is_held_out_where_all_are_trained_on() -> None:
    run = Run(context(DIGITS, evaluate_test=True), Reports())
    splits = image_splits(run, ImageKnobs(hold_out=False))
    assert [len(part) for part in (splits.train, splits.val, splits.test)] == [1437, 0, 360]


@pytest.mark.parametrize(("evaluated", "expected"), [(True, [1317, 120, 0]), (False, [1317, 0, 0])])
def test_images_that_are_not_looked_at_are_left_out(evaluated: bool, expected: list[int]) -> None:
    where = replace(context(DIGITS), budget=Budget(epochs=1, evaluated=evaluated))
    splits = image_splits(Run(where, Reports()), ImageKnobs())
    assert [len(part) for part in (splits.train, splits.val, splits.test)] == expected


@pytest.mark.parametrize(
    ("trainable", "config"),
    [
        (lenet, LeNetConfig(batch_size=64, threads=1, data_path="resident")),
        (mlp, MlpConfig(batch_size=64, threads=1, data_placement="device")),
    ],
)
def test_two_classes_have_an_auc(trainable: Trainable[Any], config: object, tmp_path: Path) -> None:
    budget, data = Budget(epochs=1), noise(tmp_path)
    reports = train_once(
        trainable, config, Context(seed=0, budget=budget, data=data, evaluate_test=True)
    )
    for split in ("val", "test"):
        assert reports.metric(f"{split}_auc") == [pytest.approx(0.5, abs=0.25)]


def test_accuracy_and_loss_are_means_over_the_images() -> None:
    found = figures(0)
    assert found["val_acc"] == 0.75
    expected = functional.cross_entropy(VAL.inputs, VAL.labels).item()
    assert found["val_loss"] == pytest.approx(expected)


def test_validation_is_due_every_so_many_epochs_and_after_the_last() -> None:
    due = [epoch for epoch in range(5) if figures(epoch, num_epochs=5, every=2)]
    assert due == [1, 3, 4]


def test_the_test_split_is_looked_at_once_and_only_where_it_may_be() -> None:
    assert splits(figures(2)) == {"val"}
    assert splits(figures(1, test=True)) == {"val"}
    assert figures(2, test=True)["test_acc"] == 1.0


def test_without_images_to_choose_by_there_is_no_validation() -> None:
    assert figures(2, val=NOTHING) == {}
    assert splits(figures(2, val=NOTHING, test=True)) == {"test"}


@dataclass(frozen=True, kw_only=True)
class Together(Ranks):
    """Ranks that are threads, each of which gets the sum of what all of them bring."""

    barrier: threading.Barrier
    brought: list[torch.Tensor]

    def sum(self, values: torch.Tensor) -> torch.Tensor:
        self.brought.append(values)
        self.barrier.wait(timeout=30)
        return torch.stack(self.brought).sum(0)


@pytest.mark.parametrize("num_images", [1, 2, 1101])
@pytest.mark.parametrize("num_classes", [2, 10])
def test_ranks_that_share_the_images_report_the_figures_of_all(
    num_images: int, num_classes: int
) -> None:
    generator = torch.Generator().manual_seed(0)
    scores = torch.randn(num_images, num_classes, generator=generator)
    labels = torch.randint(num_classes, (num_images,), generator=generator)
    barrier, brought = threading.Barrier(2), list[torch.Tensor]()

    def of_rank(index: int) -> dict[str, float]:
        evaluation = Evaluation(
            run=Run(context(DIGITS), Reports()),
            ranks=Together(index=index, count=2, device=CPU, barrier=barrier, brought=brought),
            every=1,
            precision=Precision("off", CPU),
            val=Examples(inputs=scores, labels=labels),
            test=NOTHING,
        )
        return evaluation.figures(nn.Identity(), epoch=0)

    with ThreadPoolExecutor(2) as both:
        first, second = both.map(of_rank, (0, 1))
    assert first == second == classified("val", scores, labels)
