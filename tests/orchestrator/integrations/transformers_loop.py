"""A model of Hugging Face's kind, trained by a run as in the documentation."""

from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

from orchestrator.measurement.run import Run
from tests.orchestrator.integrations.loops import (
    NUM_FEATURES,
    NUM_TRAINING,
    NUM_VALIDATION,
    examples,
)

transformers = pytest.importorskip(
    "transformers", reason="needs transformers: requirements-integrations.in"
)
pytest.importorskip("accelerate", reason="needs accelerate: requirements-integrations.in")

from orchestrator.integrations.transformers import TimedTrainer, prepare  # noqa: E402

PHASES = ("wait_ms", "forward_ms", "backward_ms", "optimizer_ms")
ACCUMULATING = {"gradient_accumulation_steps": 2}
EVALUATING_WITHIN = {"eval_strategy": "steps", "eval_steps": 2}


class Classifier(nn.Module):
    """A linear layer that keeps the losses of its steps."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(NUM_FEATURES, 2)
        self.losses: list[float] = []

    def forward(self, rows: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
        scores = self.layer(rows)
        loss = functional.cross_entropy(scores, labels)
        if self.training:
            self.losses.append(loss.item())
        return {"loss": loss, "logits": scores}


def accuracy(prediction: Any) -> dict[str, float]:
    right = prediction.predictions.argmax(1) == prediction.label_ids
    return {"accuracy": float(right.mean())}


def make_trainer(run: Run, kind: Any = TimedTrainer, **more: Any) -> Any:
    """Make a trainer as in the documentation; ``more`` are further arguments."""
    given = {"learning_rate": 0.1, "per_device_train_batch_size": 4, "label_names": ["labels"]}
    arguments = transformers.TrainingArguments(**{**prepare(run), **given, **more})
    return kind(
        run=run,
        names={"eval_accuracy": "val_acc"},
        model=Classifier(),
        args=arguments,
        train_dataset=examples(NUM_TRAINING),
        eval_dataset=examples(NUM_VALIDATION),
        compute_metrics=accuracy,
    )


def fit(run: Run, **more: Any) -> Classifier:
    trainer = make_trainer(run, **more)
    trainer.train()
    return trainer.model
