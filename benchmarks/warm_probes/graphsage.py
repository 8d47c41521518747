"""Short probes of GraphSAGE."""

from benchmarks.warm_probes.probing import Probes
from orchestrator import Sweep, choice
from trainables.graphsage import SageConfig, graphsage

SWEEP = Sweep(
    graphsage,
    question="What does a probe take beside its steps?",
    space=SageConfig(batch_size=1000, fanouts=(5, 5), num_workers=0, lr=choice(0.001, 0.01)),
    embedded_data="products-synthetic",
    epochs=20,
    search=Probes(20, steps=15),
    cores_per_trial=1,
    confirm=0,
    check_isolated=0,
    max_repeats=1,
)
