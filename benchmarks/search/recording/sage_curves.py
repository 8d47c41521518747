"""Recording: every learning curve of ``sweeps/products_tuning.py``, three seeds each.

Without loader workers, which change no batch; speeds are recorded apart.
"""

from orchestrator import Isolation, Sweep, choice
from orchestrator.search import Grid
from sweeps.products_tuning import SWEEP as TUNING
from trainables.graphsage import SageConfig, graphsage

SWEEP = Sweep(
    graphsage,
    question="What accuracy does each way to learn reach, epoch by epoch?",
    space=SageConfig(
        threads=1,
        batch_size=choice(500, 1000, 2000),
        lr=choice(1e-3, 3e-3, 1e-2, 2e-2, 5e-2),
        dropout=choice(0.0, 0.5),
    ),
    baseline=SageConfig(threads=1),
    epochs=TUNING.epochs,
    search=Grid(),
    repeats=3,
    max_repeats=3,
    confirm=0,
    check_isolated=0,
    data="ogbn-products",
    embedded_data="products-synthetic",
    cores_per_trial=1,
    isolation=Isolation.SHARED,
)
