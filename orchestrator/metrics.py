"""Metrics of the trials table: one registry of name, unit and meaning."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from orchestrator.errors import SweepFileError, refuse
from orchestrator.field_types import wrong_fields
from orchestrator.locations import caller


class Goal(StrEnum):
    """Direction in which a metric gets better."""

    MAXIMIZE = "maximize"
    MINIMIZE = "minimize"


@dataclass(frozen=True, kw_only=True)
class Metric:
    """Figure that a trial may report.

    Attributes:
        name: Column name without its ``metrics.`` prefix.
        unit: Unit, empty for counts and fractions.
        doc: Meaning, and the part of the trial that it is taken over.
        learned: True for what was learned, which the machine's load does not change.
    """

    name: str
    unit: str = ""
    doc: str
    learned: bool = False


_ALLOWED: Final = {
    "metric": 'the name of a metric: maximize("val_acc")',
    "goal": "Goal.MAXIMIZE or Goal.MINIMIZE, which maximize(...) and minimize(...) set",
}


@dataclass(frozen=True)
class Objective:
    """Metric with the direction in which it is to be improved, or with a bound to hold.

    Attributes:
        metric: Its name.
        goal: Its direction.
        tolerance: Difference from the best that is given away for another objective. None: the
            sweep's own for accuracies, its ``tie_margin`` for others.
        relative: True where ``tolerance`` is a fraction of the best, not in the metric's unit.
        bound: Value that a config must reach. What is better than it does not count as better.
    """

    metric: str
    goal: Goal
    tolerance: float | None = None
    relative: bool = False
    bound: float | None = None

    def __post_init__(self) -> None:
        if type(self.goal) is str and self.goal in list(Goal):
            object.__setattr__(self, "goal", Goal(self.goal))
        refuse(
            [
                SweepFileError(
                    f"{caller(each.field)}Objective: {each} is not allowed",
                    f"allowed: {_ALLOWED.get(each.field, each.allowed)}",
                )
                for each in wrong_fields(self)
            ]
        )

    @property
    def sign(self) -> float:
        """+1 where larger is better, -1 where smaller is."""
        return 1.0 if self.goal is Goal.MAXIMIZE else -1.0


def maximize(metric: str, *, tolerance: float | None = None, relative: bool = False) -> Objective:
    """Return an objective that is better the larger ``metric`` is; see :class:`Objective`."""
    return Objective(metric, Goal.MAXIMIZE, tolerance, relative)


def minimize(metric: str, *, tolerance: float | None = None, relative: bool = False) -> Objective:
    """Return an objective that is better the smaller ``metric`` is; see :class:`Objective`."""
    return Objective(metric, Goal.MINIMIZE, tolerance, relative)


def at_least(metric: str, bound: float) -> Objective:
    """Return the objective that ``metric`` is ``bound`` or more: a condition, not a goal."""
    return Objective(metric, Goal.MAXIMIZE, bound=bound)


def at_most(metric: str, bound: float) -> Objective:
    """Return the objective that ``metric`` is ``bound`` or less: a condition, not a goal."""
    return Objective(metric, Goal.MINIMIZE, bound=bound)


MEASURED: tuple[Metric, ...] = (
    Metric(name="samples_per_s", unit="1/s", doc="samples over time in the steady state"),
    Metric(
        name="samples_per_s_low",
        unit="1/s",
        doc="95 % interval of its config's rate, low end",
    ),
    Metric(
        name="samples_per_s_high",
        unit="1/s",
        doc="95 % interval of its config's rate, high end",
    ),
    Metric(name="val_acc", doc="validation accuracy, a fraction of 1", learned=True),
    Metric(
        name="test_acc", doc="test accuracy, a fraction of 1; selected configs only", learned=True
    ),
    Metric(name="train_loss", doc="mean training loss of the last epoch", learned=True),
    Metric(name="epochs", doc="epochs trained", learned=True),
    Metric(name="steps", doc="optimizer steps taken", learned=True),
    Metric(
        name="train_s",
        unit="s",
        doc="time in training epochs, evaluation excluded; after a pause, of the whole curve",
    ),
    Metric(name="epoch_s", unit="s", doc="median duration of a whole epoch, its start included"),
    Metric(name="epoch_start_s", unit="s", doc="median wait for the first batch of an epoch"),
    Metric(name="eval_s", unit="s", doc="total time spent in evaluation"),
    Metric(name="step_ms", unit="ms", doc="mean duration of a steady step"),
    Metric(name="wait_ms", unit="ms", doc="mean wait for the next batch within a step"),
    Metric(name="transfer_ms", unit="ms", doc="mean time moving a batch to the device"),
    Metric(name="forward_ms", unit="ms", doc="mean forward time of a step, loss included"),
    Metric(name="backward_ms", unit="ms", doc="mean backward time of a step"),
    Metric(name="optimizer_ms", unit="ms", doc="mean optimizer time of a step"),
    Metric(name="peak_rss_gib", unit="GiB", doc="peak resident memory of the trial's processes"),
    Metric(name="cpu_util", doc="CPU time over wall time and cores, while training"),
    Metric(name="system_time_share", doc="kernel time over all CPU time, while training"),
    Metric(name="faults_per_step", doc="minor page faults of the training process a step"),
    Metric(name="peak_gpu_gib", unit="GiB", doc="peak memory allocated on the device"),
    Metric(name="gpu_util", doc="mean GPU utilisation, a fraction of 1"),
    Metric(name="copy_ms", unit="ms", doc="mean time of copies to the GPU that overlap steps"),
    Metric(name="host_ms", unit="ms", doc="mean host time of a step beside the device's, on GPUs"),
    Metric(name="first_epoch_s", unit="s", doc="duration of the first epoch, its start included"),
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
    Metric(name="gpu_memory_gib", unit="GiB", doc="peak memory used on the device, by any process"),
    Metric(name="gpu_power_w", unit="W", doc="mean power of the trial's GPUs, summed"),
    Metric(name="gpu_clock_mhz", unit="MHz", doc="mean clock of the GPUs' processors"),
    Metric(name="gpu_slowed_share", doc="share of the samples in which power or heat slowed a GPU"),
    Metric(name="gpu_energy_j", unit="J", doc="energy by the GPUs' own counters, summed"),
    Metric(name="samples_per_s_within_low", unit="1/s", doc="lower end of 95 % within the run"),
    Metric(name="samples_per_s_within_high", unit="1/s", doc="upper end of 95 % within the run"),
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
        unit="s",
        doc="training time until the sweep's target was reached; absent where it was not",
    ),
    Metric(
        name="goodput",
        unit="1/s",
        doc="samples_per_s times the samples that the baseline takes to the target over its own",
    ),
    Metric(name="cost", doc="core-hours and GPU-hours of the trial by the sweep's prices"),
    Metric(
        name="energy_j",
        unit="J",
        doc="energy by the GPUs' counters and, where they may be read, the node's CPU packages'",
    ),
)
"""Figures that are made for the sweeps that ask for them: as an objective, or by their prices."""

OF_THE_TARGET: Final = ("time_to_accuracy_s", "goodput")
"""Figures of :data:`DERIVED` that take a target."""

OF_GPUS: Final = (
    "peak_gpu_gib", "gpu_util", "copy_ms", "host_ms", "gpu_memory_gib", "gpu_power_w",
    "gpu_clock_mhz", "gpu_slowed_share", "gpu_energy_j",
)  # fmt: skip
"""Figures that only a trial on a GPU has."""

OF_BATCHES: Final = (
    "samples_per_s", "samples_per_s_low", "samples_per_s_high", "samples_per_s_within_low",
    "samples_per_s_within_high", "train_s", "epoch_s", "epoch_start_s", "first_epoch_s", "step_ms",
    "wait_ms", "cpu_util", "system_time_share", "faults_per_step",
)  # fmt: skip
"""Figures that no trial has whose training function takes no batch from ``run.batches``."""

METRICS: dict[str, Metric] = {metric.name: metric for metric in (*MEASURED, *DERIVED)}

FIRST_LOSS: Final = "first_loss"
"""Loss of the first step: learned, and told of a trial of speed alone all the same."""

_ACCURACY: Final = re.compile(r"(^|_)(acc|accuracy|auc)$")

_LEARNED: Final = re.compile(
    r"(^|_)(acc|accuracy|auc|auroc|loss|nll|perplexity|ppl|err|error|mse|rmse|mae|r2|f1|precision"
    r"|recall|iou|dice|bleu|rouge|mrr|ndcg|hits|score|reward|majority_share|classes_predicted"
    r"|epochs|steps)(_|$)"
)
"""Words in the names of what a trainable reports of its learning."""

_OF_THE_LOAD: Final = re.compile(r"_(s|ms|us|ns)$|_(per|gib|mib)(_|$)|(^|_)time(_|$)")
"""Endings that make a time, a rate or memory of any name: ``time_to_accuracy``, ``loss_ms``."""


def batches_hint(missing: Sequence[str]) -> str:
    """Return a clause that says how those of :data:`OF_BATCHES` come about; "" without any."""
    names = " and ".join(name for name in missing if name in OF_BATCHES)
    return f"; run.batches measures {names}, which objectives=[...] may leave out" if names else ""


def is_accuracy(name: str) -> bool:
    """Return True for a share of right answers, a fraction of 1: ``val_acc``, ``accuracy``."""
    return bool(_ACCURACY.search(name))


def is_learned(name: str) -> bool:
    """Return True for a metric of what was learned: an accuracy, a loss, a count of steps.

    Other load on the machine does not change it. A metric that the registry does not have is
    judged by the words in its name. One that has none of them may be a rate, ``kteps`` say: it
    counts as one, since that only leaves contaminated runs out.
    """
    if name in METRICS:
        return METRICS[name].learned
    return bool(_LEARNED.search(name)) and not _OF_THE_LOAD.search(name)
