"""A multi-layer perceptron on small grey images: so small that data access decides its speed.

784-600-300-100-classes, relu; SGD with momentum. For the question why loader workers slow it down.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Literal

import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import TensorDataset

from orchestrator import (
    Phase,
    Run,
    Trainable,
    both,
    knobs,
    learning,
    minimize,
    systems,
)
from trainables.checkpoints import Progress
from trainables.classification import OBJECTIVES
from trainables.compiling import COMPILE_CONSTRAINTS, CompileKnobs, compiled
from trainables.data.sets.digits import DIGITS
from trainables.data.sets.mnist import MNIST
from trainables.images import (
    Evaluation,
    Examples,
    ImageKnobs,
    LabelledImages,
    image_splits,
    normalised,
    unit_scaled,
)
from trainables.loading import (
    Batch,
    Batched,
    Batches,
    BatchOrder,
    Delivery,
    LoadedBatches,
    PerSample,
    ResidentBatches,
    StagedBatches,
    WholeSet,
    num_samples,
)
from trainables.losses import EpochLoss
from trainables.parallel import Ranks
from trainables.precision import Precision
from trainables.settings import (
    LOADER_CONSTRAINTS,
    PROCESS_CONSTRAINTS,
    PrefetchKnobs,
    ProcessKnobs,
    cores_of_workers,
    demand_of,
    needs_cuda,
    prepare_process,
    streaming_needs_pinned_batches,
)

WIDTHS = (784, 600, 300, 100)
SCALES = {"raw": torch.Tensor.float, "unit": unit_scaled, "normalised": normalised}


@knobs
class MlpConfig(ProcessKnobs, PrefetchKnobs, ImageKnobs, CompileKnobs):
    """Knobs of the perceptron."""

    lr: float = learning(default=5e-3, gt=0, doc="SGD step size")
    momentum: float = learning(default=0.9, ge=0, lt=1, doc="momentum of SGD")
    input_scale: Literal["raw", "unit", "normalised"] = learning(
        default="normalised", doc="pixels as 0 to 255, as 0 to 1, or with mean 0 and deviation 1"
    )
    batching: Literal["mini", "full"] = both(
        default="mini", doc="batches of batch_size, or all images in one: a step an epoch"
    )
    batch_size: int = both(
        default=300, ge=1, doc="images a step", applies=lambda config: config.batching == "mini"
    )
    drop_last: bool = both(
        default=False,
        doc="leave out an epoch's last, smaller batch",
        applies=lambda config: config.batching == "mini",
    )
    data_placement: Literal["host", "pinned", "device"] = systems(
        default="host",
        doc="where images wait: in host memory, for a loader; in page-locked memory, gathered "
        "there by the training process; or on the device, indexed there",
    )
    data_path: Literal["per_sample", "batched"] = systems(
        default="per_sample",
        doc="what a loader does: collate samples of a TensorDataset, or index whole batches",
        applies=lambda config: config.has_loader(),
    )

    def has_loader(self) -> bool:
        """Return True if batches come through a loader."""
        return self.batching == "mini" and self.data_placement == "host"

    def pins_batches(self) -> bool:
        """Return True if batches are in page-locked memory."""
        return self.pin_memory or self.data_placement == "pinned"

    def moves_batches(self) -> bool:
        """Return True if batches are fetched or moved, one after the other."""
        return self.batching == "mini" and self.data_placement != "device"


class Mlp(nn.Sequential):
    """The perceptron: (B, 784) pixels in, (B, classes) scores out."""

    def __init__(self, num_classes: int = 10) -> None:
        layers: list[nn.Module] = []
        for width, following in pairwise((*WIDTHS, num_classes)):
            layers += [nn.Linear(width, following), nn.ReLU()]
        super().__init__(*layers[:-1])


def train(config: MlpConfig, run: Run) -> None:
    """Train for the run's budget; reports after each epoch."""
    prepare_process(config, run)
    ranks = Ranks.of(run)
    splits = image_splits(run, config)
    batches = batches_of(splits.train, config, run)
    network = Mlp(splits.num_classes).to(run.device)
    trained = compiled(network, config.compile)
    optimizer = torch.optim.SGD(
        network.parameters(), lr=config.lr, momentum=config.momentum, fused=True
    )
    precision = Precision(config.amp, run.device)
    progress = Progress(network=network, optimizer=optimizer, precision=precision)
    progress.restore(run)
    evaluation = Evaluation(
        run=run,
        ranks=ranks,
        every=config.eval_every,
        val=_examples(splits.val, config, run.device),
        test=_examples(splits.test, config, run.device),
    )
    delivery = Delivery(run.device, config.non_blocking, config.prefetch, run.copying)
    loss = EpochLoss(ranks, run, config.log_every)
    for epoch in run.epochs():
        arrivals = delivery.of(batches.epoch(epoch))
        for arriving in run.batches(arrivals, samples=lambda a: num_samples(a.batch)):
            with run.phase(Phase.TRANSFER):
                images, labels, total = arriving.on_device()
            with run.phase(Phase.FORWARD), precision.autocast():
                summed = functional.cross_entropy(trained(images), labels, reduction="sum")
            with run.phase(Phase.BACKWARD):
                precision.backward(summed / total)
            with run.phase(Phase.OPTIMIZER):
                precision.step(optimizer)
                optimizer.zero_grad()
            loss.add(summed, total)
        run.report(train_loss=loss.mean(epoch), **evaluation.figures(network, epoch))
        progress.keep(run)


def batches_of(images: LabelledImages, config: MlpConfig, run: Run) -> Batches[Batch]:
    """The batches of every epoch: the same ones in the same order, wherever the images are."""
    where = run.device if config.data_placement == "device" else torch.device("cpu")
    examples = _examples(images, config, where)
    inputs, labels = examples.inputs, examples.labels
    if config.batching == "full":
        pinned = config.data_placement == "pinned"
        return (
            WholeSet(inputs.pin_memory(), labels.pin_memory())
            if pinned
            else WholeSet(inputs, labels)
        )
    order = BatchOrder(
        num_samples=len(images),
        batch_size=config.batch_size,
        seed=run.seed,
        drop_last=config.drop_last,
    )
    if config.data_placement == "device":
        return ResidentBatches(inputs, labels, order)
    if config.data_placement == "pinned":
        return StagedBatches(inputs, labels, order)
    cores = cores_of_workers(config, run)
    if config.data_path == "batched":
        return LoadedBatches(Batched(inputs, labels), order, config, cores)
    return LoadedBatches(PerSample(TensorDataset(inputs, labels)), order, config, cores)


def _examples(images: LabelledImages, config: MlpConfig, device: torch.device) -> Examples:
    """(B, 28, 28) bytes as (B, 784) floats, scaled as the config asks."""
    inputs = SCALES[config.input_scale](images.pixels).flatten(1)
    return Examples(inputs=inputs.to(device), labels=images.labels.to(device))


# -- what a config needs


mlp = Trainable(
    train,
    MlpConfig,
    data=(MNIST, DIGITS),
    reports=(*OBJECTIVES, minimize("train_loss")),
    constraints=(
        *PROCESS_CONSTRAINTS,
        *LOADER_CONSTRAINTS,
        streaming_needs_pinned_batches,
        *COMPILE_CONSTRAINTS,
        needs_cuda(
            "data_placement", "pinned", why="page-locked memory only speeds up copies to one"
        ),
    ),
    demand=demand_of,
    keeps_checkpoints=True,
    warm=True,
)


if __name__ == "__main__":
    from orchestrator.standalone import main

    main(mlp)
