"""Short probes of LeNet."""

from benchmarks.warm_probes.probing import Probes
from orchestrator import Sweep, choice
from trainables.lenet import LeNetConfig, lenet

SWEEP = Sweep(
    lenet,
    question="What does a probe take beside its steps?",
    space=LeNetConfig(data_path="batched", num_workers=0, lr=choice(0.001, 0.01)),
    embedded_data="digits",
    epochs=20,
    search=Probes(20, steps=20),
    cores_per_trial=1,
    confirm=0,
    check_isolated=0,
    max_repeats=1,
)
