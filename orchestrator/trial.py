"""Trial: one training run, its reports and its result."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Final, Self

from msgspec import Meta

from orchestrator.field_types import is_int, shown
from orchestrator.texts import bounded, bounded_name

LOAD: Final = "contaminated"
"""Tag of a result, and column of a table of configs: other load disturbed what was measured."""


class Stage(StrEnum):
    """Purpose of a trial."""

    PROBE = "probe"
    """For speed only. Isolated, but for the co-located runs of the interference check."""
    TRAIN = "train"
    """Train to accuracy, and measure the speed meanwhile."""
    CONFIRM = "confirm"
    """End to end, isolated and repeated: the runs that a claim rests on."""

    @property
    def is_final(self) -> bool:
        """True if a claim rests on its runs; then they select nothing."""
        return self is Stage.CONFIRM


SEARCHING: Final = tuple(stage for stage in Stage if not stage.is_final)
"""The stages whose runs may select a config."""
FINAL: Final = next(stage for stage in Stage if stage.is_final)
"""The stage whose runs a claim rests on."""


class TrialState(StrEnum):
    """Final state of a trial.

    ::

        asked ──> running ──> completed     the whole budget was trained
          │          ├──────> stopped       the search or the user had seen enough
          │          ├──────> infeasible    it cannot run here, or it diverged
          │          └──────> failed        anything else; the reason names it
          ├─────────────────> infeasible    known before it was started
          └─────────────────> not_run       a budget ended first
    """

    COMPLETED = "completed"
    STOPPED = "stopped"
    INFEASIBLE = "infeasible"
    FAILED = "failed"
    NOT_RUN = "not_run"


class Isolation(StrEnum):
    """Isolation of a trial from others while it is measured."""

    EXCLUSIVE = "exclusive"
    """On a node of its own."""
    LEASED = "leased"
    """On cores of its own, other trials co-located."""
    SHARED = "shared"
    """No promise."""


@dataclass(frozen=True, kw_only=True)
class Budget:
    """Length of a training: the limit that is reached first.

    Attributes:
        epochs: Passes over the training data.
        steps: Optimizer steps, or None for no limit.
        half_width: Half of the 95 % interval's width as a fraction of the rate, 0.03 for 3 %. A
            trial ends, within an epoch too, once its throughput is known so well. None: it trains
            the whole budget. Trials of several ranks do so too, since each rank would stop at a
            step of its own.
        pause_after: Epochs after which the trial ends with a checkpoint, ``stopped``. A later
            trial of the same curve with a later pause, or none, resumes from there. None: it
            trains the whole budget.
        evaluated: False for a trial of speed alone: what it learns is not evaluated.
    """

    epochs: int
    steps: int | None = None
    half_width: float | None = None
    pause_after: int | None = None
    evaluated: bool = True

    LEFT_OUT: ClassVar[Mapping[str, Any]] = {"pause_after": None, "evaluated": True}
    """Fields that JSON lacks while they have these values: most trials do not ask for them."""

    def until(self, epochs: int) -> Self:
        """Return the budget of the same curve with its pause, or its end, after so many epochs."""
        return replace(self, pause_after=epochs if epochs < self.epochs else None)

    @property
    def is_part(self) -> bool:
        """True where the trial ends at a pause."""
        return self.pause_after is not None

    @property
    def end(self) -> int:
        """Epochs after which the trial ends, at its pause or at the end of the curve."""
        return min(self.epochs, self.pause_after or self.epochs)

    @property
    def ending(self) -> tuple[TrialState, str]:
        """State and reason of a trial that has trained all its epochs."""
        if self.end == self.epochs:
            return TrialState.COMPLETED, ""
        return TrialState.STOPPED, f"paused after {self.end} of {self.epochs} epochs"

    def to_json(self) -> dict[str, Any]:
        """Return a plain dictionary, without the fields that are left out."""
        return {k: v for k, v in vars(self).items() if v != self.LEFT_OUT.get(k, ...)}


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """A trial that a search asks for.

    Attributes:
        config: A value for every knob.
        stage: Purpose of the trial.
        budget: How long to train.
        repeat: 0 for the first run of a config in a stage, then 1, 2, ...
        evaluate_test: True if the test split may be evaluated.
        isolated: True if no other trial, of this sweep or another, may run on its node.
        interleaved: True if it shares its cores in time slices with the proposals that come
            before and after it. The search waits after the last of them, and stops none.
    """

    config: Mapping[str, Any]
    budget: Budget
    stage: Stage = Stage.TRAIN
    repeat: int = 0
    evaluate_test: bool = False
    isolated: bool = False
    interleaved: bool = False

    def shares_cores(self, other: "Proposal") -> bool:
        """Return True if both share their cores in time slices: they are of one round."""
        return self.interleaved and other.interleaved and self.repeat == other.repeat

    def taken_s(self, wall_s: float, held_s: float) -> float:
        """Return for how long it kept others from its cores, ``held_s`` after its start.

        Its ``wall_s`` ends with its training, and lacks the time slices of other trials.
        """
        return wall_s if self.interleaved else max(wall_s, held_s)


@dataclass(frozen=True, kw_only=True)
class Trial(Proposal):
    """What a search has asked for, to be run once in its own process; its config is canonical.

    Attributes:
        id: Hash of the rest, of the trainable's name and source and of the data.
        seed: Seed of every random choice in it.
        curve: Hash of what the trials of one learning curve share: all but ``pause_after``. Their
            checkpoints lie in one folder of this name.
    """

    id: str
    seed: int
    curve: str = ""

    @property
    def proposal(self) -> Proposal:
        """What the search asked for."""
        return Proposal(**{each.name: getattr(self, each.name) for each in fields(Proposal)})


def _count(name: str, value: Any) -> int:  # noqa: ANN401 - what a trainable counts may be any
    """Return a number that a report counts with: journal and tables have 64 bits for it.

    Raises:
        ValueError: It is none.
    """
    try:
        number = int(value)
        if number == value and is_int(number):
            return number
    except (TypeError, ValueError, OverflowError):
        pass
    raise ValueError(f"{name} = {shown(value)} is not allowed: a whole number of 64 bits")


BlockRow = tuple[int, int, int, int, float, Annotated[int, Meta(ge=0, le=3)]]
"""A block of steps, as :meth:`~orchestrator.measurement.blocks.Block.to_row` returns it."""


@dataclass(frozen=True, kw_only=True)
class Report:
    """Report of a trial while it runs, usually once an epoch.

    Attributes:
        step: Optimizer steps so far.
        epoch: Epochs finished.
        samples: Training samples so far, over all ranks.
        elapsed_s: Seconds since the training process began.
        metrics: Figures that the trainable reported, and the measurement so far. A trial that
            is stopped or killed after this report still has these figures.
        tags: Verdicts of the measurement so far (``bound``, ``oversubscribed``).
        blocks: Steps timed since the report before, as
            :meth:`~orchestrator.measurement.blocks.Block.to_row` has them. They go to
            ``steps.jsonl``, not to the journal.
        restored_epochs: Epochs that its process found done in a checkpoint.
    """

    step: int
    epoch: int
    samples: int
    elapsed_s: float
    metrics: Mapping[str, float]
    tags: Mapping[str, str] = field(default_factory=dict)
    blocks: Sequence[BlockRow] = ()
    restored_epochs: int = 0

    def __post_init__(self) -> None:
        for name in ("step", "epoch", "samples"):
            object.__setattr__(self, name, _count(name, getattr(self, name)))
        object.__setattr__(self, "metrics", _figures(self.metrics))
        object.__setattr__(self, "tags", _texts(self.tags))


@dataclass(frozen=True, kw_only=True)
class TrialResult:
    """Result of a trial. Every trial that was asked for gets exactly one.

    Attributes:
        state: See :class:`TrialState`.
        reason: Why it is not ``completed``; empty where it is.
        metrics: Final figures by metric name. One that was not measured is absent.
        tags: Verdicts by name.
        started_at: Unix time at which its process was started, or None.
        wall_s: Seconds from then to its end, without the other trials' time slices, or None.
        node: Host it ran on, several joined by ``+``; empty where it never ran.
        device: ``cpu``, or the GPU's name.
        cores: Cores it was given.
        isolation: Isolation that was granted, not the one that was asked for.
        blocks: Steps timed since its last report; see :class:`Report`.
        output: What it has printed, of much of it the beginning and the end. It goes to a file of
            its own, not to the journal.
    """

    state: TrialState
    reason: str = ""
    metrics: Mapping[str, float] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    started_at: float | None = None
    wall_s: float | None = None
    node: str = ""
    device: str = ""
    cores: int | None = None
    isolation: str = ""
    blocks: Sequence[BlockRow] = ()
    output: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "reason", bounded(str(self.reason)))
        object.__setattr__(self, "metrics", _figures(self.metrics))
        object.__setattr__(self, "tags", _texts(self.tags))

    @property
    def found(self) -> dict[str, str]:
        """Values that knobs had, where the training found them: tags ``params.KNOB``."""
        return {
            tag.removeprefix("params."): value
            for tag, value in self.tags.items()
            if tag.startswith("params.")
        }

    @property
    def verdicts(self) -> dict[str, str]:
        """The tags without the values of knobs."""
        return {tag: text for tag, text in self.tags.items() if not tag.startswith("params.")}

    @property
    def disturbed(self) -> str:
        """Other load while it ran, a slow start included, in words; empty where none was found."""
        found, slow_start = (self.tags.get(name, "") for name in (LOAD, "slow_start"))
        found = "" if found == "false" else found
        return found if slow_start in found else "; ".join(filter(None, [found, slow_start]))


def _figures(metrics: Mapping[str, float]) -> Mapping[str, float]:
    """Return the figures that are numbers, by names that fit every table and page."""
    return {
        bounded_name(name): figure
        for name, figure in metrics.items()
        if isinstance(figure, (int, float))
    }


def _texts(tags: Mapping[str, str]) -> Mapping[str, str]:
    return {bounded_name(name): bounded(str(text)) for name, text in tags.items()}


def trial_id(identity: Mapping[str, Any]) -> str:
    """Return a short hash of everything that distinguishes a trial from another."""
    text = json.dumps(identity, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:12]
