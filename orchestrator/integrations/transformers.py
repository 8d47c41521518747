"""Hugging Face's ``Trainer`` with the seed, threads, device and budget of a run.

::

    def train(config: Config, run: Run) -> None:
        arguments = prepare(run)  # first: it sets the seed
        trainer = TimedTrainer(
            run=run,
            model=make_model(config),
            args=TrainingArguments(**arguments, learning_rate=config.lr),
            train_dataset=..., eval_dataset=..., compute_metrics=...,
        )
        trainer.train()

``prepare`` returns a dictionary, so that everything else can be changed, for instance
``{**prepare(run), "logging_strategy": "steps"}``. For another trainer than ``Trainer`` there is
the class ``Timed``: ``class TimedSeq2Seq(Timed, Seq2SeqTrainer): ...``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import transformers
from transformers import EarlyStoppingCallback, Trainer, TrainerCallback
from transformers.trainer_utils import IntervalStrategy, SaveStrategy

from orchestrator.integrations.loaders import FollowedLoop, TimedLoader, set_up
from orchestrator.measurement.run import Run

if TYPE_CHECKING:
    from transformers import Trainer as _Mixed
else:
    _Mixed = object

__all__ = ["RunCallback", "Timed", "TimedLoader", "TimedTrainer", "prepare"]

_NO_FIGURES = ("epoch", "_runtime", "_per_second", "_compilation_time", "_preparation_time")
"""Endings of the times that an evaluation returns: the run has its own clock."""


def prepare(run: Run) -> dict[str, Any]:
    """Set the process's seed and threads; return the ``TrainingArguments`` of the run.

    Call it before the model is made. Nothing is saved or sent; what is asked for goes to the
    trial's own folder, which is removed with it. Of a trial of speed alone a timed trainer
    evaluates nothing.

    Args:
        run: The trial.
    """
    transformers.set_seed(run.seed)
    set_up(run)
    on_cpu = run.device.type == "cpu"
    return {
        "output_dir": str(run.folder),
        "seed": run.seed,
        "use_cpu": on_cpu,
        "dataloader_pin_memory": not on_cpu,
        "num_train_epochs": run.budget.epochs,
        "max_steps": -1 if run.budget.steps is None else run.budget.steps,
        "eval_strategy": "epoch",
        "save_strategy": "no",
        "logging_strategy": "epoch",
        "logging_nan_inf_filter": False,  # a loss that is not a number is to be seen
        "report_to": "none",
        "disable_tqdm": True,
    }


class RunCallback(TrainerCallback):
    """Epochs and figures of a ``Trainer``, passed to a run. A timed trainer has one.

    After each epoch it reports the figures of the epoch's evaluations by the trainer's names
    (``eval_loss``, ...), and ``train_loss``, the mean since the last log.

    Args:
        run: The trial.
        names: Names to report figures by, where they are not the trainer's.
    """

    def __init__(self, run: Run, names: Mapping[str, str] | None = None) -> None:
        self._run = run
        self.loop = FollowedLoop(run, names)

    def on_train_begin(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        """Find the timed loader; mark the phases of each step by hooks.

        Raises:
            TypeError: The batches come from another loader.
        """
        loader, optimizer = more["train_dataloader"], more["optimizer"]
        if not isinstance(loader, TimedLoader):
            raise TypeError(
                f"the training loader is a {type(loader).__name__}, which times no steps: "
                "train by TimedTrainer, or by class MyTrainer(Timed, ...)"
            )
        self.loop.loader = loader
        self._run.watch(more["model"], getattr(optimizer, "optimizer", optimizer))

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        """Report the epoch before, which is evaluated by now, and begin another."""
        self._report_epoch()
        self.loop.begin_epoch()

    def on_substep_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        """Count a batch that does not end its step."""
        self.loop.finish_batch()

    def on_step_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        """End the step, and the training where its budget is used up."""
        if self.loop.finish_batch():
            control.should_training_stop = True

    def on_epoch_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        """End the training where its budget is used up; what is evaluated is so after this."""
        self.loop.interrupt()
        if self._run.last_epoch:
            control.should_training_stop = True

    def on_log(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        """Keep the training loss."""
        if "loss" in more["logs"]:
            self.loop.keep({"train_loss": more["logs"]["loss"]})

    def on_evaluate(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        """Keep the figures of an evaluation."""
        figures = more["metrics"].items()
        self.loop.keep({name: value for name, value in figures if not name.endswith(_NO_FIGURES)})

    def on_train_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        """Report and count the last epoch."""
        self._report_epoch()
        self.loop.end_training()

    def _report_epoch(self) -> None:
        if self.loop.is_within_epoch:
            self.loop.report()


class Timed(_Mixed):
    """Mixin by which a run times the steps of a trainer of the library; precedes its class.

    Args:
        run: The trial.
        names: Names to report figures by, where they are not the trainer's:
            ``{"eval_accuracy": "val_acc"}``.
        more: Arguments of the library's class.
    """

    def __init__(
        self, *arguments: Any, run: Run, names: Mapping[str, str] | None = None, **more: Any
    ) -> None:
        self._timed_run = run
        self._timed_loader: TimedLoader[Any] | None = None
        self._timed_callback = RunCallback(run, names)
        self._is_evaluating = False
        super().__init__(*arguments, **more)
        self.add_callback(self._timed_callback)

    def get_train_dataloader(self) -> TimedLoader[Any]:
        """Return the loader of the library's class, timed."""
        self._timed_loader = TimedLoader(
            super().get_train_dataloader(),
            self._timed_run,
            batches_per_step=self.args.gradient_accumulation_steps,
        )
        return self._timed_loader

    def create_scheduler(self, num_training_steps: int, *arguments: Any, **more: Any) -> Any:
        """Make the scheduler for the steps of the budget: its epochs or its steps, if those end."""
        per_epoch = 0 if self._timed_loader is None else self._timed_loader.num_steps
        num_steps = self._timed_run.budget.epochs * per_epoch or num_training_steps
        return super().create_scheduler(min(num_training_steps, num_steps), *arguments, **more)

    def train(self, *arguments: Any, **more: Any) -> Any:
        """Train; a trial of speed alone evaluates nothing, and waits for no best model."""
        if not self._timed_run.evaluates:
            self.args.eval_strategy = IntervalStrategy.NO
            self.args.save_strategy = SaveStrategy.NO
            self.args.load_best_model_at_end = False
            self.args.metric_for_best_model = None
            self.remove_callback(EarlyStoppingCallback)
        return super().train(*arguments, **more)

    def training_step(self, *arguments: Any, **more: Any) -> Any:
        """Train on a batch; report the loss of the first step."""
        loss = super().training_step(*arguments, **more)
        self._timed_run.first_loss(loss)
        return loss

    def evaluate(self, *arguments: Any, **more: Any) -> Any:
        """Evaluate, timed as evaluation; report it where it is no part of a training."""
        if self._is_evaluating:  # one of several data sets
            return super().evaluate(*arguments, **more)
        loop = self._timed_callback.loop
        self._is_evaluating = True
        loop.begin_evaluation()
        try:
            metrics = super().evaluate(*arguments, **more)
        finally:
            loop.end_evaluation()
            self._is_evaluating = False
        if not self.is_in_train:
            loop.report()
        return metrics


class TimedTrainer(Timed, Trainer):
    """``transformers.Trainer``, timed by a run; see :class:`Timed`."""
