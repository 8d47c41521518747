"""Sweep: do loader workers, a larger batch and a larger learning rate train GraphSAGE faster?"""

from dataclasses import replace

from orchestrator.errors import SweepError
from orchestrator.metrics import maximize
from orchestrator.space.configs import both, knobs, learning, systems
from orchestrator.space.domains import choice
from orchestrator.sweep.definition import Sweep
from orchestrator.sweep.rigor import Rigor
from orchestrator.trainable import Trainable

SMALL_LR, LARGE_LR = 3e-3, 2e-2


@knobs
class SageConfig:
    """The settings that vary."""

    lr: float = learning(default=SMALL_LR, gt=0, doc="Adam's step size")
    batch_size: int = both(default=1000, ge=1, unit="nodes", doc="seed nodes a step")
    num_workers: int = systems(default=0, ge=0, doc="loader processes")


def _train(_config: SageConfig, _run: object) -> None:
    raise SweepError("the demo has recorded runs and no model", "train your own: orchestrator init")


def _wanted(config: SageConfig, _machine: object) -> str | None:
    if config.lr == SMALL_LR and config.num_workers > (3 if config.batch_size == 1000 else 0):
        return "not recorded: the learning rate changes no speed"
    return None


SWEEP = Sweep(
    Trainable(_train, SageConfig, reports=[maximize("val_acc")], preload=[], name="graphsage"),
    question="Which loader settings train GraphSAGE fastest without losing accuracy?",
    space=SageConfig(
        lr=choice(SMALL_LR, LARGE_LR),
        batch_size=choice(1000, 2000),
        num_workers=choice(0, 3, 6, 8),
    ),
    constraints=[_wanted],
    epochs=20,
    rigor=replace(Rigor.quick(), max_repeats=2),
)
