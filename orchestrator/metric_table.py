"""The metrics of the trials table: a line each of name, unit and meaning."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Flag, auto
from typing import Final


class Of(Flag):
    """What a metric is measured of, where not every trial has it.

    Attributes:
        BATCHES: Batches that the training function takes from ``run.batches``.
        GPU: A GPU.
        TARGET: The sweep's target.
        TRAINING: A whole training: a run of speed alone says nothing of it.
    """

    EVERY_TRIAL = 0
    BATCHES = auto()
    GPU = auto()
    TARGET = auto()
    TRAINING = auto()


class Place(Flag):
    """Where a metric is shown beside the objectives.

    Attributes:
        FRONT: ``front.csv``.
        HOVER: The text of a config that is pointed at.
        TRIALS: The page's table of trials.
    """

    NOWHERE = 0
    FRONT = auto()
    HOVER = auto()
    TRIALS = auto()


@dataclass(frozen=True, kw_only=True)
class Metric:
    """Figure that a trial may report.

    Attributes:
        name: Column name without its ``metrics.`` prefix.
        unit: Unit, empty for counts and fractions.
        doc: Meaning, and the part of the trial that it is taken over.
        title: Name in words for an axis, unit included; "" for the name with its unit.
        learned: True for what was learned, which the machine's load does not change.
        of: What it is measured of.
        shown: Where it is shown.
    """

    name: str
    unit: str = ""
    doc: str
    title: str = ""
    learned: bool = False
    of: Of = Of.EVERY_TRIAL
    shown: Place = Place.NOWHERE


MEASURED: tuple[Metric, ...] = (
    Metric(
        name="samples_per_s",
        title="speed (samples/s)",
        of=Of.BATCHES,
        unit="1/s",
        doc="samples over time in the steady state",
    ),
    Metric(
        name="samples_per_s_low",
        of=Of.BATCHES,
        unit="1/s",
        doc="95 % interval of its config's rate, low end",
    ),
    Metric(
        name="samples_per_s_high",
        of=Of.BATCHES,
        unit="1/s",
        doc="95 % interval of its config's rate, high end",
    ),
    Metric(
        name="val_acc",
        title="validation accuracy",
        shown=Place.TRIALS,
        doc="validation accuracy, a fraction of 1",
        learned=True,
    ),
    Metric(
        name="test_acc",
        title="test accuracy",
        shown=Place.FRONT | Place.HOVER | Place.TRIALS,
        doc="test accuracy, a fraction of 1; selected configs only",
        learned=True,
    ),
    Metric(
        name="train_loss",
        shown=Place.TRIALS,
        doc="mean training loss of the last epoch",
        learned=True,
    ),
    Metric(name="epochs", doc="epochs trained", learned=True),
    Metric(name="steps", doc="optimizer steps taken", learned=True),
    Metric(
        name="train_s",
        of=Of.BATCHES | Of.TRAINING,
        shown=Place.FRONT,
        unit="s",
        doc="time in training epochs, evaluation excluded; after a pause, of the whole curve",
    ),
    Metric(
        name="epoch_s",
        of=Of.BATCHES,
        shown=Place.FRONT | Place.HOVER | Place.TRIALS,
        unit="s",
        doc="median duration of a whole epoch, its start included",
    ),
    Metric(
        name="epoch_start_s",
        of=Of.BATCHES,
        shown=Place.FRONT,
        unit="s",
        doc="median wait for the first batch of an epoch",
    ),
    Metric(name="eval_s", of=Of.TRAINING, unit="s", doc="total time spent in evaluation"),
    Metric(
        name="step_ms",
        of=Of.BATCHES,
        shown=Place.FRONT | Place.HOVER | Place.TRIALS,
        unit="ms",
        doc="mean duration of a steady step",
    ),
    Metric(
        name="wait_ms",
        of=Of.BATCHES,
        shown=Place.TRIALS,
        unit="ms",
        doc="mean wait for the next batch within a step",
    ),
    Metric(name="transfer_ms", unit="ms", doc="mean time moving a batch to the device"),
    Metric(name="forward_ms", unit="ms", doc="mean forward time of a step, loss included"),
    Metric(name="backward_ms", unit="ms", doc="mean backward time of a step"),
    Metric(name="optimizer_ms", unit="ms", doc="mean optimizer time of a step"),
    Metric(
        name="peak_rss_gib",
        shown=Place.FRONT | Place.HOVER | Place.TRIALS,
        unit="GiB",
        doc="peak resident memory of the trial's processes",
    ),
    Metric(name="cpu_util", of=Of.BATCHES, doc="CPU time over wall time and cores, while training"),
    Metric(
        name="system_time_share",
        of=Of.BATCHES,
        doc="kernel time over all CPU time, while training",
    ),
    Metric(
        name="faults_per_step",
        of=Of.BATCHES,
        doc="minor page faults of the training process a step",
    ),
    Metric(
        name="peak_gpu_gib",
        of=Of.GPU,
        shown=Place.TRIALS,
        unit="GiB",
        doc="peak memory allocated on the device",
    ),
    Metric(name="gpu_util", of=Of.GPU, doc="mean GPU utilisation, a fraction of 1"),
    Metric(
        name="copy_ms",
        of=Of.GPU,
        unit="ms",
        doc="mean time of copies to the GPU that overlap steps",
    ),
    Metric(
        name="host_ms",
        of=Of.GPU,
        unit="ms",
        doc="mean host time of a step beside the device's, on GPUs",
    ),
    Metric(
        name="first_epoch_s",
        of=Of.BATCHES,
        unit="s",
        doc="duration of the first epoch, its start included",
    ),
    Metric(name="loader_only_samples_per_s", unit="1/s", doc="samples a second, loader alone"),
    Metric(
        name="compute_only_samples_per_s",
        unit="1/s",
        doc="samples a second over batches that are there already",
    ),
    Metric(name="headroom", doc="how many times faster the trial were if its loader were free"),
    Metric(name="peak_pss_gib", unit="GiB", doc="peak at epoch ends, shared pages counted once"),
    Metric(
        name="worker_growth_mib_per_epoch",
        shown=Place.TRIALS,
        unit="MiB",
        doc="median growth of the private memory of all workers that persist, from epoch to epoch",
    ),
    Metric(name="busy_cores", doc="mean number of cores that the trial's processes kept busy"),
    Metric(name="foreign_share", doc="share of its own cores' time that went to other processes"),
    Metric(name="steal_share", doc="share of its own cores' time that the hypervisor took"),
    Metric(
        name="run_queue_share",
        doc="time that its threads were ready and had no core, over its cores' time",
    ),
    Metric(name="others_cores", doc="mean number of the node's cores that other trials had leased"),
    Metric(name="major_faults", doc="page faults of the trial's processes that waited for a disk"),
    Metric(
        name="gpu_memory_gib",
        of=Of.GPU,
        unit="GiB",
        doc="peak memory used on the device, by any process",
    ),
    Metric(name="gpu_power_w", of=Of.GPU, unit="W", doc="mean power of the trial's GPUs, summed"),
    Metric(name="gpu_clock_mhz", of=Of.GPU, unit="MHz", doc="mean clock of the GPUs' processors"),
    Metric(
        name="gpu_slowed_share",
        of=Of.GPU,
        doc="share of the samples in which power or heat slowed a GPU",
    ),
    Metric(
        name="gpu_energy_j",
        of=Of.GPU | Of.TRAINING,
        unit="J",
        doc="energy by the GPUs' own counters, summed",
    ),
    Metric(
        name="samples_per_s_within_low",
        of=Of.BATCHES,
        unit="1/s",
        doc="lower end of 95 % within the run",
    ),
    Metric(
        name="samples_per_s_within_high",
        of=Of.BATCHES,
        unit="1/s",
        doc="upper end of 95 % within the run",
    ),
    Metric(
        name="earlier_epochs",
        doc="of the epochs, those that trials before this one trained up to a pause",
        learned=True,
    ),
)
"""Figures that every trainable gets from the measurement, in table order."""

DERIVED: tuple[Metric, ...] = (
    Metric(
        name="time_to_accuracy_s",
        of=Of.TARGET | Of.TRAINING,
        unit="s",
        doc="training time until the sweep's target was reached; absent where it was not",
    ),
    Metric(
        name="goodput",
        of=Of.TARGET | Of.TRAINING,
        unit="1/s",
        doc="samples_per_s times the samples that the baseline takes to the target over its own",
    ),
    Metric(
        name="cost",
        of=Of.TRAINING,
        doc="core-hours and GPU-hours of the trial by the sweep's prices",
    ),
    Metric(
        name="energy_j",
        of=Of.TRAINING,
        unit="J",
        doc="energy by the GPUs' counters and, where they may be read, the node's CPU packages'",
    ),
)
"""Figures that are made for the sweeps that ask for them: as an objective, or by their prices."""

METRICS: dict[str, Metric] = {metric.name: metric for metric in (*MEASURED, *DERIVED)}


def names_of(of: Of) -> tuple[str, ...]:
    """Return the metrics that are measured of this, in table order."""
    return tuple(name for name, metric in METRICS.items() if of in metric.of)


def names_shown(place: Place) -> tuple[str, ...]:
    """Return the metrics that are shown there, in table order."""
    return tuple(name for name, metric in METRICS.items() if place in metric.shown)


def unit_of(name: str) -> str:
    """Return the unit of a metric; "" where it has none, or the registry does not have it."""
    return METRICS[name].unit if name in METRICS else ""


OF_THE_TARGET: Final = names_of(Of.TARGET)
OF_GPUS: Final = names_of(Of.GPU)
OF_BATCHES: Final = names_of(Of.BATCHES)
TOTALS: Final = names_of(Of.TRAINING)
