"""GraphSAGE in two configs, again and again; the first is the one looked at."""

from __future__ import annotations

from benchmarks.fidelity.yardstick import watched
from orchestrator import Sweep, choice
from orchestrator.search import Grid
from trainables.graphsage import SageConfig, graphsage

EPOCHS = 40

SWEEP = Sweep(
    watched(graphsage),
    question="Does every run of a GraphSAGE read the same throughput?",
    space=SageConfig(batch_size=choice(1000, 250), eval_every=EPOCHS, threads=1),
    baseline=SageConfig(eval_every=EPOCHS, threads=1),
    epochs=EPOCHS,
    data="products-synthetic",
    search=Grid(),
    cores_per_trial=1,
    confirm=0,
    check_isolated=0,
    max_repeats=1,
)
