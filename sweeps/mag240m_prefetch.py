"""Sweep: does moving the next batch to the GPU while this one computes pay, and what else does?

The study trained RGAT on MAG240M and found a fifth of an epoch in copying features to the GPU
when they were first used. Copying the next batch's meanwhile took that away; as much time went
into reading back the loss for a progress bar in every step, which it left as it was. That, the
workers and the batch size are asked about here too.

The network is a sixteenth as wide as the study's, so that a machine without a GPU answers in
minutes: ``--set hidden=1024`` is the study's own. Without a GPU nothing is copied, and what copies
differ in cannot show: those configs are rows that say so. The study's batches were page-locked
before and after; the baseline's are not, so that there is one on every machine. Workers are kept
from one epoch to the next, for an epoch of the generated set is as short as their start.
"""

from orchestrator import Grid, Machine, Published, Rigor, Sweep, choice
from trainables.rgat import RgatConfig, rgat

STUDY = "RGAT on MAG240M, 2 layers of 1,024, 4 heads, fan-out 15,25: one GPU, 2022"
NOTE = (
    "One epoch of 2,173 steps, evaluation apart; ours is the median epoch. The study's times of "
    "single lines are left out: taken on the host without waiting for the GPU, they are not the "
    "times of phases. Its features were copied to the GPU when they were first used, in the "
    "forward pass; ours are copied before it."
)
AS_STUDIED = {"hidden": 1024, "num_workers": 4, "batch_size": 512, "log_every": 1}


def _wanted(config: RgatConfig, _machine: Machine) -> str | None:
    if config.prefetch == "stream" and not config.pin_memory:
        return "copies on a stream of their own need page-locked memory"
    changed = {
        "num_workers": config.num_workers != 4,
        "batch_size": config.batch_size != 512,
        "prefetch": config.prefetch != "off",
        "log_every": config.log_every != 1,
    }
    names = {name for name, is_changed in changed.items() if is_changed}
    if len(names) > 1 and names != {"prefetch", "log_every"}:
        return "one thing at a time, and copies and read-backs together"
    return None


SWEEP = Sweep(
    rgat,
    question="Does moving the next batch's features meanwhile train RGAT faster, and what else?",
    space=RgatConfig(
        hidden=64,
        prefetch=choice("off", "thread", "stream"),
        pin_memory=choice(False, True),
        num_workers=choice(4, 0, 2),
        batch_size=choice(512, 1024),
        log_every=choice(1, 0),
        persistent_workers=True,
    ),
    baseline=RgatConfig(
        hidden=64,
        num_workers=4,
        log_every=1,
        persistent_workers=True,
    ),
    constraints=[_wanted],
    epochs=3,
    search=Grid(),
    rigor=Rigor(max_repeats=1, max_confirm=3, finalists=1),
    data="mag240m",
    embedded_data="mag-synthetic",
    trial_s={"mag-synthetic": 7.6},  # mean of a run on two cores of an AMD EPYC
    published=[
        Published(
            source=STUDY,
            knobs={"prefetch": "off", "pin_memory": True, **AS_STUDIED},
            figures={"epoch_s": 2001.0},
            note=NOTE,
        ),
        Published(
            source=STUDY,
            knobs={"prefetch": "stream", "pin_memory": True, **AS_STUDIED},
            figures={"epoch_s": 1654.4},
        ),
    ],
)
