"""A search of the user's own: what it does wrong becomes one message, with its place."""

import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from orchestrator.errors import SweepError, SweepFileError, nearest
from orchestrator.field_types import plain, shown, with_article, wrong_fields
from orchestrator.kernel.problem import SearchProblem
from orchestrator.kernel.search import Pause, Proposal, Search, SearchSpec
from orchestrator.locations import place, place_of
from orchestrator.texts import described
from orchestrator.trial import Report, Trial, TrialResult


def require_start(spec: SearchSpec, problem: SearchProblem) -> None:
    """Check that a search can be started, before anything runs.

    Raises:
        SweepFileError: A grid is too large, or one of the user's own raises or is no search.
    """
    next(spec.combinations(problem) or iter(()), None)
    if _is_own(spec):
        started(spec, problem)


def started(spec: SearchSpec, problem: SearchProblem) -> Search:
    """Return a fresh search; the answers of the user's own are checked.

    Raises:
        SweepFileError: It raises, or is no search.
    """
    with _calling(spec, "start"):
        search = spec.start(problem)
    if not _is_own(search):
        return search
    if not isinstance(search, Search):
        kind = "None" if search is None else with_article(type(search).__name__)
        raise _refused(spec, "start", f"returned {kind}", "a Search: class Mine(Search)")
    return OwnSearch(search, problem)


def with_trials(spec: SearchSpec, trials: int) -> SearchSpec:
    """Return the same search, limited to ``trials`` configs.

    Raises:
        SweepFileError: It is the user's own, and raises.
    """
    with _calling(spec, "with_trials"):
        return spec.with_trials(trials)


class OwnSearch(Search):
    """A search of the user's own, with each answer checked.

    Args:
        search: The search.
        problem: What it was started with.
    """

    def __init__(self, search: Search, problem: SearchProblem) -> None:
        self._search = search
        self._problem = problem
        self._num_out = 0
        self._proposed: set[str] = set()
        self._has_noted = False
        self._notes: list[str] = []
        self.extends = search.extends

    def ask(self) -> Proposal | Pause | None:
        """Return the search's next trial.

        Raises:
            SweepFileError: It raises, returns something else, or leaves the space.
        """
        with _calling(self._search, "ask"):
            answer = self._search.ask()
            if isinstance(answer, Proposal):
                answer = self._checked(answer)
                self._num_out += 1
        if isinstance(answer, Pause) and self._num_out < 1:
            what = "returned WAIT while no trial runs that it could wait for"
            raise _refused(self._search, "ask", what, "a Proposal, or None at the end")
        if not isinstance(answer, Proposal | Pause | None):
            what = f"returned {shown(answer)}"
            raise _refused(self._search, "ask", what, "a Proposal, WAIT or None")
        return answer

    def tell(self, trial: Trial, result: TrialResult) -> None:
        """Pass the search a result."""
        self._num_out -= 1
        self._call("tell", trial, result)

    def should_stop(self, trial: Trial, report: Report) -> bool:
        """Return the search's verdict."""
        return bool(self._call("should_stop", trial, report))

    def extend(self, trials: int) -> None:
        """Continue to ``trials`` configs in all."""
        self._call("extend", trials)

    def notes(self) -> list[str]:
        """Return the search's notes that were not returned yet."""
        notes, self._notes = self._notes, []
        return [*notes, *self._call("notes")]

    def _call(self, method: str, *arguments: object) -> Any:  # noqa: ANN401 - as the user's own has it
        with _calling(self._search, method):
            return getattr(self._search, method)(*arguments)

    def _checked(self, proposal: Proposal) -> Proposal:
        """Return the proposal, its config in plain numbers, if it may be asked for."""
        for wrong in wrong_fields(proposal):
            what = f"returned a Proposal with {wrong}"
            raise _refused(self._search, "ask", what, wrong.allowed)
        config = {name: plain(value) for name, value in proposal.config.items()}
        if (outside := outside_of(self._problem, config)) is not None:
            what, allowed = outside
            raise _refused(self._search, "ask", f"proposes {what}", allowed)
        proposal = replace(proposal, config=config)
        self._note_again(proposal)
        return proposal

    def _note_again(self, proposal: Proposal) -> None:
        """Note the first proposal that was made before: it is no further run."""
        what = repr(replace(proposal, config=self._problem.canonical(proposal.config)))
        if what in self._proposed and not self._has_noted:
            self._has_noted = True
            varied = " ".join(f"{name}={proposal.config[name]}" for name in self._problem.domains)
            self._notes.append(
                f"{type(self._search).__name__} proposes {varied} again and gets the first result: "
                "only another repeat makes another run; further ones are not noted"
            )
        self._proposed.add(what)


def outside_of(problem: SearchProblem, config: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return what of a config is not in the space, and what is allowed; None for one within.

    The baseline may lie outside, and so may the default of a knob that has no effect.
    """
    for name in config:
        if name not in problem.base:
            text = f"{shown(name)}, which is not a knob{nearest(str(name), problem.base)}"
            return text, f"the knobs {', '.join(problem.base)}"
    if missing := [name for name in problem.base if name not in config]:
        return f"a config without {', '.join(missing)}", "a config with a value for every knob"
    if config == dict(problem.baseline):
        return None
    for name, value in config.items():
        domain = problem.domains.get(name)
        if domain is None:
            inside, is_inside = problem.base[name], value == problem.base[name]
            allowed = f"{shown(inside)}, as the space has it: {name} does not vary"
        else:
            inside, is_inside = domain.points(1)[0], domain.contains(value)
            allowed = shown(domain)
        if not is_inside and problem.canonical({**config, name: inside})[name] != value:
            return f"{name} = {shown(value)}, which is not in the space", allowed
    if not problem.admissible(config):
        text = f"{shown(dict(config))}, which the sweep's constraints exclude"
        return text, "a config of which problem.admissible(config) is True"
    return None


def _is_own(part: object) -> bool:
    """Return True for an object of the user's class, unless it extends one of this package."""
    return not any(kind.__module__.startswith(f"{__package__}.") for kind in type(part).__mro__)


@contextmanager
def _calling(part: object, method: str) -> Iterator[None]:
    """Make an error of the user's method one message.

    Raises:
        SweepFileError: In the place of the error.
    """
    try:
        yield
    except SweepError:
        raise
    except Exception as error:
        if not _is_own(part):
            raise
        raised = f"{method}() of {type(part).__name__} raised {described(error)}"
        raise SweepFileError(f"{_place(error, part, method)}: {raised}") from error


def _place(error: BaseException, part: object, method: str) -> str:
    """Return the last place in the class's own file that led to an error; else its method's."""
    file = getattr(sys.modules.get(type(part).__module__), "__file__", None)
    frames = traceback.walk_tb(error.__traceback__)
    lines = [line for frame, line in frames if frame.f_code.co_filename == file]
    return place(str(file), lines[-1]) if lines else place_of(getattr(part, method))


def _refused(part: object, method: str, what: str, allowed: str) -> SweepFileError:
    where = place_of(getattr(part, method))
    message = f"{where}: {method}() of {type(part).__name__} {what}"
    return SweepFileError(message, f"allowed: {allowed}")
