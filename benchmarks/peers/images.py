"""LeNet-5 and a perceptron on MNIST as one writes them by hand: torchvision and a DataLoader."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, TensorDataset
from torchvision import datasets, transforms

if TYPE_CHECKING:
    from trainables.lenet import LeNetConfig
    from trainables.mlp import MlpConfig

PIXELS = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.1307,), (0.3081,))])


def lenet(config: LeNetConfig, folder: Path, *, epochs: int, seed: int) -> float:
    """Train LeNet-5 on all of the training images; return the test accuracy.

    Args:
        config: Learning rate, momentum and batch size.
        folder: It holds ``MNIST/raw``.
        epochs: Passes over the images.
        seed: Of weights and order.
    """
    torch.manual_seed(seed)
    network = nn.Sequential(
        nn.Conv2d(1, 6, 3), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10),
    )  # fmt: skip
    train, test = (
        datasets.MNIST(str(folder), train=part, download=True, transform=PIXELS)
        for part in (True, False)
    )
    loader = DataLoader(train, batch_size=config.batch_size, shuffle=True)
    _train(network, loader, lr=config.lr, momentum=config.momentum, epochs=epochs)
    return _accuracy(network, DataLoader(test, batch_size=1000))


def mlp(config: MlpConfig, folder: Path, *, epochs: int, seed: int) -> float:
    """Train the perceptron on normalised pixels; see :func:`lenet`."""
    torch.manual_seed(seed)
    layers: list[nn.Module] = [nn.Flatten()]
    for width, following in pairwise((784, 600, 300, 100, 10)):
        layers += [nn.Linear(width, following), nn.ReLU()]
    network = nn.Sequential(*layers[:-1])
    train, test = (
        TensorDataset((images.data / 255 - 0.1307) / 0.3081, images.targets)
        for images in (datasets.MNIST(str(folder), train=part, download=True) for part in (1, 0))
    )
    loader = DataLoader(train, batch_size=config.batch_size, shuffle=True)
    _train(network, loader, lr=config.lr, momentum=config.momentum, epochs=epochs)
    return _accuracy(network, DataLoader(test, batch_size=1000))


def _train(
    network: nn.Module,
    loader: DataLoader[tuple[torch.Tensor, ...]],
    *,
    lr: float,
    momentum: float,
    epochs: int,
) -> None:
    optimizer = torch.optim.SGD(network.parameters(), lr=lr, momentum=momentum)
    for _ in range(epochs):
        for images, labels in loader:
            optimizer.zero_grad()
            functional.cross_entropy(network(images), labels).backward()
            optimizer.step()


@torch.no_grad()
def _accuracy(network: nn.Module, loader: DataLoader[tuple[torch.Tensor, ...]]) -> float:
    network.eval()
    right = [(network(images).argmax(1) == labels) for images, labels in loader]
    return float(torch.cat(right).double().mean())
