"""LeNet-5 in two configs, each alone and beside others."""

from __future__ import annotations

from orchestrator import Sweep, choice
from orchestrator.search import Grid
from trainables.lenet import LeNetConfig, lenet

EPOCHS = 60

SWEEP = Sweep(
    lenet,
    question="Is LeNet-5 as fast beside others as alone?",
    space=LeNetConfig(
        data_path="resident", batch_size=choice(256, 64), eval_every=EPOCHS, threads=1
    ),
    baseline=LeNetConfig(data_path="resident", eval_every=EPOCHS, threads=1),
    epochs=EPOCHS,
    data="digits",
    search=Grid(),
    cores_per_trial=1,
    confirm=0,
    check_alone=2,
    max_repeats=1,
)
