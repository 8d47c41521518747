"""LeNet-5 in two configs that compute the same, step by step: only the learning rates differ."""

from __future__ import annotations

from benchmarks.confirming.both_ways import BothWays
from orchestrator import Sweep, choice
from trainables.lenet import LeNetConfig, lenet

EPOCHS = 80

SWEEP = Sweep(
    lenet,
    question="Are two configs that compute the same as fast as each other?",
    space=LeNetConfig(data_path="resident", lr=choice(0.01, 0.0101), eval_every=EPOCHS, threads=1),
    baseline=LeNetConfig(data_path="resident", lr=0.01, eval_every=EPOCHS, threads=1),
    epochs=EPOCHS,
    data="digits",
    search=BothWays(),
    cores_per_trial=1,
    confirm=0,
    check_isolated=0,
    max_repeats=1,
)
