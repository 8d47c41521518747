"""Recording: the speed of every setting of ``sweeps/products_tuning.py``, three runs each."""

from orchestrator import NODE, Isolation, Sweep, choice
from orchestrator.search import Grid
from trainables.graphsage import SageConfig, graphsage

SWEEP = Sweep(
    graphsage,
    question="How fast is each setting of the loader at each batch size and dropout?",
    space=SageConfig(
        num_workers=choice(0, 1, 2, 3),
        prefetch_factor=choice(2, 4),
        batch_size=choice(500, 1000, 2000),
        dropout=choice(0.0, 0.5),
        persistent_workers=True,
    ),
    baseline=SageConfig(persistent_workers=True),
    epochs=9,
    half_width=0.05,
    search=Grid(),
    repeats=3,
    max_repeats=3,
    confirm=0,
    data="ogbn-products",
    embedded_data="products-synthetic",
    cores_per_trial=NODE,
    isolation=Isolation.EXCLUSIVE,
)
