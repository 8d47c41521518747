"""A Lightning module, trained by a run as in the documentation."""

from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader

from orchestrator.measurement.run import Run
from tests.orchestrator.integrations.loops import (
    NUM_FEATURES,
    NUM_TRAINING,
    NUM_VALIDATION,
    examples,
)

try:
    import lightning.pytorch as pl
except ModuleNotFoundError:
    pl = pytest.importorskip(
        "pytorch_lightning", reason="needs lightning: requirements-integrations.in"
    )

from orchestrator.integrations.lightning import RunCallback, TimedLoader, prepare

PHASES = ("wait_ms", "transfer_ms", "forward_ms", "backward_ms", "optimizer_ms")
ACCUMULATING = {"accumulate_grad_batches": 2}
EVALUATING_WITHIN = {"val_check_interval": 2}


class Classifier(pl.LightningModule):  # type: ignore[misc]
    """A linear layer that keeps the losses of its steps."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(NUM_FEATURES, 2)
        self.losses: list[float] = []

    def training_step(self, batch: Any, batch_idx: int) -> torch.Tensor:
        loss = functional.cross_entropy(self.layer(batch["rows"]), batch["labels"])
        self.log("train_loss", loss, on_step=False, on_epoch=True)
        self.losses.append(loss.item())
        return loss

    def validation_step(self, batch: Any, batch_idx: int) -> None:
        right = self.layer(batch["rows"]).argmax(1) == batch["labels"]
        self.log("acc/val", right.float().mean())

    def test_step(self, batch: Any, batch_idx: int) -> None:
        self.log("test_acc", 0.5)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.parameters(), lr=0.1)


def loaders(batch_size: int = 4) -> tuple[DataLoader[Any], DataLoader[Any]]:
    training: Any = examples(NUM_TRAINING)
    validation: Any = examples(NUM_VALIDATION)
    return DataLoader(training, batch_size, shuffle=True), DataLoader(validation, NUM_VALIDATION)


def fit(run: Run, **more: Any) -> Classifier:
    """Train as in the documentation."""
    arguments = {**prepare(run), **more}
    module = Classifier()
    callback = RunCallback(run, names={"acc/val": "val_acc"})
    trainer = pl.Trainer(**arguments, callbacks=[callback])
    training, validation = loaders()
    trainer.fit(module, TimedLoader(training, run), validation)
    if run.evaluate_test:
        trainer.test(module, validation)
    return module
