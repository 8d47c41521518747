"""Splits, pixel scales and evaluation of small grey images, for all trainables on them."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

from orchestrator import Run, knobs, learning
from trainables.classification import classified
from trainables.data.formats.image_data import ImageData
from trainables.parallel import Ranks

MEAN = 0.1307
"""Mean of MNIST's pixels, on a scale of 0 to 1."""
DEVIATION = 0.3081
"""Their standard deviation."""
EVALUATION_BATCH = 512


@knobs
class ImageKnobs:
    """Knobs of the images that are trained on."""

    hold_out: bool = learning(
        default=True,
        doc="keep a twelfth of the training images for validation; False: train on all, no val_acc",
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class LabelledImages:
    """Images and what they show.

    Attributes:
        pixels: uint8, (images, 28, 28).
        labels: int64, (images,).
    """

    pixels: torch.Tensor
    labels: torch.Tensor

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True, kw_only=True, eq=False)
class ImageSplits:
    """Images to train on, to choose settings by (maybe none), and to report on, once.

    Attributes:
        num_classes: Outputs that a network needs.
    """

    num_classes: int
    train: LabelledImages
    val: LabelledImages
    test: LabelledImages


def image_splits(run: Run, config: ImageKnobs) -> ImageSplits:
    """The images of a run. Every seed holds out the same ones, so that val_acc compares.

    Those that this run will not look at are left out.
    """
    data = ImageData.open(run.data.path)
    split = data.split(validation=None if config.hold_out else 0)

    num_tested = len(data.test_labels) if run.evaluate_test else 0

    def part(positions: torch.Tensor) -> LabelledImages:
        return LabelledImages(
            pixels=data.train_images[positions], labels=data.train_labels[positions]
        )

    return ImageSplits(
        num_classes=data.num_classes,
        train=part(split.train),
        val=part(split.val if run.evaluates else split.val[:0]),
        test=LabelledImages(
            pixels=data.test_images[:num_tested], labels=data.test_labels[:num_tested]
        ),
    )


def unit_scaled(pixels: torch.Tensor) -> torch.Tensor:
    """Bytes as float32 of 0 to 1, as torchvision's ``ToTensor``."""
    return pixels.float().div_(255)


def normalised(pixels: torch.Tensor) -> torch.Tensor:
    """Bytes with MNIST's mean taken out, in units of its deviation, as float32."""
    return unit_scaled(pixels).sub_(MEAN).div_(DEVIATION)


@dataclass(frozen=True, kw_only=True, eq=False)
class Examples:
    """Images as a network takes them, on its device.

    Attributes:
        inputs: (images, ...).
        labels: (images,).
    """

    inputs: torch.Tensor
    labels: torch.Tensor


@dataclass(frozen=True, kw_only=True, eq=False)
class Evaluation:
    """Schedule of the evaluations of a run.

    Attributes:
        run: The run, with its last epoch and whether it evaluates test.
        ranks: Each looks at its share of the images.
        every: Epochs from one evaluation to the next; the last epoch always has one.
        val: Images to choose settings by, maybe none.
        test: Images to report on, once.
    """

    run: Run
    ranks: Ranks
    every: int
    val: Examples
    test: Examples

    def figures(self, network: nn.Module, epoch: int) -> dict[str, float]:
        """Return what is due after ``epoch``, by metric name. Every rank must call it."""
        last = self.run.last_epoch
        due: dict[str, Examples] = {}
        if len(self.val.labels) and (last or (epoch + 1) % self.every == 0):
            due["val"] = self.val
        if last and self.run.evaluate_test:
            due["test"] = self.test
        if not due:
            return {}
        with self.run.evaluating():
            return {
                name: figure
                for split, examples in due.items()
                for name, figure in self._figures(split, network, examples).items()
            }

    @torch.no_grad()
    def _figures(self, split: str, network: nn.Module, examples: Examples) -> dict[str, float]:
        """Return the figures of a split, from the scores of all ranks, computed in float32."""
        mine = slice(self.ranks.index, None, self.ranks.count)
        network.eval()
        batches = examples.inputs[mine].split(EVALUATION_BATCH)
        own = torch.cat([network(inputs) for inputs in batches])
        network.train()
        scores = own.new_zeros(len(examples.labels), own.shape[1])
        scores[mine] = own
        return classified(split, self.ranks.sum(scores), examples.labels)
