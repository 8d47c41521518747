"""GraphSAGE in two configs that compute the same, step by step: only the learning rates differ."""

from __future__ import annotations

from benchmarks.confirming.both_ways import BothWays
from orchestrator import Sweep, choice
from trainables.graphsage import SageConfig, graphsage

EPOCHS = 30

SWEEP = Sweep(
    graphsage,
    question="Are two configs that compute the same as fast as each other?",
    space=SageConfig(lr=choice(0.003, 0.00303), eval_every=EPOCHS, threads=1),
    baseline=SageConfig(lr=0.003, eval_every=EPOCHS, threads=1),
    epochs=EPOCHS,
    data="products-synthetic",
    search=BothWays(),
    cores_per_trial=1,
    confirm=0,
    check_isolated=0,
    max_repeats=1,
)
