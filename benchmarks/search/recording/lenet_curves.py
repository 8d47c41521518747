"""Recording: every learning curve of ``sweeps/mnist_tuning.py``, three seeds each.

From resident data, whose batches are those of every loader; speeds are recorded apart.
"""

from orchestrator import Isolation, Sweep, choice
from orchestrator.search import Grid
from sweeps.mnist_tuning import SWEEP as TUNING
from trainables.lenet import LeNetConfig, lenet

SWEEP = Sweep(
    lenet,
    question="What accuracy does each way to learn reach, epoch by epoch?",
    space=LeNetConfig(
        data_path="resident",
        threads=1,
        batch_size=choice(64, 128, 256, 512, 1024),
        lr=choice(1e-3, 3e-3, 1e-2, 3e-2, 1e-1),
        momentum=choice(0.0, 0.9),
    ),
    baseline=LeNetConfig(data_path="resident", threads=1),
    epochs=TUNING.epochs,
    search=Grid(),
    repeats=3,
    max_repeats=3,
    confirm=0,
    check_isolated=0,
    embedded_data="digits",
    cores_per_trial=1,
    isolation=Isolation.SHARED,
)
