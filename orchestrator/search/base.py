"""A search: what to try next, given the results so far."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, Protocol, runtime_checkable

from orchestrator.metrics import Objective
from orchestrator.space.domains import Domain
from orchestrator.space.knob import Role
from orchestrator.trial import Budget, Report, Stage, Trial, TrialResult


class Pause(Enum):
    """The answer of a search that has nothing to ask for until it is told more."""

    WAIT = "wait"


WAIT: Final = Pause.WAIT


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """A trial that a search asks for.

    Attributes:
        config: A value for every knob.
        stage: Purpose of the trial.
        budget: How long to train.
        repeat: 0 for the first run of a config in a stage, then 1, 2, ...
        evaluate_test: True where the test split may be evaluated.
        isolated: True where no other trial, of this sweep or another, may run on its node.
        interleaved: True where it shares its cores in time slices with the proposals that come
            before and after it. The search waits after the last of them, and stops none.
    """

    config: Mapping[str, Any]
    budget: Budget
    stage: Stage = Stage.TRAIN
    repeat: int = 0
    evaluate_test: bool = False
    isolated: bool = False
    interleaved: bool = False


class Search(Protocol):
    """Source of trials, driven by the control loop. It never sees Ray.

    Deterministic: the same seed and the same sequence of calls give the same answers,
    so that an interrupted sweep is resumed by repeating the calls that its journal holds.
    """

    def ask(self) -> Proposal | Pause | None:
        """Return the next trial; ``WAIT`` until told more; None at the end."""

    def tell(self, trial: Trial, result: TrialResult) -> None:
        """Take the result of a trial asked for. Called exactly once for each."""

    def should_stop(self, trial: Trial, report: Report) -> bool:
        """Return True if a running trial has shown enough and is to stop.

        The trial trains on meanwhile: a few more of its reports may follow, or its end.
        """


@runtime_checkable
class Speaks(Protocol):
    """A search with notes for the user."""

    def notes(self) -> list[str]:
        """Return the notes that were not handed out yet."""


@dataclass(frozen=True, kw_only=True)
class EarlierConfig:
    """Results of a config in earlier runs of the same trainable on the same data.

    Attributes:
        config: A value for every knob, canonical, within the space and its constraints.
        results: Results of its training runs, completed or infeasible.
    """

    config: Mapping[str, Any]
    results: Sequence[TrialResult]


@runtime_checkable
class WarmStarts(Protocol):
    """A specification whose search may use :attr:`SearchProblem.earlier`."""

    @property
    def warm_starts(self) -> bool:
        """Return True if what was measured before changes what the search asks for."""


@runtime_checkable
class Extends(Protocol):
    """A search that can go on to more configs than it was started with."""

    @property
    def extends(self) -> bool:
        """Return True if it can. One around another search can if that one can."""

    def extend(self, trials: int) -> None:
        """Go on to ``trials`` configs in all; nothing where it has as many already."""


class MayStart(Protocol):
    """The question whether a budget has room for runs that may be left out."""

    def __call__(self, configs: Sequence[Mapping[str, Any]], *, kept_back: bool) -> bool:
        """Return True if it has.

        Args:
            configs: Configs that would be trained whole, one after the other.
            kept_back: True for the runs that a part of the budget is kept back for.
        """


@runtime_checkable
class Limited(Protocol):
    """A search that a budget can cut short, and that can go on afterwards.

    What depends on the clock is decided by the control loop, which journals it. So these calls
    too are repeated when a run is resumed.
    """

    def limit(self, may_start: MayStart) -> None:
        """Take the question that is asked before runs that may be left out."""

    def cut(self) -> None:
        """Take note that what is still searched is not run: the confirm stage begins."""

    def skip(self, trial: Trial) -> None:
        """Take note that a trial asked for is not run in this process."""

    def resume(self) -> None:
        """Take note that a new process runs what the one before it did not."""

    def go_on(self, trials: int | None) -> None:
        """Go on after a cut, or to ``trials`` configs; then come the later stages once more."""


@dataclass(frozen=True, kw_only=True)
class SearchProblem:
    """Input of a search.

    Attributes:
        base: Values of the knobs that are not varied, and of those that are: defaults.
        domains: The knobs that are varied.
        baseline: The config that speed-ups are counted from.
        objectives: Metrics to improve, the speed first.
        budget: Budget of a trial trained to accuracy.
        repeats: Runs of each config.
        seed: Seed of the search's own choices.
        admissible: Returns True if the sweep's own constraints allow a config.
        canonical: Returns the canonical form of a config.
        roles: Role of each knob: what it changes.
        accuracy_tolerance: Difference in accuracy that is given away for speed, a fraction of 1.
        tie_margin: Difference in speed that counts as none, a fraction of 1.
        target: Accuracy that the time to it is an objective of: with a bound, or with a tolerance
            of the best. None: no such objective.
        costs: Of settings that are as fast, knobs and figures that one is cheap by, the dearest
            first. Empty: what takes most of the machine.
        earlier: Results of earlier runs to begin with. They are no results of this run: a config
            that is to be in its tables is asked for all the same.
    """

    base: Mapping[str, Any]
    domains: Mapping[str, Domain]
    baseline: Mapping[str, Any]
    objectives: Sequence[Objective]
    budget: Budget
    repeats: int
    seed: int
    admissible: Callable[[Mapping[str, Any]], bool]
    canonical: Callable[[Mapping[str, Any]], Mapping[str, Any]]
    roles: Mapping[str, Role]
    accuracy_tolerance: float = 0.005
    tie_margin: float = 0.02
    target: Objective | None = None
    costs: Sequence[str] = ()
    earlier: Sequence[EarlierConfig] = ()


class SearchSpec(Protocol):
    """Specification of a search in a sweep file: ``Grid()``, ``Random(40)``, ``Optuna(100)``."""

    def start(self, problem: SearchProblem) -> Search:
        """Return a fresh search over ``problem``."""

    def with_trials(self, trials: int) -> SearchSpec:
        """Return the same search, limited to ``trials`` configs."""


@dataclass(frozen=True, kw_only=True)
class PlannedStage:
    """A part of a search as it is known before anything has run.

    Attributes:
        name: Its word in the plan: ``probe``, ``train``, ...
        least: Fewest trials of it that its search asks for.
        most: Most of them; None where there is no limit.
        share_of_trial: Time that each takes, as a fraction of a whole training's.
        isolated: True where they run one at a time.
        text: Meaning, one line of plain text without the numbers of trials.
    """

    name: str
    least: int
    most: int | None
    share_of_trial: float = 1.0
    isolated: bool = False
    text: str = ""


@runtime_checkable
class Plans(Protocol):
    """A search specification that knows its stages before anything has run."""

    def planned(self, problem: SearchProblem) -> Sequence[PlannedStage]:
        """Return the stages of the search over ``problem``, in order; repeats included.

        The phases that every search has after it (repeats, confirm stage) are not among them.
        """
