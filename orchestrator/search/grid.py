"""Searches with configs that are known beforehand: a grid, random draws; rounds of given configs.

And the checks that the constructors of all searches share.
"""

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from itertools import chain, islice, product
from typing import Annotated, Any, Final

from msgspec import Meta

from orchestrator.errors import SweepFileError, refuse
from orchestrator.field_types import shown, wrong_fields
from orchestrator.formats import counted
from orchestrator.kernel.problem import Candidates, Key, SearchProblem, config_of, key_of
from orchestrator.kernel.search import Pause, Proposal, Search, SearchSpec
from orchestrator.locations import caller
from orchestrator.space.domains import Choice, Domain, Interval
from orchestrator.trial import Trial, TrialResult, TrialState

MOST: Final = 1_000_000
"""Most configs of a search, and the most of anything that it counts."""

Count = Annotated[int, Meta(ge=1, le=MOST, description=f"an int >= 1 and <= {MOST:,}")]

MAX_COMBINATIONS = 1_000_000

MAX_MISSES = 10_000
"""Draws in a row without a new config, after which a space is enumerated, or counts as used up."""

MAX_ENUMERATED = 100_000
"""Most combinations of a finite space that is enumerated."""


@dataclass(frozen=True)
class Grid(SearchSpec):
    """Tries every combination.

    Attributes:
        points: Values of each knob that varies over an interval, spaced evenly on its scale,
            the ends included. Knobs that vary over a choice get all of its values.
        trials: Configs to try at most, the baseline among them, drawn from the grid at
            random. None: all of them.
    """

    points: Count = 3
    trials: Count | None = None

    def __post_init__(self) -> None:
        require_types(self)

    def start(self, problem: SearchProblem) -> Search:
        """Return a fresh search over ``problem``."""
        return Rounds(self, problem)

    def candidates(self, problem: SearchProblem) -> Candidates:
        """Return the configs of the grid.

        Raises:
            SweepFileError: There are too many combinations.
        """
        candidates = Candidates.of(problem, self.combinations(problem))
        if self.trials is not None and self.trials < len(candidates.keys):
            rng = random.Random(f"grid of {problem.seed}")
            candidates.num_unseen = len(candidates.keys) - self.trials
            candidates.keys[1:] = rng.sample(candidates.keys[1:], self.trials - 1)
        return candidates

    def combinations(self, problem: SearchProblem) -> Iterator[dict[str, Any]]:
        """Return every combination."""
        return combinations(problem, self.points)


def combinations(
    problem: SearchProblem, points: int, halved: Mapping[str, Sequence[Any]] = {}
) -> Iterator[dict[str, Any]]:
    """Yield every combination of the values of the knobs that vary, those of ``halved`` included.

    Raises:
        SweepFileError: There are more than :data:`MAX_COMBINATIONS`.
    """
    values = [
        tuple(dict.fromkeys([*domain.points(points), *halved.get(name, ())]))
        for name, domain in problem.domains.items()
    ]
    count = math.prod(map(len, values))
    if count > MAX_COMBINATIONS:
        sizes = ", ".join(
            f"{name} {len(column)}" for name, column in zip(problem.domains, values, strict=True)
        )
        raise SweepFileError(
            f"the grid has {count:,} combinations ({sizes} values)",
            f"allowed: at most {MAX_COMBINATIONS:,}; draw some of them with search=Random(100)",
        )
    for row in product(*values):
        yield {**problem.base, **dict(zip(problem.domains, row, strict=True))}


def spacing(domain: Domain, points: int) -> str:
    """Return how far apart the points of an interval lie; empty where nothing lies between."""
    if type(domain) is not Interval or domain.every_value(points) is not None:
        return ""
    low, high = domain.low, domain.high
    if points == 1:
        return "1 point, the middle"
    if domain.log:
        factor = (high / low) ** (1 / (points - 1))
        return f"{points} points, each {factor:.3g} times the one before"
    return f"{points} points, {(high - low) / (points - 1):.3g} apart"


def halfway(domain: Domain, points: int) -> list[Any]:
    """Return the values of an interval halfway between its points; none of a choice."""
    known = domain.points(points)
    return sorted(value for value in domain.points(2 * points - 1) if value not in known)


def coarse(
    problem: SearchProblem, points: int, halved: Mapping[str, Sequence[Any]] = {}
) -> Iterator[str]:
    """Yield a note on each knob that varies over an interval of which points alone are tried."""
    for name, domain in problem.domains.items():
        if text := spacing(domain, points):
            what = "looked at beside the best alone" if halved.get(name) else "not looked at"
            yield f"{name}: {text}; what lies between is {what} (points= sets more)"


def every_combination(problem: SearchProblem) -> Iterator[dict[str, Any]] | None:
    """Return every combination of a finite space of at most :data:`MAX_ENUMERATED`, else None.

    A knob that varies over whole numbers has each of them.
    """
    values = [
        tuple(dict.fromkeys(domain.values))
        if isinstance(domain, Choice)
        else domain.every_value(MAX_ENUMERATED)
        for domain in problem.domains.values()
    ]
    finite = [column for column in values if column is not None]
    if len(finite) < len(values) or math.prod(map(len, finite)) > MAX_ENUMERATED:
        return None
    names = list(problem.domains)
    return ({**problem.base, **dict(zip(names, row, strict=True))} for row in product(*finite))


class Rounds(Search):
    """A search that asks for every config once, then again, as often as the problem repeats.

    The baseline comes first. The repeats of a config lie in different rounds, so that a drift of
    the machine's speed meets all configs alike. An infeasible config is not asked for again.

    Args:
        spec: Its specification, which has the configs.
        problem: The problem.
    """

    extends = True

    def __init__(self, spec: "Grid | Random", problem: SearchProblem) -> None:
        self._spec, self._problem = spec, problem
        candidates = spec.candidates(problem)
        self._keys = candidates.keys
        self._notes = list(coarse(problem, spec.points)) if isinstance(spec, Grid) else []
        if unseen := candidates.num_unseen:
            all_of_them = counted(len(self._keys) + unseen, "config")
            self._notes.append(f"{unseen:,} of {all_of_them} of the grid are not looked at")
        self._infeasible: set[Key] = set()
        self._left: Iterator[tuple[Key, int]] = self._rounds("", list(self._keys), num_first=1)

    def ask(self) -> Proposal | Pause | None:
        """Return the next trial, or None after the last round."""
        for key, repeat in self._left:
            if key not in self._infeasible:
                config = config_of(self._problem, key)
                return Proposal(config=config, budget=self._problem.budget, repeat=repeat)
        return None

    def tell(self, trial: Trial, result: TrialResult) -> None:
        """Remember the configs that cannot run."""
        if result.state is TrialState.INFEASIBLE:
            self._infeasible.add(key_of(self._problem, trial.config))

    def notes(self) -> list[str]:
        """Return the notes that were not returned yet."""
        notes, self._notes = self._notes, []
        return notes

    def extend(self, trials: int) -> None:
        """Continue to ``trials`` configs in all: those of the same search with that limit."""
        known = set(self._keys)
        more = replace(self._spec, trials=trials).candidates(self._problem)
        new = [key for key in more.keys if key not in known][: max(0, trials - len(known))]
        self._keys += new
        self._left = chain(self._left, self._rounds(f"extended to {trials}, ", new))

    def _rounds(
        self, which: str, keys: Sequence[Key], num_first: int = 0
    ) -> Iterator[tuple[Key, int]]:
        """Yield the configs in random order, round by round; ``num_first`` of them begin."""
        for repeat in range(self._problem.repeats):
            ahead, order = (keys[:num_first], [*keys[num_first:]]) if repeat == 0 else ([], [*keys])
            random.Random(f"{which}round {repeat} of {self._problem.seed}").shuffle(order)
            for key in [*ahead, *order]:
                yield key, repeat


@dataclass(frozen=True)
class Random(SearchSpec):
    """Tries configs drawn at random.

    Attributes:
        trials: Distinct configs to try, the baseline among them. A space that has fewer is
            tried whole.
    """

    trials: Count = 30

    def __post_init__(self) -> None:
        require_types(self)

    def start(self, problem: SearchProblem) -> Search:
        """Return a fresh search over ``problem``."""
        return Rounds(self, problem)

    def candidates(self, problem: SearchProblem) -> Candidates:
        """Return the configs that are drawn."""
        candidates = Candidates(problem=problem)
        draws = draw(problem, random.Random(f"random of {problem.seed}"))
        misses = 0
        while len(candidates.keys) < self.trials and misses < MAX_MISSES:
            misses = 0 if candidates.add(next(draws)) else misses + 1
        if misses == MAX_MISSES:  # what a finite space has left
            for config in every_combination(problem) or ():
                if len(candidates.keys) < self.trials:
                    candidates.add(config)
        return candidates


def draw(problem: SearchProblem, rng: random.Random) -> Iterator[dict[str, Any]]:
    """Yield configs without end, each knob's value drawn on its domain's own scale."""
    while True:
        values = {name: domain.sample(rng) for name, domain in problem.domains.items()}
        yield {**problem.base, **values}


def first_draws(problem: SearchProblem, rng: random.Random) -> Iterator[dict[str, Any]]:
    """Yield :data:`MAX_MISSES` configs drawn at random."""
    return islice(draw(problem, rng), MAX_MISSES)


def require_types(search: Any) -> None:  # noqa: ANN401 - any specification
    """Refuse fields of ``search`` that have a value of another type."""
    for each in wrong_fields(search):
        refuse_field(search, each.field, each.allowed)


def refuse_field(search: Any, name: str, allowed: str, guess: str = "") -> None:  # noqa: ANN401
    """Refuse a field; it gets its default, so that the sweep file is read to its end."""
    what = f"{name} = {shown(getattr(search, name))} is not allowed{guess}"
    message = f"{caller(name)}{type(search).__name__}: {what}"
    refuse([SweepFileError(message, f"allowed: {allowed}")])
    default = next(entry.default for entry in fields(search) if entry.name == name)
    if default is not MISSING:
        object.__setattr__(search, name, default)
