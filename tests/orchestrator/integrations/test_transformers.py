"""A Hugging Face trainer driven by a run, beyond what ``test_contract`` tests of every loop."""

from pathlib import Path

import pytest

from tests.orchestrator.integrations.loops import NUM_TRAINING, NUM_VALIDATION, examples, make_run
from tests.orchestrator.integrations.transformers_loop import (
    Classifier,
    fit,
    make_trainer,
    transformers,
)

# isort: split
from orchestrator.integrations.transformers import Timed, prepare

pytestmark = [
    pytest.mark.filterwarnings("ignore"),  # of the library
    pytest.mark.usefixtures("home"),
]


def test_an_evaluation_has_the_figures_of_the_model_alone(tmp_path: Path) -> None:
    run, reports = make_run(tmp_path)
    fit(run)
    assert None not in reports.of("eval_loss")
    left_out = {"eval_runtime", "eval_samples_per_second", "epoch"}
    assert not left_out & set(reports.kept[-1].metrics)


def test_all_files_go_to_the_trials_own_folder(tmp_path: Path, home: Path) -> None:
    run, _ = make_run(tmp_path)
    fit(run, save_strategy="epoch")
    assert list(home.iterdir()) == []
    assert list(run.folder.glob("checkpoint-*"))


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


def test_a_training_may_end_early_by_its_own_callback(tmp_path: Path) -> None:
    run, reports = make_run(tmp_path, epochs=9)
    trainer = make_trainer(
        run, save_strategy="epoch", load_best_model_at_end=True,
        metric_for_best_model="eval_loss", greater_is_better=True,
    )  # fmt: skip
    trainer.add_callback(transformers.EarlyStoppingCallback(1))
    trainer.train()
    assert 1 <= len(reports.kept) < 9
    assert run.recording().num_epochs == len(reports.kept)


def test_several_trainings_share_the_budget(tmp_path: Path) -> None:
    run, reports = make_run(tmp_path)
    fit(run, num_train_epochs=1)
    fit(run, num_train_epochs=1)
    assert reports.of("steps") == [5, 10]
    with pytest.raises(RuntimeError, match="budget of 2 epochs is used up"):
        fit(run)


class Other(Timed, transformers.Seq2SeqTrainer):  # type: ignore[misc]
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


def test_a_loader_that_is_not_timed_is_refused(tmp_path: Path) -> None:
    run, _ = make_run(tmp_path)
    trainer = make_trainer(run)
    trainer.get_train_dataloader = lambda: transformers.Trainer.get_train_dataloader(trainer)
    with pytest.raises(TypeError, match="TimedTrainer"):
        trainer.train()
