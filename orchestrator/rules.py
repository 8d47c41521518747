"""Rules by which a config is recommended, as sweep files state them; the analysis applies them."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any, Final

from msgspec import Meta

COST_KNOBS: Final = ("gpus", "num_gpus", "ranks", "num_workers", "workers", "threads")
"""Knobs that take something of the machine, the dearest first: of configs that are as fast, the one
with less of them is the cheaper."""

TOLERANCE: Final = 0.03
"""Share of the speed by which a config may be slower before that is a regression."""

_Weight = Annotated[float, Meta(gt=0, le=1e9, description="a number > 0")]


class RuleKind(StrEnum):
    """Kind of a rule."""

    FASTEST_WITHIN = "fastest_within"
    """The best by the first objective of those that are close enough to the best in the others."""
    KNEE = "knee"
    """The bend of the front."""
    WEIGHTED = "weighted"
    """The largest weighted sum of the objectives."""
    FUNCTION = "function"
    """What a function of the sweep file returns."""


@dataclass(frozen=True, kw_only=True)
class SelectionRule:
    """The rule of a sweep.

    Attributes:
        kind: Its kind.
        metric: Objective of :func:`fastest_within`; empty: the objectives' own tolerances.
        tolerance: How far from the best ``metric`` may be.
        relative: True where ``tolerance`` is a fraction of the best, not in the metric's unit.
        weights: Weight of each metric, of :func:`weighted`.
        name: Name of a function of one's own.
        source: Its code.
        function: The function; None where the record of a run has been read.
    """

    kind: RuleKind = RuleKind.FASTEST_WITHIN
    metric: str = ""
    tolerance: float | None = None
    relative: bool = False
    weights: Mapping[str, _Weight] = field(default_factory=dict)
    name: str = ""
    source: str = ""
    function: Callable[[Any], Any] | None = field(default=None, compare=False, repr=False)

    def to_json(self) -> dict[str, Any]:
        """Return what of it is not at its default, as ``sweep.json`` has it."""
        names = ("metric", "tolerance", "relative", "weights", "name", "source")
        default = SelectionRule()
        changed = {n: v for n in names if (v := getattr(self, n)) != getattr(default, n)}
        return {"kind": str(self.kind), **changed}


def fastest_within(
    metric: str = "", tolerance: float | None = None, *, relative: bool = False
) -> SelectionRule:
    """Return the rule of most sweeps: the fastest config that is close enough to the best.

    "Fastest" is the best by the first objective that is no bound. Bounds are applied first,
    then each other objective in order: configs stay that are within its tolerance of the best
    config left.

    Args:
        metric: Objective that ``tolerance`` is of. Empty: each objective's own.
        tolerance: How far from the best it may be.
        relative: True where ``tolerance`` is a fraction of the best, not in the metric's unit.
    """
    return SelectionRule(metric=metric, tolerance=tolerance, relative=relative)


def knee() -> SelectionRule:
    """Return the rule that takes the bend of the front.

    Each objective is scaled to 0 at the front's worst and 1 at its best. The knee is the config
    of the front that lies farthest beyond the line between the front's two ends (the plane
    through three), as in Das, "On characterizing the 'knee' of the Pareto curve based on
    Normal-Boundary Intersection" (Structural Optimization 18, 1999). Of a front that bends nowhere
    it is the end that is best by the first objective.
    """
    return SelectionRule(kind=RuleKind.KNEE)


def weighted(**weights: float) -> SelectionRule:
    """Return the rule of the largest weighted sum: ``weighted(samples_per_s=1, val_acc=10)``.

    A figure counts by how far it is short of the best among the configs, as a fraction of that
    best. With the weights above one per cent of accuracy is worth ten per cent of speed.

    Args:
        weights: Weight of each objective that counts, > 0. Their directions are the objectives'.
    """
    return SelectionRule(kind=RuleKind.WEIGHTED, weights=weights)


Rule = SelectionRule | Callable[[Any], Any]
"""A rule as a sweep file states it. A function gets the table of configs (a pandas frame: the
columns of :func:`orchestrator.analysis.statistics.by_config.by_config`) and returns the index or
the row of one.
"""


def cost_of(
    config: Mapping[str, Any],
    metrics: Mapping[str, float],
    *,
    device: str,
    baseline: Mapping[str, Any],
    cores: float = math.inf,
) -> tuple[float, ...]:
    """Return what a config takes of the machine, the dearest part first, to compare as tuples.

    First a GPU; then :data:`COST_KNOBS`, workers times ranks; memory of the GPU and of the
    processes, to a tenth of a GiB. An unknown figure counts as infinite. The last part is the
    number of knobs that differ from the baseline's.

    Args:
        config: The values of the knobs.
        metrics: The figures; NaN is not known.
        device: ``cpu``, empty, or the name of a GPU.
        baseline: The sweep's baseline.
        cores: Cores that 0 threads use: the library's own choice.
    """
    taken = {name: _number(config.get(name)) for name in COST_KNOBS}
    taken["threads"] = taken["threads"] or cores
    for name in ("num_workers", "workers"):
        taken[name] *= max(taken["ranks"], 1.0)
    on_gpu = float(device not in ("", "cpu"))
    peaks = (metrics.get(f"peak_{kind}_gib", math.nan) for kind in ("gpu", "rss"))
    memory = [math.inf if math.isnan(peak) else round(peak, 1) for peak in peaks]
    num_changed = float(sum(config.get(knob) != value for knob, value in baseline.items()))
    return on_gpu, *taken.values(), *memory, num_changed


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
