"""Two ranks of a trial in the loop of a framework: real processes, with the real libraries."""

from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.helping import python

COMMON = """
from orchestrator import Demand, Trainable, knobs, maximize, systems
from orchestrator.standalone import main
from tests.orchestrator.integrations.loops import examples

@knobs
class Config:
    num_workers: int = systems(default=0, ge=0, doc="loader processes")

{train}

ranked = Trainable(
    train, Config, reports=[maximize("val_acc")], demand=lambda config, machine: Demand(ranks=2)
)
if __name__ == "__main__":
    main(ranked)
"""

LIGHTNING = """
import lightning.pytorch as pl
from orchestrator.integrations.lightning import RunCallback, TimedLoader, prepare
from tests.orchestrator.integrations.lightning_loop import Classifier
from torch.utils.data import DataLoader, DistributedSampler

def train(config, run):
    trainer = pl.Trainer(**prepare(run), callbacks=[RunCallback(run, {"acc/val": "val_acc"})])
    rows = examples(20)
    sampler = DistributedSampler(rows, run.world_size, run.rank)
    loader = DataLoader(rows, 2, sampler=sampler, num_workers=config.num_workers)
    trainer.fit(Classifier(), TimedLoader(loader, run), DataLoader(examples(8), 4))
"""

TRANSFORMERS = """
from orchestrator.integrations.transformers import TimedTrainer, prepare
from tests.orchestrator.integrations.transformers_loop import Classifier, accuracy
from transformers import TrainingArguments

def train(config, run):
    TimedTrainer(
        run=run, names={"eval_accuracy": "val_acc"}, model=Classifier(),
        args=TrainingArguments(
            **prepare(run), per_device_train_batch_size=2, label_names=["labels"],
            dataloader_num_workers=config.num_workers,
        ),
        train_dataset=examples(20), eval_dataset=examples(8), compute_metrics=accuracy,
    ).train()
"""


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("library", "train"), [("lightning", LIGHTNING), ("transformers", TRANSFORMERS)]
)
def test_two_ranks_train_together(library: str, train: str, tmp_path: Path) -> None:
    if find_spec(library) is None:
        pytest.skip(f"needs {library}: requirements-integrations.in")
    (tmp_path / "ranked.py").write_text(COMMON.format(train=train))
    done = python(
        "-m", "ranked", "--epochs", "2", "--num-workers", "1", cwd=tmp_path, timeout=280,
    )  # fmt: skip
    figures = dict(line.split()[:2] for line in done.stdout.splitlines() if len(line.split()) > 1)
    assert float(figures["steps"]) == 10, done.stdout  # 20 samples, 2 a step on each of 2 ranks
    assert {"val_acc", "samples_per_s", "forward_ms"} <= set(figures)
    assert {path.name for path in tmp_path.iterdir()} <= {"__pycache__", "ranked.py"}
