"""A search: what to try next, given the results so far."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, ClassVar, Final, NamedTuple, cast

from orchestrator.kernel.problem import Candidates, SearchProblem
from orchestrator.space.knob import Role
from orchestrator.trial import Budget, Report, Stage, Trial, TrialResult
from orchestrator.trial import Proposal as Proposal  # for those who write a search


class Pause(Enum):
    """The answer of a search that has nothing to ask for until a result is there."""

    WAIT = "wait"


WAIT: Final = Pause.WAIT

MayStart = Callable[..., bool]
"""Whether a budget has room for configs that would be trained whole, one after the other, and that
may be left out; ``kept_back``: True for runs that a part of the budget is kept back for."""


class Search:
    """Source of trials, driven by the control loop. It never sees Ray.

    Deterministic: the same seed and the same sequence of calls give the same answers, so that an
    interrupted sweep is resumed by repeating the calls in its journal. Methods that a search lacks
    have defaults here.

    Attributes:
        extends: True if it can continue to more configs than it was started with.
    """

    extends: bool = False

    def ask(self) -> Proposal | Pause | None:
        """Return the next trial; ``WAIT`` until more results are there; None at the end."""
        raise NotImplementedError

    def tell(self, trial: Trial, result: TrialResult) -> None:
        """Take the result of a trial asked for. Called exactly once for each."""

    def revise(self, trial_id: str, result: TrialResult) -> None:
        """Replace the result of a trial that is infeasible, as later ones show."""

    def should_stop(self, trial: Trial, report: Report) -> bool:
        """Return True if a running trial has shown enough and is to stop.

        The trial trains on meanwhile: a few more of its reports may follow, or its end.
        """
        return False

    def notes(self) -> list[str]:
        """Return the notes for the user that were not returned yet."""
        return []

    def extend(self, trials: int) -> None:
        """Continue to ``trials`` configs in all; do nothing where it has as many already."""

    @property
    def roles(self) -> Mapping[str, Role]:
        """Role of each knob, as far as the search has checked them."""
        return {}

    # -- limits: a gate decides by the clock and journals what it decides, so that these calls too
    # are repeated when a run is resumed

    def limit(self, may_start: MayStart) -> None:
        """Take the function to call before runs that may be left out."""

    def end_early(self) -> None:
        """Leave out the rest of the search: the confirm stage begins."""

    def skip(self, trial: Trial) -> None:
        """Wait no longer for a trial: it is not run in this process."""

    def begin(self) -> None:
        """Wait again for skipped trials: another process begins, which runs them."""

    def go_on(self, trials: int | None) -> None:
        """Continue after an early end, or to ``trials`` configs; the later stages follow again."""


@dataclass(frozen=True, kw_only=True)
class PlannedStage:
    """A part of a search as it is known before anything has run.

    Attributes:
        name: Its word in the plan: ``probe``, ``train``, ...
        least: Fewest trials of it.
        most: Most trials of it; None without a limit.
        share_of_trial: Longest time of a trial, as a fraction of a whole training's.
        least_share: Shortest time, likewise; None: the same.
        least_s: Seconds that a trial takes at least, however short a whole training is.
        isolated: True if they run one at a time.
        text: Meaning, one line of plain text without the numbers of trials.
        stage: Purpose of its trials.
    """

    name: str
    least: int
    most: int | None
    share_of_trial: float = 1.0
    least_share: float | None = None
    least_s: float = 0.0
    isolated: bool = False
    text: str = ""
    stage: Stage = Stage.TRAIN


class ComparedRun(NamedTuple):
    """A run of the configs that are compared after a search; by default a whole training.

    Attributes:
        budget: Its budget, or None.
        share: Its time, as a fraction of a whole training's, as far as is known.
        least_s: Its seconds at least, likewise.
    """

    budget: Budget | None = None
    share: float = 1.0
    least_s: float = 0.0


class SearchSpec:
    """Specification of a search in a sweep file: ``Grid()``, ``Random(40)``, ``Optuna(100)``."""

    has_rungs: ClassVar[bool] = False
    """True if the search itself ends trainings early."""
    has_probes: ClassVar[bool] = False
    """True if it probes speeds by itself and repeats what it needs. Probes and trainings of earlier
    runs are then rows of its own."""

    @property
    def warm_starts(self) -> bool:
        """Return True if results of earlier runs change what the search asks for."""
        return False

    def start(self, problem: SearchProblem) -> Search:
        """Return a fresh search over ``problem``."""
        raise NotImplementedError

    def with_trials(self, trials: int) -> "SearchSpec":
        """Return the same search, limited to ``trials`` configs, by its field of that name."""
        limited: SearchSpec = replace(cast("Any", self), trials=trials)
        return limited

    def candidates(self, problem: SearchProblem) -> Candidates | None:
        """Return the configs that are trained whatever the results; None where results decide."""
        return None

    def listed(self, problem: SearchProblem) -> Candidates | None:
        """Return the configs that the tables list, run or not; None for those that ran."""
        return None

    def compared_run(self, problem: SearchProblem) -> ComparedRun:
        """Return the run that its best configs are compared by."""
        return ComparedRun()

    def combinations(self, problem: SearchProblem) -> Iterator[dict[str, Any]] | None:
        """Return the configs that it chooses from; None where they cannot be enumerated."""
        return None

    def planned(self, problem: SearchProblem) -> Sequence[PlannedStage]:
        """Return the stages as they are known before anything has run; () for a sole one.

        Repeats are included; the stages after every search (repeats, confirm) are not.
        """
        return ()
