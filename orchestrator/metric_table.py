"""The metrics of the trials table: a line each of name, unit and meaning."""

from dataclasses import dataclass
from enum import Flag, auto
from functools import reduce
from operator import or_
from typing import Final


class Of(Flag):
    """Source of a metric that not every trial has.

    Attributes:
        BATCHES: Batches that the training function takes from ``run.batches``.
        GPU: A GPU.
        TARGET: The sweep's target.
        TRAINING: A whole training: a run of speed alone does not have it.
    """

    EVERY_TRIAL = 0
    BATCHES = auto()
    GPU = auto()
    TARGET = auto()
    TRAINING = auto()


class Place(Flag):
    """Place in which a metric is shown with the objectives.

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
        name: Column name without its ``metrics.`` prefix; its ending names its unit.
        unit: Unit, empty for counts and fractions.
        doc: Meaning, and the part of the trial that it is taken over.
        title: Name in words for an axis, unit included; "" for the name with its unit.
        learned: True for what was learned, which the machine's load does not change.
        of: What it is measured of.
        shown: Where it is shown.
    """

    name: str
    unit: str
    doc: str
    title: str = ""
    learned: bool = False
    of: Of = Of.EVERY_TRIAL
    shown: Place = Place.NOWHERE


_UNITS: Final = {
    "per_s": "1/s", "ms": "ms", "gib": "GiB", "w": "W", "mhz": "MHz", "j": "J",
    "mib_per_epoch": "MiB", "s": "s", "goodput": "1/s",
}  # fmt: skip
"""Unit by the end of a name, the longest first; ``_low`` and ``_high`` come after it."""

_TITLES: Final = {
    "samples_per_s": "speed (samples/s)",
    "val_acc": "validation accuracy",
    "test_acc": "test accuracy",
}

_MEASURED: Final = """
samples_per_s | batches | | samples over time in the steady state
samples_per_s_low | batches | | 95 % interval of its config's rate, low end
samples_per_s_high | batches | | 95 % interval of its config's rate, high end
val_acc | learned | trials | validation accuracy, a fraction of 1
test_acc | learned | front hover trials | test accuracy, a fraction of 1; selected configs only
train_loss | learned | trials | mean training loss of the last epoch
epochs | learned | | epochs trained
steps | learned | | optimizer steps taken
train_s | batches training | front | time in training epochs without evaluation, of the whole curve
epoch_s | batches | front hover trials | median duration of a whole epoch, its start included
epoch_start_s | batches | front | median wait for the first batch of an epoch
eval_s | training | | total time spent in evaluation
step_ms | batches | front hover trials | mean duration of a steady step
wait_ms | batches | trials | mean wait for the next batch within a step
transfer_ms | | | mean time moving a batch to the device
forward_ms | | | mean forward time of a step, loss included
backward_ms | | | mean backward time of a step
optimizer_ms | | | mean optimizer time of a step
peak_rss_gib | | front hover trials | peak resident memory of the trial's processes
cpu_util | batches | | CPU time over wall time and cores, while training
system_time_share | batches | | kernel time over all CPU time, while training
faults_per_step | batches | | minor page faults of the training process a step
peak_gpu_gib | gpu | trials | peak memory allocated on the fullest GPU
gpu_util | gpu | | mean GPU utilisation, a fraction of 1
copy_ms | gpu | | mean time of copies to the GPU that overlap steps
host_ms | gpu | | mean host time of a step beside the device's, on GPUs
first_epoch_s | batches | | duration of the first epoch, its start included
loader_only_samples_per_s | | | samples a second, loader alone
compute_only_samples_per_s | | | samples a second over batches that are there already
headroom | | | how many times faster the trial were if its loader were free
peak_pss_gib | | | peak at epoch ends, shared pages counted once
worker_growth_mib_per_epoch | | trials | median growth of the workers' private memory an epoch
busy_cores | | | mean number of cores that the trial's processes kept busy
foreign_share | | | share of its own cores' time that went to other processes
steal_share | | | share of its own cores' time that the hypervisor took
run_queue_share | | | time that its threads were ready without a core, over its cores' time
others_cores | | | mean number of the node's cores that other trials had leased
major_faults | | | page faults of the trial's processes that waited for a disk
gpu_memory_gib | gpu | | peak memory used on the device, by any process
gpu_power_w | gpu | | mean power of the trial's GPUs, summed
gpu_clock_mhz | gpu | | mean clock of the GPUs' processors
gpu_slowed_share | gpu | | share of the samples in which power or heat slowed a GPU
gpu_energy_j | gpu training | | energy by the GPUs' own counters, summed
samples_per_s_within_low | batches | | lower end of 95 % within the run
samples_per_s_within_high | batches | | upper end of 95 % within the run
earlier_epochs | learned | | those of the epochs that earlier trials trained up to a pause
"""
"""A line a metric: its name, what it is measured of or ``learned``, where it is shown, meaning."""

_DERIVED: Final = """
time_to_accuracy_s | target training | | training time until the sweep's target was reached
goodput | target training | | samples_per_s times the baseline's samples to the target over its own
cost | training | | core-hours and GPU-hours of the trial by the sweep's prices
energy_j | training | | energy of the GPUs and, where it may be read, of the CPU packages
"""


def _metric(line: str) -> Metric:
    name, of, shown, doc = (cell.strip() for cell in line.split("|"))
    bare = name.removesuffix("_low").removesuffix("_high").removesuffix("_within")
    words = of.upper().split()
    return Metric(
        name=name,
        unit=next((unit for end, unit in _UNITS.items() if f"_{bare}".endswith(f"_{end}")), ""),
        doc=doc,
        title=_TITLES.get(name, ""),
        learned="LEARNED" in words,
        of=reduce(or_, (Of[word] for word in words if word != "LEARNED"), Of.EVERY_TRIAL),
        shown=reduce(or_, (Place[word] for word in shown.upper().split()), Place.NOWHERE),
    )


MEASURED: Final = tuple(map(_metric, _MEASURED.strip().splitlines()))
"""Figures that every trainable gets from the measurement, in table order."""

DERIVED: Final = tuple(map(_metric, _DERIVED.strip().splitlines()))
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
