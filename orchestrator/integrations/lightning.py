"""PyTorch Lightning: its ``Trainer`` with the seed, threads, device and budget of a run.

::

    def train(config: Config, run: Run) -> None:
        arguments = prepare(run)  # first: it sets the seed
        trainer = lightning.Trainer(**arguments, callbacks=[RunCallback(run)])
        trainer.fit(Model(config), TimedLoader(train_loader(config), run), val_loader(config))

``prepare`` returns a dictionary, so that everything else can be changed, for instance
``{**prepare(run), "logger": CSVLogger(run.folder)}``.
"""

from collections.abc import Mapping
from contextlib import ExitStack
from importlib.util import find_spec
from typing import Any

from orchestrator.integrations.loaders import FollowedLoop, TimedLoader, set_up
from orchestrator.measurement.run import Phase, Run

if find_spec("lightning") is None and find_spec("pytorch_lightning") is not None:
    import pytorch_lightning as pl  # the same under its older name
    from pytorch_lightning.plugins.environments import LightningEnvironment
else:
    import lightning.pytorch as pl
    from lightning.pytorch.plugins.environments import LightningEnvironment

__all__ = ["RunCallback", "RunEnvironment", "TimedLoader", "prepare"]


def prepare(run: Run) -> dict[str, Any]:
    """Set the process's seed and threads; return the arguments of a ``Trainer`` of the run.

    Call it before the model is made. Logs and checkpoints are off; those that are asked for go
    to the trial's own folder, which is removed with it. Nothing is validated in a trial of speed
    alone.

    Args:
        run: The trial.
    """
    pl.seed_everything(run.seed, workers=True, verbose=False)
    set_up(run)
    arguments = {
        "accelerator": "gpu" if run.device.type == "cuda" else "cpu",
        "devices": 1,
        "num_nodes": run.world_size,
        "strategy": "ddp" if run.world_size > 1 else "auto",
        "plugins": [RunEnvironment(run)],
        "max_epochs": run.budget.epochs,
        "max_steps": -1 if run.budget.steps is None else run.budget.steps,
        "default_root_dir": str(run.folder),
        "logger": False,
        "enable_checkpointing": False,
        "enable_progress_bar": False,
        "enable_model_summary": False,
        "num_sanity_val_steps": 0,
    }
    return arguments if run.evaluates else {**arguments, "limit_val_batches": 0}


class RunEnvironment(LightningEnvironment):
    """Ranks of a trial as Lightning finds them, whatever scheduler the program runs under."""

    def __init__(self, run: Run) -> None:
        super().__init__()
        self._run = run

    @property
    def creates_processes_externally(self) -> bool:
        """True: the executor has started the ranks."""
        return True

    def local_rank(self) -> int:
        """Return 0: each rank sees its own devices alone, like a single rank on a node."""
        return 0

    def node_rank(self) -> int:
        """Return the rank."""
        return self._run.rank


class RunCallback(pl.Callback):
    """Epochs, phases, evaluations and figures of a ``Trainer``, passed to a run.

    After each epoch it reports all single figures that the module has logged by then: those of
    the epoch's validation, and those logged in training with ``on_epoch=True``.

    Args:
        run: The trial.
        names: Names to report figures by, where they are not the module's own.
    """

    def __init__(self, run: Run, names: Mapping[str, str] | None = None) -> None:
        self._run = run
        self._loop = FollowedLoop(run, names)
        self._phase = ExitStack()
        self._names_before: frozenset[str] = frozenset()
        self._of_evaluations: set[str] = set()

    # -- training

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Let the run alone count steps where the module calls its optimizers itself.

        Lightning's ``max_steps`` counts every optimizer's step there, a run a batch.
        """
        if not pl_module.automatic_optimization:
            trainer.fit_loop.epoch_loop.max_steps = -1

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Have callbacks and schedules wait for no figure that a trial of speed alone has not."""
        if self._run.evaluates:
            return
        for each in (*trainer.early_stopping_callbacks, *trainer.lr_scheduler_configs):
            each.strict = False

    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        """Begin an epoch, with the timed loader that the trainer has by now.

        Raises:
            TypeError: The batches come from another one.
        """
        loader = trainer.train_dataloader
        if not isinstance(loader, TimedLoader):
            raise TypeError(
                f"the training loader is a {type(loader).__name__}, which times no steps: "
                "give trainer.fit TimedLoader(loader, run)"
            )
        if pl_module.automatic_optimization:
            loader.batches_per_step = trainer.accumulate_grad_batches
        loader.on_batch = lambda: self._switch_to(Phase.TRANSFER)
        self._loop.loader = loader
        self._loop.begin_epoch()

    def on_train_batch_start(
        self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int
    ) -> None:
        """Count what follows as forward."""
        self._switch_to(Phase.FORWARD)

    def on_before_backward(self, trainer: Any, pl_module: Any, loss: Any) -> None:
        """Count what follows as backward."""
        self._switch_to(Phase.BACKWARD)

    def on_after_backward(self, trainer: Any, pl_module: Any) -> None:
        """End the backward phase."""
        self._switch_to(None)

    def on_before_optimizer_step(self, trainer: Any, pl_module: Any, optimizer: Any) -> None:
        """Count what follows as optimizer."""
        self._switch_to(Phase.OPTIMIZER)

    def on_train_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """End the step, and the training where its budget is used up."""
        self._switch_to(None)
        loss = outputs.get("loss") if isinstance(outputs, Mapping) else outputs
        if loss is not None:
            self._run.first_loss(loss)
        if self._loop.finish_batch():
            trainer.should_stop = True

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Report the epoch's figures; end the training where its budget is used up."""
        self._loop.interrupt()
        figures = trainer.callback_metrics
        self._loop.keep(
            {name: figures[name] for name in figures if name not in self._of_evaluations}
        )
        self._loop.report()
        if self._run.last_epoch:
            trainer.should_stop = True

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        """Count the last epoch."""
        self._loop.end_training()

    # -- evaluation

    def on_validation_start(self, trainer: Any, pl_module: Any) -> None:
        """Count what follows as evaluation."""
        if trainer.sanity_checking:
            return
        self._names_before = frozenset(trainer.callback_metrics)
        self._loop.begin_evaluation()

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        """Keep what was logged; report it where it is no part of a training."""
        if trainer.sanity_checking:
            return
        self._loop.end_evaluation()
        figures = trainer.callback_metrics
        self._of_evaluations |= set(figures) - self._names_before
        self._loop.keep({name: figures[name] for name in self._of_evaluations if name in figures})
        if trainer.state.fn != "fit":
            self._loop.report()

    on_test_start, on_test_end = on_validation_start, on_validation_end

    # -- steps

    def _switch_to(self, phase: Phase | None) -> None:
        """End the phase that is counted, and count another one from here on."""
        self._phase.close()
        if phase is not None:
            self._phase.enter_context(self._run.phase(phase))
