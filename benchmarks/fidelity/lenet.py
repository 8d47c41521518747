"""LeNet-5 in two configs, again and again; the first is the one looked at."""

from __future__ import annotations

from benchmarks.fidelity.yardstick import watched
from orchestrator import Sweep, choice
from orchestrator.search import Grid
from trainables.lenet import LeNetConfig, lenet

EPOCHS = 100

SWEEP = Sweep(
    watched(lenet),
    question="Does every run of a LeNet-5 read the same throughput?",
    space=LeNetConfig(
        data_path="resident", batch_size=choice(256, 64), eval_every=EPOCHS, threads=1
    ),
    baseline=LeNetConfig(data_path="resident", eval_every=EPOCHS, threads=1),
    epochs=EPOCHS,
    data="digits",
    search=Grid(),
    cores_per_trial=1,
    confirm=0,
    check_isolated=0,
    max_repeats=1,
)
