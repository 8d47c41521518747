"""Sweep: loader, batch size, learning rate and dropout of GraphSAGE, at a part of the grid's cost.

The 210 configs of the grid differ in 7 loader settings, 6 ways to step and 5 learning rates. A
loader setting changes no curve, and a learning rate no speed. So 42 short probes and 30 curves,
most of which end early, stand for 210 trainings.
"""

from orchestrator import NODE, Factored, Rigor, Sweep, choice
from trainables.graphsage import SageConfig, graphsage

SWEEP = Sweep(
    graphsage,
    question="Which loader, batch size, learning rate and dropout train GraphSAGE fastest?",
    space=SageConfig(
        num_workers=choice(0, 1, 2, 3),
        prefetch_factor=choice(2, 4),
        batch_size=choice(500, 1000, 2000),
        lr=choice(1e-3, 3e-3, 1e-2, 2e-2, 5e-2),
        dropout=choice(0.0, 0.5),
        persistent_workers=True,
    ),
    baseline=SageConfig(persistent_workers=True),
    epochs=45,
    search=Factored(),
    rigor=Rigor(confirm=3, time_limit_s=3600),
    data="ogbn-products",
    embedded_data="products-synthetic",
    trial_s={"products-synthetic": 5.4},  # mean of a run on two cores of an AMD EPYC
    cores_per_trial=NODE,
)
