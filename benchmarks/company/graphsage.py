"""GraphSAGE in two configs, each alone and beside others."""

from __future__ import annotations

from orchestrator import Sweep, choice
from orchestrator.search import Grid
from trainables.graphsage import SageConfig, graphsage

EPOCHS = 24

SWEEP = Sweep(
    graphsage,
    question="Is GraphSAGE as fast beside others as alone?",
    space=SageConfig(batch_size=choice(1000, 250), eval_every=EPOCHS, threads=1),
    baseline=SageConfig(eval_every=EPOCHS, threads=1),
    epochs=EPOCHS,
    data="products-synthetic",
    search=Grid(),
    cores_per_trial=1,
    confirm=0,
    check_alone=2,
    max_repeats=1,
)
