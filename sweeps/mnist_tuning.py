"""Sweep: the loader of LeNet-5 on MNIST with batch size, learning rate and momentum.

The 2,000 configs of the grid differ in 40 settings of the loader and of memory, 5 batch sizes and
10 pairs of learning rate and momentum: 200 short probes and 50 curves, most of which end early.
"""

from orchestrator import NODE, Factored, Rigor, Sweep, choice
from trainables.lenet import LeNetConfig, lenet

SWEEP = Sweep(
    lenet,
    question="Which loader, batch size, learning rate and momentum train LeNet-5 fastest?",
    space=LeNetConfig(
        data_path=choice("per_sample", "batched"),
        num_workers=choice(0, 1, 2, 3),
        prefetch_factor=choice(1, 2, 4),
        channels_last=choice(False, True),
        batch_size=choice(64, 128, 256, 512, 1024),
        lr=choice(1e-3, 3e-3, 1e-2, 3e-2, 1e-1),
        momentum=choice(0.0, 0.9),
        persistent_workers=True,
    ),
    baseline=LeNetConfig(persistent_workers=True),
    epochs=9,
    search=Factored(),
    rigor=Rigor(confirm=3, time_limit_s=3600),
    embedded_data="digits",
    cores_per_trial=NODE,
)
