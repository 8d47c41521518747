"""Sweeps with a planted fault, and sweeps of the shipped trainables, which have none.

``$PLANTED`` names one. ``order``: a loader with workers that take turns, so that the order of the
samples depends on their number, declared a systems knob. ``slow``: a learning rate at which each
step is computed twice, declared a learning knob. ``sound``: no fault.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Final, Literal

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset, get_worker_info

from orchestrator import (
    NODE,
    Factored,
    Rigor,
    Run,
    Sweep,
    Trainable,
    both,
    choice,
    knobs,
    learning,
    maximize,
    systems,
)

Fault = Literal["sound", "order", "slow"]
FAULTS: Final[tuple[Fault, ...]] = ("sound", "order", "slow")

NUM_SAMPLES: Final = 16_384
NUM_FEATURES: Final = 256
NUM_CLASSES: Final = 8
SLOW_LR: Final = 0.3


@knobs
class FaultyConfig:
    """Knobs of the trainable that a fault is planted in."""

    fault: Fault = learning(default="sound", doc="what is planted")
    num_workers: int = systems(default=0, ge=0, doc="loader processes")
    batch_size: int = both(default=128, ge=1, doc="samples a step")
    lr: float = learning(default=0.03, gt=0, doc="step size")


class _TakenInTurns(IterableDataset[Any]):
    """Samples of which each worker reads its own part, in an order drawn for the epoch."""

    def __init__(self, data: TensorDataset, seed: int) -> None:
        self._data, self._seed = data, seed

    def __iter__(self) -> Iterator[Any]:
        order = torch.randperm(len(self._data), generator=_generator(self._seed))
        worker = get_worker_info()
        first, step = (worker.id, worker.num_workers) if worker else (0, 1)
        return (self._data[index] for index in order[first::step].tolist())


def train(config: FaultyConfig, run: Run) -> None:
    """Train a network of one hidden layer to agree with a random one."""
    torch.set_num_threads(1)  # a step is too short to be shared
    torch.manual_seed(run.seed)
    (inputs, labels), held_out = _drawn(0, NUM_SAMPLES), _drawn(1, 2_000)
    data = TensorDataset(inputs, labels)
    model = nn.Sequential(
        nn.Linear(NUM_FEATURES, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 8)
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=config.lr, momentum=0.9)
    loss_of = nn.CrossEntropyLoss()
    for epoch in run.epochs():
        seed = 1000 * run.seed + epoch
        for x, y in run.batches(_loader(config, data, seed), samples=lambda batch: len(batch[1])):
            if config.fault == "slow" and config.lr == SLOW_LR:
                loss_of(model(x), y).backward()
            optimizer.zero_grad()
            loss = loss_of(model(x), y)
            loss.backward()
            optimizer.step()
        with run.evaluating(), torch.no_grad():
            right = model(held_out[0]).argmax(dim=1) == held_out[1]
        run.report(val_acc=right.float().mean().item())


def _loader(config: FaultyConfig, data: TensorDataset, seed: int) -> DataLoader[Any]:
    in_turns = config.fault == "order"
    source: Dataset[Any] = _TakenInTurns(data, seed) if in_turns else data
    return DataLoader(
        source,
        batch_size=config.batch_size,
        shuffle=None if in_turns else True,
        num_workers=config.num_workers,
        generator=_generator(seed),
    )


def _drawn(seed: int, number: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return inputs and labels: which of eight fixed directions an input lies along most."""
    directions = torch.randn(NUM_FEATURES, NUM_CLASSES, generator=_generator(7))
    inputs = torch.randn(number, NUM_FEATURES, generator=_generator(seed))
    return inputs, (inputs @ directions).argmax(dim=1)


def _generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


FAULTY: Final = Trainable(
    train,
    FaultyConfig,
    reports=[maximize("val_acc")],
    preload=("torch", "torch._dynamo"),
    warm=True,
    name="faulty",
)


def _sweep(trainable: Trainable[Any], space: object, **own: Any) -> Sweep[Any]:  # noqa: ANN401
    known: dict[str, Any] = {"epochs": 4, "search": Factored(), "rigor": Rigor(confirm=0)} | own
    question = "Are the roles of the knobs true?"
    return Sweep(trainable, question=question, space=space, cores_per_trial=NODE, **known)


def _faulty(fault: Fault) -> Sweep[Any]:
    space = FaultyConfig(
        fault=fault,
        num_workers=choice(0, 2),
        batch_size=choice(64, 128, 256),
        lr=choice(0.003, 0.01, 0.03, 0.1, SLOW_LR),
    )
    return _sweep(FAULTY, space, baseline=FaultyConfig(fault=fault))


# Each is imported when it is needed, so that a trial's process imports no other.


def _lenet() -> Sweep[Any]:
    from trainables.lenet import LeNetConfig, lenet

    space = LeNetConfig(
        data_path=choice("per_sample", "batched"),
        num_workers=choice(0, 2),
        channels_last=choice(False, True),
        batch_size=choice(64, 256),
        lr=choice(1e-2, 1e-1),
    )
    return _sweep(lenet, space, embedded_data="digits")


def _mlp() -> Sweep[Any]:
    from trainables.mlp import MlpConfig, mlp

    space = MlpConfig(
        data_path=choice("per_sample", "batched"),
        num_workers=choice(0, 2),
        prefetch=choice("off", "thread"),
        batch_size=choice(64, 256),
        lr=choice(5e-3, 5e-2),
    )
    return _sweep(mlp, space, embedded_data="digits")


def _graphsage() -> Sweep[Any]:
    from trainables.graphsage import SageConfig, graphsage

    space = SageConfig(
        num_workers=choice(0, 1, 2),
        prefetch=choice("off", "thread"),
        batch_size=choice(1000, 2000),
        lr=choice(3e-3, 3e-2),
    )
    return _sweep(graphsage, space, data="ogbn-products", embedded_data="products-synthetic")


def _rgat() -> Sweep[Any]:
    from trainables.rgat import RgatConfig, rgat

    space = RgatConfig(
        hidden=64,
        num_workers=choice(0, 2),
        prefetch=choice("off", "thread"),
        batch_size=choice(512, 1024),
        lr=choice(1e-3, 1e-2),
    )
    data = {"data": "mag240m", "embedded_data": "mag-synthetic"}
    return _sweep(rgat, space, baseline=RgatConfig(hidden=64), epochs=2, **data)


def _node_embedding() -> Sweep[Any]:
    from trainables.node_embedding import NodeEmbeddingConfig, node_embedding

    space = NodeEmbeddingConfig(
        num_workers=choice(0, 2),
        prefetch=choice("off", "thread"),
        pair_container=choice("list", "ndarray"),
        walks_per_node=1,
        window=2,
        epoch_pairs=30_000,
        batch_size=choice(1000, 2000),
        lr=choice(0.05, 0.2),
    )
    baseline = NodeEmbeddingConfig(walks_per_node=1, window=2, epoch_pairs=30_000)
    data = {"data": "ogbn-products", "embedded_data": "products-synthetic"}
    return _sweep(node_embedding, space, baseline=baseline, **data)


SWEEPS: Final[Mapping[str, Callable[[], Sweep[Any]]]] = {
    **{fault: partial(_faulty, fault) for fault in FAULTS},
    "lenet": _lenet,
    "mlp": _mlp,
    "graphsage": _graphsage,
    "rgat": _rgat,
    "node_embedding": _node_embedding,
}

SWEEP: Final = SWEEPS[os.environ.get("PLANTED", "sound")]()
