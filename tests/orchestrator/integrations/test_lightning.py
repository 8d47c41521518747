"""A Lightning trainer driven and measured by a run, with the real library."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader, IterableDataset

from orchestrator.measurement import memory
from orchestrator.measurement.ceilings import measure_ceilings
from orchestrator.measurement.run import Run, TrialStopped
from orchestrator.trial import Stage
from tests.orchestrator.integrations.loops import (
    NUM_FEATURES,
    NUM_TRAINING,
    NUM_VALIDATION,
    examples,
    make_run,
)

try:
    import lightning.pytorch as pl
    from lightning.pytorch.loggers import CSVLogger
except ModuleNotFoundError:
    pl = pytest.importorskip(
        "pytorch_lightning", reason="needs lightning: requirements-integrations.in"
    )
    from pytorch_lightning.loggers import CSVLogger

from orchestrator.integrations.lightning import RunCallback, TimedLoader, prepare

pytestmark = pytest.mark.filterwarnings("ignore")  # of the library


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


@pytest.fixture(autouse=True)
def _as_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    threads = torch.get_num_threads()
    (tmp_path / "home").mkdir()
    monkeypatch.chdir(tmp_path / "home")
    for name in ("PL_GLOBAL_SEED", "PL_SEED_WORKERS", "CRC32C_SW_MODE"):  # which libraries set
        monkeypatch.setenv(name, "")
    monkeypatch.setattr(memory, "memory_at", lambda _: None)  # it takes longer than an epoch here
    yield
    torch.set_num_threads(threads)


def loaders(batch_size: int = 4) -> tuple[DataLoader[Any], DataLoader[Any]]:
    training: Any = examples(NUM_TRAINING)
    validation: Any = examples(NUM_VALIDATION)
    return DataLoader(training, batch_size, shuffle=True), DataLoader(validation, NUM_VALIDATION)


def fit(run: Run, **more: Any) -> Classifier:
    """Train as the documentation says."""
    arguments = {**prepare(run), **more}
    module = Classifier()
    callback = RunCallback(run, names={"acc/val": "val_acc"})
    trainer = pl.Trainer(**arguments, callbacks=[callback])
    training, validation = loaders()
    trainer.fit(module, TimedLoader(training, run), validation)
    if run.evaluate_test:
        trainer.test(module, validation)
    return module


PHASES = ("wait_ms", "transfer_ms", "forward_ms", "backward_ms", "optimizer_ms")


def test_a_training_is_measured_and_reported_by_epoch(tmp_path: Path) -> None:
    run, reports = make_run(tmp_path, epochs=3)
    fit(run)
    assert [report.epoch for report in reports.kept] == [1, 2, 3]
    assert reports.of("steps") == [5, 10, 15]
    assert [report.samples for report in reports.kept] == [20, 40, 60]
    accuracies = reports.of("val_acc")
    assert all(accuracy is not None and 0 <= accuracy <= 1 for accuracy in accuracies)
    assert None not in reports.of("train_loss")
    assert None not in reports.of("epoch_s")
    last = reports.kept[-1].metrics
    assert [phase for phase in PHASES if phase not in last] == []
    assert last["eval_s"] > 0
    assert last["epochs"] == 3
    assert sum(last[phase] for phase in PHASES) < 1.01 * last["step_ms"]


def test_the_budget_may_be_steps(tmp_path: Path) -> None:
    run, reports = make_run(tmp_path, epochs=9, steps=7)
    module = fit(run)
    assert len(module.losses) == 7
    assert reports.of("steps") == [5, 7]
    assert None not in reports.of("val_acc"), "evaluated where the budget ends, within an epoch"


class AfterSeven:
    """A rule that ends a trial there."""

    def is_due(self, num_steps: int) -> bool:
        return num_steps == 7

    def is_enough(self, _num_steps: int, _blocks: object) -> bool:
        return True


def test_a_throughput_that_is_known_ends_the_training(tmp_path: Path) -> None:
    run, reports = make_run(tmp_path, epochs=9)
    run._rule = AfterSeven()  # type: ignore[assignment]
    fit(run)
    assert reports.of("steps") == [5, 7]
    assert None not in reports.of("val_acc")


def test_a_pause_ends_after_its_epoch(tmp_path: Path) -> None:
    run, reports = make_run(tmp_path, epochs=3, pause_after=1)
    fit(run)
    assert len(reports.kept) == 1
    assert run.pause_reason == "paused after 1 of 3 epochs"


def test_a_trial_that_is_to_stop_leaves(tmp_path: Path) -> None:
    run, reports = make_run(tmp_path, epochs=9, stop_after=2)
    with pytest.raises(TrialStopped):
        fit(run)
    assert len(reports.kept) == 2


def test_seed_and_threads_are_the_runs(tmp_path: Path) -> None:
    losses = []
    for seed in (1, 1, 2):
        torch.set_num_threads(2)
        losses.append(fit(make_run(tmp_path, seed=seed)[0]).losses)
        assert torch.get_num_threads() == 1
    assert losses[0] == losses[1] != losses[2]


def test_all_files_go_to_the_trials_own_folder(tmp_path: Path) -> None:
    run, _ = make_run(tmp_path)
    fit(run, logger=True, enable_checkpointing=True)
    assert list((tmp_path / "home").iterdir()) == []
    assert list(run.folder.rglob("*.ckpt"))
    other, _ = make_run(tmp_path)
    fit(other, logger=CSVLogger(other.folder))
    assert list((tmp_path / "home").iterdir()) == []


def test_nothing_is_evaluated_where_speed_alone_counts(tmp_path: Path) -> None:
    run, reports = make_run(tmp_path, evaluated=False)
    fit(run)
    assert len(reports.kept) == 2
    assert "eval_s" not in reports.kept[-1].metrics
    assert "val_acc" not in reports.kept[-1].metrics


def test_probes_are_known_by_their_batches_and_first_loss(tmp_path: Path) -> None:
    told = []
    for seed in (1, 1, 2):
        run, reports = make_run(tmp_path, evaluated=False, seed=seed, stage=Stage.PROBE)
        losses = fit(run).losses
        last = reports.kept[-1]
        assert last.metrics["first_loss"] == pytest.approx(losses[0])
        told.append((last.tags["batches"], losses[0]))
    assert told[0] == told[1] != told[2]


def test_validation_within_an_epoch_is_no_step(tmp_path: Path) -> None:
    run, reports = make_run(tmp_path)
    fit(run, val_check_interval=2)
    assert reports.of("steps") == [5, 10]
    assert [report.samples for report in reports.kept] == [20, 40]
    assert None not in reports.of("val_acc")
    assert reports.of("epoch_s") == [None, None]


def test_a_step_is_one_of_the_optimizer(tmp_path: Path) -> None:
    run, reports = make_run(tmp_path)
    module = fit(run, accumulate_grad_batches=2)
    assert reports.of("steps") == [3, 6]
    assert len(module.losses) == 10
    assert reports.kept[-1].samples == 40


def test_a_validation_every_other_epoch_is_reported_when_it_is_new(tmp_path: Path) -> None:
    run, reports = make_run(tmp_path, epochs=4)
    fit(run, check_val_every_n_epoch=2)
    assert [accuracy is None for accuracy in reports.of("val_acc")] == [True, False, True, False]
    assert None not in reports.of("train_loss")


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
    """A module that calls its optimizer itself, and has two validation sets."""

    def __init__(self) -> None:
        super().__init__()
        self.automatic_optimization = False

    def training_step(self, batch: Any, batch_idx: int) -> None:  # type: ignore[override]
        optimizer = self.optimizers()
        loss = super().training_step(batch, batch_idx)
        optimizer.zero_grad()
        self.manual_backward(loss)
        optimizer.step()

    def validation_step(self, batch: Any, batch_idx: int, dataloader_idx: int = 0) -> None:
        super().validation_step(batch, batch_idx)


def test_data_modules_optimization_by_hand_and_several_sets(tmp_path: Path) -> None:
    run, reports = make_run(tmp_path)
    trainer = pl.Trainer(
        **prepare(run), callbacks=[RunCallback(run)], reload_dataloaders_every_n_epochs=1
    )
    trainer.fit(ByHand(), datamodule=Data(run))
    assert reports.of("steps") == [5, 10]
    assert [phase for phase in PHASES if phase not in reports.kept[-1].metrics] == []
    for number in (0, 1):
        assert None not in reports.of(f"acc/val/dataloader_idx_{number}")


def test_a_training_may_end_early_by_a_callback_of_its_own(tmp_path: Path) -> None:
    run, reports = make_run(tmp_path, epochs=9)
    stopping = pl.callbacks.EarlyStopping("acc/val", patience=1, mode="min", min_delta=2.0)
    trainer = pl.Trainer(**prepare(run), callbacks=[stopping, RunCallback(run)])
    training, validation = loaders()
    trainer.fit(Classifier(), TimedLoader(training, run), validation)
    assert 1 <= len(reports.kept) < 9
    assert [report.epoch for report in reports.kept] == [*range(1, len(reports.kept) + 1)]
    assert run.recording().num_epochs == len(reports.kept)


class Stream(IterableDataset[Any]):
    def __iter__(self) -> Iterator[Any]:
        yield from examples(NUM_TRAINING)


def test_a_stream_has_no_length(tmp_path: Path) -> None:
    run, reports = make_run(tmp_path, epochs=2, steps=7)
    module, (_, validation) = Classifier(), loaders()
    trainer = pl.Trainer(**prepare(run), callbacks=[RunCallback(run)])
    trainer.fit(module, TimedLoader(DataLoader(Stream(), 4), run), validation)
    assert len(module.losses) == 7
    assert reports.of("steps") == [5, 7]
    assert None not in reports.of("acc/val")


def test_ceilings_are_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("orchestrator.measurement.ceilings.MAX_SHARE", 1000)
    run, _ = make_run(tmp_path, epochs=4)
    fit(run)

    def train(again: Run) -> None:
        fit(again)

    ceilings = measure_ceilings(train, run)
    assert ceilings is not None
    assert ceilings.metrics["loader_only_samples_per_s"] > 0
    assert ceilings.metrics["compute_only_samples_per_s"] > 0


def test_a_loader_that_is_not_timed_is_refused(tmp_path: Path) -> None:
    run, _ = make_run(tmp_path)
    trainer = pl.Trainer(**prepare(run), callbacks=[RunCallback(run)])
    with pytest.raises(TypeError, match=r"give trainer.fit TimedLoader\(loader, run\)"):
        trainer.fit(Classifier(), *loaders())


def test_a_scheduler_around_the_program_is_not_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Under Slurm the library would take the job's tasks for ranks of the trial."""
    monkeypatch.setenv("SLURM_NTASKS", "4")
    monkeypatch.setenv("SLURM_JOB_NAME", "sweep")
    monkeypatch.setenv("SLURM_PROCID", "3")
    monkeypatch.setenv("SLURM_LOCALID", "3")
    run, reports = make_run(tmp_path)
    fit(run)
    assert reports.of("steps") == [5, 10]
