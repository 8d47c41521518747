"""Recording: the speed of every setting of ``sweeps/mnist_tuning.py``, three isolated runs."""

from orchestrator import NODE, Isolation, Sweep, choice
from orchestrator.search import Grid
from trainables.lenet import LeNetConfig, lenet

SWEEP = Sweep(
    lenet,
    question="How fast is each setting of the loader at each batch size?",
    space=LeNetConfig(
        data_path=choice("per_sample", "batched"),
        num_workers=choice(0, 1, 2, 3),
        prefetch_factor=choice(1, 2, 4),
        channels_last=choice(False, True),
        batch_size=choice(64, 128, 256, 512, 1024),
        persistent_workers=True,
    ),
    baseline=LeNetConfig(persistent_workers=True),
    epochs=9,
    half_width=0.05,
    search=Grid(),
    repeats=3,
    max_repeats=3,
    confirm=0,
    embedded_data="digits",
    cores_per_trial=NODE,
    isolation=Isolation.EXCLUSIVE,
)
