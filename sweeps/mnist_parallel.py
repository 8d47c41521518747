"""Sweep: one process, DataParallel or DistributedDataParallel for a small network?

Things that such a comparison hides unless they are knobs: whether the step or the loader is what
takes the time (``data_path``), that a larger batch with the same learning rate takes fewer,
smaller steps (``lr_scaling``), and whether that rate was a good one to begin with.
A twelfth of the images is held out; the study's own run, on all of them, is this command::

    python -m trainables.lenet --data mnist --epochs 30 --hold-out false --test
"""

from orchestrator import Grid, Machine, Published, Rigor, Sweep, choice
from trainables.lenet import LeNetConfig, lenet

STUDY = "LeNet-5 on MNIST, 2021: Xeon at 2.2 GHz with 2 cores, V100 with 16 GB, 30 epochs"
TIMES = "epoch_s is the whole run over 30 epochs; whether that has evaluation in it is not said."
ACCURACIES = "Trained on all 60,000 images: ours leave 5,000 of them out for validation."

STUDY_LR = 1e-3


def _wanted(config: LeNetConfig, _machine: Machine) -> str | None:
    if config.parallel == "dp" and (config.device == "cpu" or config.batch_size == 256):
        return "DataParallel is for GPUs, and was studied with 256 images on each of two"
    if config.parallel == "none" and config.batch_size == 512:
        return "a batch of 512 is that of two devices"
    if config.data_path == "resident" and config.parallel != "none":
        return "one process shows what the loader takes"
    if config.lr > STUDY_LR and config.lr_scaling == "linear":
        return "what the study missed is that its own rate is to be scaled"
    if config.lr > STUDY_LR and config.parallel == "none" and config.data_path == "per_sample":
        return "as accurate as resident data at that rate, as fast as at the smaller one"
    return None


SWEEP = Sweep(
    lenet,
    question="Do a GPU, DataParallel or a process for each device train LeNet-5 faster?",
    space=LeNetConfig(
        device=choice("cpu", "cuda"),
        parallel=choice("none", "dp", "ddp"),
        ranks=2,
        batch_size=choice(256, 512),
        lr=choice(STUDY_LR, 1e-2),
        lr_scaling=choice("none", "linear"),
        data_path=choice("per_sample", "resident"),
    ),
    baseline=LeNetConfig(device="cpu", lr=STUDY_LR),
    constraints=[_wanted],
    epochs=30,
    embedded_data="digits",
    trial_s={"digits": 7.3, "mnist": 195.0},  # mean of a run on two cores of an AMD EPYC
    search=Grid(),
    rigor=Rigor(max_repeats=2, max_confirm=3, finalists=1),
    published=[
        Published(
            source=STUDY,
            knobs={"device": "cpu", "parallel": "none", "data_path": "per_sample", "lr": STUDY_LR},
            figures={"epoch_s": 19.86, "test_acc": 0.9810, "test_loss": 0.0609},
            note=f"{TIMES} {ACCURACIES}",
        ),
        Published(
            source=STUDY,
            knobs={"device": "cuda", "parallel": "none", "data_path": "per_sample", "lr": STUDY_LR},
            figures={"epoch_s": 9.18, "test_acc": 0.9813, "test_loss": 0.0610},
        ),
        Published(
            source=STUDY,
            knobs={
                "device": "cuda",
                "parallel": "dp",
                "batch_size": 512,
                "lr_scaling": "none",
                "lr": STUDY_LR,
            },
            figures={"epoch_s": 9.88, "test_acc": 0.9760, "test_loss": 0.0823},
        ),
    ],
)
