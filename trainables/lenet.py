"""LeNet-5 on small grey images: one process, DataParallel, or a process a GPU or core.

Convolutions of 3x3 to 6 and 16 channels, linear layers 400-120-84-classes; SGD with momentum.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import Literal

import torch
from torch import nn
from torch.nn import functional

from orchestrator import (
    Demand,
    Machine,
    Phase,
    Run,
    Trainable,
    both,
    knobs,
    learning,
    minimize,
    requires,
    systems,
)
from trainables.checkpoints import Progress
from trainables.classification import OBJECTIVES
from trainables.compiling import COMPILE_CONSTRAINTS, CompileKnobs, compiled
from trainables.data.sets.digits import DIGITS
from trainables.data.sets.mnist import MNIST
from trainables.images import (
    DEVIATION,
    MEAN,
    Evaluation,
    Examples,
    ImageKnobs,
    LabelledImages,
    image_splits,
    normalised,
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
    num_samples,
)
from trainables.losses import EpochLoss
from trainables.parallel import joined_ranks
from trainables.precision import Precision
from trainables.settings import (
    LOADER_CONSTRAINTS,
    PROCESS_CONSTRAINTS,
    BatchKnobs,
    LoaderKnobs,
    ProcessKnobs,
    cores_of_workers,
    demand_of,
    prepare_process,
)

DP_GPUS = 2


@knobs
class LeNetConfig(ProcessKnobs, LoaderKnobs, ImageKnobs, BatchKnobs, CompileKnobs):
    """Knobs of LeNet-5."""

    lr: float = learning(default=1e-3, gt=0, doc="SGD step size at a batch of 256")
    momentum: float = learning(default=0.9, ge=0, lt=1, doc="momentum of SGD")
    batch_size: int = both(default=256, ge=1, doc="images a step, over all ranks")
    data_path: Literal["per_sample", "batched", "resident"] = systems(
        default="per_sample",
        doc="images through torchvision's transforms one by one; whole batches indexed in the "
        "loader; or all of them normalised once and indexed on the device",
    )
    parallel: Literal["none", "dp", "ddp"] = systems(
        default="none", doc="one device; DataParallel over two GPUs; a process for each rank"
    )
    ranks: int = systems(
        default=1,
        ge=1,
        doc="processes of parallel=ddp, a GPU or a share of the cores each; they split each batch",
        applies=lambda config: config.parallel == "ddp",
    )
    channels_last: bool = systems(default=False, doc="keep the channels of a pixel together")

    def has_loader(self) -> bool:
        """Return True if batches come through a loader."""
        return self.data_path != "resident"


class LeNet(nn.Module):
    """LeNet-5 with 3x3 kernels. Shapes: B images of 28 x 28 pixels in, B x classes scores out."""

    def __init__(self, num_classes: int = 10) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 3)
        self.conv2 = nn.Conv2d(6, 16, 3)
        self.linear1 = nn.Linear(400, 120)
        self.linear2 = nn.Linear(120, 84)
        self.linear3 = nn.Linear(84, num_classes)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Scores of each class, (B, classes), from images, (B, 1, 28, 28)."""
        hidden = functional.max_pool2d(functional.relu(self.conv1(images)), 2)  # (B, 6, 13, 13)
        hidden = functional.max_pool2d(functional.relu(self.conv2(hidden)), 2)  # (B, 16, 5, 5)
        hidden = functional.relu(self.linear1(hidden.flatten(1)))  # (B, 120)
        hidden = functional.relu(self.linear2(hidden))  # (B, 84)
        scores: torch.Tensor = self.linear3(hidden)
        return scores


def train(config: LeNetConfig, run: Run) -> None:
    """Train for the run's budget, on every rank; reports after each epoch."""
    prepare_process(config, run)
    with joined_ranks(run) as ranks:
        splits = image_splits(run, config)
        batches = batches_of(splits.train, config, run)
        network = LeNet(splits.num_classes).to(run.device)
        if config.channels_last:
            network = network.to(memory_format=torch.channels_last)
        precision = Precision(config.amp, run.device)
        # Evaluation and checkpoints use the network itself, the steps what is wrapped around it.
        trained = ranks.parallel(
            compiled(network, config.compile), config.parallel, precision.autocast
        )
        optimizer = torch.optim.SGD(
            network.parameters(), lr=config.scaled_lr(), momentum=config.momentum, fused=True
        )
        progress = Progress(network=network, optimizer=optimizer, precision=precision)
        progress.restore(run)
        evaluation = Evaluation(
            run=run,
            ranks=ranks,
            every=config.eval_every,
            val=_examples(splits.val, run.device),
            test=_examples(splits.test, run.device),
        )
        delivery = Delivery(run.device, non_blocking=config.non_blocking)
        loss = EpochLoss(ranks, run, config.log_every)
        for epoch in run.epochs():
            arrivals = delivery.of(batches.epoch(epoch))
            for arriving in run.batches(arrivals, samples=lambda a: num_samples(a.batch)):
                with run.phase(Phase.TRANSFER):
                    images, labels, total = arriving.on_device()
                with run.phase(Phase.FORWARD), precision.autocast():
                    summed = functional.cross_entropy(trained(images), labels, reduction="sum")
                with run.phase(Phase.BACKWARD):
                    precision.backward(ranks.loss(summed, total))
                with run.phase(Phase.OPTIMIZER):
                    precision.step(optimizer)
                    optimizer.zero_grad()
                loss.add(summed, len(labels))
            run.report(train_loss=loss.mean(epoch), **evaluation.figures(network, epoch))
            progress.keep(run)


def batches_of(images: LabelledImages, config: LeNetConfig, run: Run) -> Batches[Batch]:
    """The batches of every epoch: the same ones in the same order, whatever the data path."""
    order = BatchOrder(
        num_samples=len(images),
        batch_size=config.batch_size,
        seed=run.seed,
        drop_last=config.drop_last,
        rank=run.rank,
        world_size=run.world_size,
    )
    if config.data_path == "resident":
        examples = _examples(images, run.device)
        return ResidentBatches(examples.inputs, examples.labels, order)
    cores = cores_of_workers(config, run)
    if config.data_path == "batched":
        return LoadedBatches(Batched(images.pixels, images.labels, _inputs), order, config, cores)
    return LoadedBatches(PerSample(TransformedImages(images)), order, config, cores)


class TransformedImages:
    """Images one by one, as ``torchvision.datasets.MNIST`` with the usual transforms has them."""

    def __init__(self, images: LabelledImages) -> None:
        from torchvision import transforms

        self._images = images
        self._transform = transforms.Compose(
            [transforms.ToTensor(), transforms.Normalize((MEAN,), (DEVIATION,))]
        )

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        """The image, (1, 28, 28), and what it shows."""
        from PIL import Image

        image = Image.fromarray(self._images.pixels[index].numpy())
        return self._transform(image), int(self._images.labels[index])


def _inputs(pixels: torch.Tensor) -> torch.Tensor:
    """(B, 28, 28) bytes as (B, 1, 28, 28) normalised floats."""
    return normalised(pixels).unsqueeze(1)


def _examples(images: LabelledImages, device: torch.device) -> Examples:
    return Examples(inputs=_inputs(images.pixels).to(device), labels=images.labels.to(device))


# -- what a config needs


def demand(config: LeNetConfig, machine: Machine) -> Demand:
    """A process for each rank of ``ddp``; one with two GPUs for ``dp``; else one."""
    return demand_of(
        config,
        machine,
        ranks=config.ranks if config.parallel == "ddp" else 1,
        gpus_per_rank=DP_GPUS if config.parallel == "dp" else 1,
    )


def _dp_needs_two_gpus(config: LeNetConfig, machine: Machine) -> str | None:
    if config.parallel != "dp":
        return None
    if config.device == "cpu":
        return "parallel=dp needs two GPUs, and device=cpu uses none"
    if machine.gpus < DP_GPUS:
        return f"parallel=dp needs two GPUs, the largest node has {machine.gpus}"
    return None


@cache
def has_torchvision() -> bool:
    """Return True if torchvision is installed."""
    return find_spec("torchvision") is not None


lenet = Trainable(
    train,
    LeNetConfig,
    data=(MNIST, DIGITS),
    reports=(*OBJECTIVES, minimize("train_loss")),
    constraints=(
        *PROCESS_CONSTRAINTS,
        *LOADER_CONSTRAINTS,
        _dp_needs_two_gpus,
        *COMPILE_CONSTRAINTS,
        requires(
            lambda config: config.parallel != "ddp" or config.ranks > 1,
            "parallel=ddp needs ranks of at least 2: one process is parallel=none",
        ),
        requires(
            lambda config: config.compile == "off" or config.parallel != "dp",
            "compile does not go with parallel=dp, which copies the network in every step",
        ),
        requires(
            lambda config: config.data_path != "per_sample" or has_torchvision(),
            "data_path=per_sample needs torchvision, which is not installed here",
        ),
    ),
    demand=demand,
    keeps_checkpoints=True,
    warm=True,
)


if __name__ == "__main__":
    from orchestrator.standalone import main

    main(lenet)
