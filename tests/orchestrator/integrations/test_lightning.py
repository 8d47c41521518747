"""A Lightning trainer driven by a run, beyond what ``test_contract`` tests of every loop."""

from pathlib import Path
from typing import Any

import pytest
import torch

from orchestrator.measurement.run import Run
from orchestrator.trial import Stage
from tests.orchestrator.integrations.lightning_loop import PHASES, Classifier, fit, loaders
from tests.orchestrator.integrations.loops import make_run

try:
    import lightning.pytorch as pl
    from lightning.pytorch.loggers import CSVLogger
except ModuleNotFoundError:
    pl = pytest.importorskip(
        "pytorch_lightning", reason="needs lightning: requirements-integrations.in"
    )
    from pytorch_lightning.loggers import CSVLogger

from orchestrator.integrations.lightning import RunCallback, TimedLoader, prepare

pytestmark = [
    pytest.mark.filterwarnings("ignore"),  # of the library
    pytest.mark.usefixtures("home"),
]


def test_all_files_go_to_the_trials_own_folder(tmp_path: Path, home: Path) -> None:
    run, _ = make_run(tmp_path)
    fit(run, logger=True, enable_checkpointing=True)
    assert list(home.iterdir()) == []
    assert list(run.folder.rglob("*.ckpt"))
    other, _ = make_run(tmp_path)
    fit(other, logger=CSVLogger(other.folder))
    assert list(home.iterdir()) == []


def test_a_test_split_is_reported(tmp_path: Path) -> None:
    run, reports = make_run(tmp_path)
    object.__setattr__(run._context, "evaluate_test", True)
    fit(run)
    assert reports.of("test_acc") == [None, None, 0.5]
    assert reports.kept[-1].epoch == 2


class Data(pl.LightningDataModule):  # type: ignore[misc]
    """A data module with two validation sets, the second of which is reported by its number."""

    def __init__(self, run: Run) -> None:
        super().__init__()
        self.run = run

    def train_dataloader(self) -> Any:
        return TimedLoader(loaders()[0], self.run)

    def val_dataloader(self) -> Any:
        return [loaders()[1], loaders()[1]]


class ByHand(Classifier):
    """A module that calls its two optimizers itself, and has two validation sets."""

    def __init__(self) -> None:
        super().__init__()
        self.automatic_optimization = False

    def training_step(self, batch: Any, batch_idx: int) -> None:  # type: ignore[override]
        for optimizer in self.optimizers():
            loss = super().training_step(batch, batch_idx)
            optimizer.zero_grad()
            self.manual_backward(loss)
            optimizer.step()

    def configure_optimizers(self) -> Any:
        return [super().configure_optimizers(), super().configure_optimizers()]

    def validation_step(self, batch: Any, batch_idx: int, dataloader_idx: int = 0) -> None:
        super().validation_step(batch, batch_idx)


def test_data_modules_optimization_by_hand_and_several_sets(tmp_path: Path) -> None:
    run, reports = make_run(tmp_path, steps=8)
    trainer = pl.Trainer(
        **prepare(run), callbacks=[RunCallback(run)], reload_dataloaders_every_n_epochs=1
    )
    trainer.fit(ByHand(), datamodule=Data(run))
    assert reports.of("steps") == [5, 8], "a step is a batch, not an optimizer's"
    assert [phase for phase in PHASES if phase not in reports.kept[-1].metrics] == []
    for number in (0, 1):
        assert None not in reports.of(f"acc/val/dataloader_idx_{number}")


def test_a_training_may_end_early_by_its_own_callback(tmp_path: Path) -> None:
    run, reports = make_run(tmp_path, epochs=9)
    stopping = pl.callbacks.EarlyStopping("acc/val", patience=1, mode="min", min_delta=2.0)
    trainer = pl.Trainer(**prepare(run), callbacks=[stopping, RunCallback(run)])
    training, validation = loaders()
    trainer.fit(Classifier(), TimedLoader(training, run), validation)
    assert 1 <= len(reports.kept) < 9
    assert [report.epoch for report in reports.kept] == [*range(1, len(reports.kept) + 1)]
    assert run.recording().num_epochs == len(reports.kept)


def test_a_loader_that_is_not_timed_is_refused(tmp_path: Path) -> None:
    run, _ = make_run(tmp_path)
    trainer = pl.Trainer(**prepare(run), callbacks=[RunCallback(run)])
    with pytest.raises(TypeError, match=r"give trainer.fit TimedLoader\(loader, run\)"):
        trainer.fit(Classifier(), *loaders())


class Waits(Classifier):
    """A module with a schedule that waits for a figure of the validation."""

    def configure_optimizers(self) -> Any:
        optimizer = super().configure_optimizers()
        schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer)
        return {
            "optimizer": optimizer,
            "lr_scheduler": {"scheduler": schedule, "monitor": "acc/val"},
        }


def test_a_trial_of_speed_alone_waits_for_no_figure_of_the_validation(tmp_path: Path) -> None:
    run, reports = make_run(tmp_path, evaluated=False, stage=Stage.PROBE)
    stopping = pl.callbacks.EarlyStopping("acc/val", mode="max")
    trainer = pl.Trainer(**prepare(run), callbacks=[stopping, RunCallback(run)])
    training, validation = loaders()
    trainer.fit(Waits(), TimedLoader(training, run), validation)
    assert reports.of("steps") == [5, 10]
