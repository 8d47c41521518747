"""A Hugging Face trainer driven and measured by a run, with the real library."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

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

transformers = pytest.importorskip(
    "transformers", reason="needs transformers: requirements-integrations.in"
)
pytest.importorskip("accelerate", reason="needs accelerate: requirements-integrations.in")

from orchestrator.integrations.transformers import (  # noqa: E402
    Timed,
    TimedTrainer,
    prepare,
)

pytestmark = pytest.mark.filterwarnings("ignore")  # of the library


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


@pytest.fixture(autouse=True)
def _as_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    threads = torch.get_num_threads()
    (tmp_path / "home").mkdir()
    monkeypatch.chdir(tmp_path / "home")
    monkeypatch.setattr(memory, "memory_at", lambda _: None)  # it takes longer than an epoch here
    yield
    torch.set_num_threads(threads)


def accuracy(prediction: Any) -> dict[str, float]:
    right = prediction.predictions.argmax(1) == prediction.label_ids
    return {"accuracy": float(right.mean())}


def make_trainer(run: Run, kind: Any = TimedTrainer, **more: Any) -> Any:
    """Make a trainer as the documentation says; ``more`` is of its arguments."""
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
    model: Classifier = trainer.model
    return model


PHASES = ("wait_ms", "forward_ms", "backward_ms", "optimizer_ms")


def test_a_training_is_measured_and_reported_by_epoch(tmp_path: Path) -> None:
    run, reports = make_run(tmp_path, epochs=3)
    fit(run)
    assert [report.epoch for report in reports.kept] == [1, 2, 3]
    assert reports.of("steps") == [5, 10, 15]
    assert [report.samples for report in reports.kept] == [20, 40, 60]
    accuracies = reports.of("val_acc")
    assert all(accuracy is not None and 0 <= accuracy <= 1 for accuracy in accuracies)
    assert None not in [*reports.of("train_loss"), *reports.of("eval_loss")]
    assert None not in reports.of("epoch_s")
    last = reports.kept[-1].metrics
    assert [phase for phase in PHASES if phase not in last] == []
    assert last["eval_s"] > 0
    assert last["epochs"] == 3
    assert sum(last[phase] for phase in PHASES) < 1.01 * last["step_ms"]
    assert not {"eval_runtime", "eval_samples_per_second", "epoch"} & set(last)


def test_the_budget_may_be_steps(tmp_path: Path) -> None:
    run, reports = make_run(tmp_path, epochs=9, steps=7)
    assert len(fit(run).losses) == 7
    assert reports.of("steps") == [5, 7]
    assert None not in reports.of("val_acc"), "evaluated where the budget ends, within an epoch"


def test_more_steps_than_the_epochs_have_are_no_budget(tmp_path: Path) -> None:
    run, reports = make_run(tmp_path, epochs=2, steps=1000)
    trainer = make_trainer(run)
    trainer.train()
    assert reports.of("steps") == [5, 10]
    assert set(trainer.lr_scheduler.get_last_lr()) == {0.0}, "the schedule ends with the budget"


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
    assert reports.of("val_acc") != [None]
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
    fit(run, save_strategy="epoch")
    assert list((tmp_path / "home").iterdir()) == []
    assert list(run.folder.glob("checkpoint-*"))


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


def test_an_evaluation_within_an_epoch_is_no_step(tmp_path: Path) -> None:
    run, reports = make_run(tmp_path)
    fit(run, eval_strategy="steps", eval_steps=2)
    assert reports.of("steps") == [5, 10]
    assert [report.samples for report in reports.kept] == [20, 40]
    assert None not in reports.of("val_acc")
    assert reports.of("epoch_s") == [None, None]


def test_a_step_is_one_of_the_optimizer(tmp_path: Path) -> None:
    run, reports = make_run(tmp_path)
    model = fit(run, gradient_accumulation_steps=2)
    assert reports.of("steps") == [3, 6]
    assert len(model.losses) == 10
    assert reports.kept[-1].samples == 40


def test_a_test_split_is_reported(tmp_path: Path) -> None:
    run, reports = make_run(tmp_path)
    trainer = make_trainer(run)
    trainer.train()
    trainer.evaluate(examples(4), metric_key_prefix="test")
    assert reports.kept[-1].epoch == 2
    assert [value is None for value in reports.of("test_accuracy")] == [True, True, False]


def test_several_sets_are_evaluated_in_one_report(tmp_path: Path) -> None:
    run, reports = make_run(tmp_path)
    trainer = make_trainer(run)
    trainer.eval_dataset = {"near": examples(8), "far": examples(6)}
    trainer.train()
    assert len(reports.kept) == 2
    for name in ("near", "far"):
        assert None not in reports.of(f"eval_{name}_accuracy")


def test_a_training_may_end_early_by_a_callback_of_its_own(tmp_path: Path) -> None:
    run, reports = make_run(tmp_path, epochs=9)
    trainer = make_trainer(
        run, save_strategy="epoch", load_best_model_at_end=True,
        metric_for_best_model="eval_loss", greater_is_better=True,
    )  # fmt: skip
    trainer.add_callback(transformers.EarlyStoppingCallback(1))
    trainer.train()
    assert 1 <= len(reports.kept) < 9
    assert run.recording().num_epochs == len(reports.kept)


def test_a_loss_that_is_no_number_is_seen(tmp_path: Path) -> None:
    run, _ = make_run(tmp_path, epochs=9)
    with pytest.raises(FloatingPointError):
        fit(run, learning_rate=1e38, max_grad_norm=0.0, optim="sgd")


class Other(Timed, transformers.Seq2SeqTrainer):  # type: ignore[misc, name-defined]
    """Another trainer of the library."""


def test_another_trainer_is_timed_as_well(tmp_path: Path) -> None:
    run, reports = make_run(tmp_path)
    given = {"per_device_train_batch_size": 4, "label_names": ["labels"]}
    trainer = Other(
        run=run,
        model=Classifier(),
        args=transformers.Seq2SeqTrainingArguments(**prepare(run), **given),
        train_dataset=examples(NUM_TRAINING),
        eval_dataset=examples(NUM_VALIDATION),
    )
    trainer.train()
    assert reports.of("steps") == [5, 10]


def test_ceilings_are_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("orchestrator.measurement.ceilings.MAX_SHARE", 1000)
    run, _ = make_run(tmp_path, epochs=4)
    fit(run)
    ceilings = measure_ceilings(lambda again: make_trainer(again).train(), run)
    assert ceilings is not None
    assert ceilings.metrics["loader_only_samples_per_s"] > 0
    assert ceilings.metrics["compute_only_samples_per_s"] > 0


def test_a_loader_that_is_not_timed_is_refused(tmp_path: Path) -> None:
    run, _ = make_run(tmp_path)
    trainer = make_trainer(run)
    trainer.get_train_dataloader = lambda: transformers.Trainer.get_train_dataloader(trainer)
    with pytest.raises(TypeError, match="TimedTrainer"):
        trainer.train()
