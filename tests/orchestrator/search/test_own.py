"""A search by the user: what it does wrong is one message; the page's example runs."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from orchestrator.errors import SweepFileError
from orchestrator.kernel.problem import SearchProblem
from orchestrator.kernel.search import WAIT, Pause, Proposal, Search, SearchSpec
from orchestrator.search.own import outside_of, require_start, started, with_trials
from orchestrator.space.domains import choice, integers, uniform
from orchestrator.trial import Report, Trial, TrialResult
from tests.conftest import ROOT, RunCli
from tests.orchestrator.helpers.journalled import lines_of
from tests.orchestrator.search.playing import Config, completed, play, problem, trial_of

REPORT = Report(step=1, epoch=1, samples=1, elapsed_s=1.0, metrics={})


@dataclass
class Own(Search):
    """A search that asks for two configs, with methods that a test may replace."""

    problem: SearchProblem
    methods: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    num_asked: int = 0

    def ask(self) -> Proposal | Pause | None:
        if "ask" in self.methods:
            return cast("Proposal", self.methods["ask"](self.problem))
        if self.num_asked == 2:
            return None
        self.num_asked += 1
        config = {**self.problem.baseline, "batch": 100 * 10 ** (self.num_asked - 1)}
        return Proposal(config=config, budget=self.problem.budget)

    def tell(self, trial: Trial, result: TrialResult) -> None:
        if "tell" in self.methods:
            self.methods["tell"](trial)

    def should_stop(self, trial: Trial, report: Report) -> bool:
        return bool("should_stop" in self.methods and self.methods["should_stop"](trial))


@dataclass(frozen=True)
class Spec(SearchSpec):
    """Its specification."""

    methods: Mapping[str, Callable[..., Any]] = field(default_factory=dict)

    def start(self, problem: SearchProblem) -> Search:
        start: Callable[..., Any] = self.methods.get("start", Own)
        return cast("Search", start(problem))

    def with_trials(self, trials: int) -> SearchSpec:
        limit: Callable[..., Any] = self.methods.get("with_trials", lambda _: self)
        return cast("SearchSpec", limit(trials))


def own(at: SearchProblem | None = None, **methods: Callable[..., Any]) -> Search:
    """Start a search with some of its methods replaced."""
    return started(Spec({"start": lambda problem: Own(problem, methods)}), at or problem())


def refusal(call: Callable[[], object]) -> SweepFileError:
    """Return the refusal of a call, which begins with a place in this file."""
    with pytest.raises(SweepFileError) as refused:
        call()
    assert re.match(r"tests/orchestrator/search/test_own.py:\d+: \w+\(\) of ", str(refused.value))
    return refused.value


def proposing(changes: Mapping[str, Any], **fields: object) -> Callable[[SearchProblem], Proposal]:
    """Return an ``ask`` that proposes the baseline with changes."""

    def ask(problem: SearchProblem) -> Proposal:
        config = {k: v for k, v in {**problem.baseline, **changes}.items() if v is not ...}
        return replace(Proposal(config=config, budget=problem.budget), **fields)  # type: ignore[arg-type]

    return ask


def test_one_that_does_nothing_wrong_is_played_as_it_is() -> None:
    assert play(own()).configs == play(Own(problem())).configs


@pytest.mark.parametrize("error", [KeyError("my bug"), StopIteration()])
def test_an_error_in_any_method_names_class_method_and_line(error: BaseException) -> None:
    def fails(_: object) -> None:
        raise error

    line = fails.__code__.co_firstlineno + 1
    trial = trial_of(proposing({})(problem()))
    calls: dict[str, Callable[[], object]] = {
        "ask() of Own": lambda: own(ask=fails).ask(),
        "tell() of Own": lambda: own(tell=fails).tell(trial, completed()),
        "should_stop() of Own": lambda: own(should_stop=fails).should_stop(trial, REPORT),
        "start() of Spec": lambda: started(Spec({"start": fails}), problem()),
        "with_trials() of Spec": lambda: with_trials(Spec({"with_trials": fails}), 3),
    }
    for called, call in calls.items():
        message = refusal(call).message
        assert f":{line}: {called} raised {type(error).__name__}" in message


@pytest.mark.parametrize("answer", [{"batch": 100}, "wait", (), 3, Proposal])
def test_an_answer_that_is_none_is_refused(answer: object) -> None:
    refused = refusal(own(ask=lambda _: answer).ask)
    assert "ask() of Own returned " in refused.message
    assert refused.hint == "allowed: a Proposal, WAIT or None"


def test_a_config_that_is_proposed_twice_is_noted_once() -> None:
    search = own(ask=proposing({}))
    for number in range(3):
        assert isinstance(search.ask(), Proposal)
        assert len(search.notes()) == (number == 1)
    repeats = iter(range(3))
    search = own(ask=lambda at: proposing({}, repeat=next(repeats))(at))
    assert [search.ask() and search.notes() for _ in range(3)] == [[], [], []]


def test_waiting_is_for_a_trial_that_runs() -> None:
    answers: list[Any] = [proposing({})(problem()), WAIT, WAIT]
    search = own(ask=lambda _: answers.pop(0))
    proposal = search.ask()
    assert isinstance(proposal, Proposal)
    assert search.ask() is WAIT
    search.tell(trial_of(proposal), completed())
    assert "ask() of Own returned WAIT while no trial runs" in refusal(search.ask).message


@pytest.mark.parametrize(
    ("changes", "message", "allowed"),
    [
        ({"batch": 10}, "proposes batch = 10, which is not in the space", "choice(100, 1000)"),
        ({"batch": "100"}, "proposes batch = '100', which is not in the space", "choice("),
        ({"lr": 2.0}, "proposes lr = 2.0, which is not in the space", "loguniform(0.001, 1)"),
        ({"bacth": 1}, "'bacth', which is not a knob; did you mean 'batch'?", "the knobs lr, work"),
        ({"batch": ...}, "proposes a config without batch", "a value for every knob"),
    ],
)
def test_a_config_outside_of_the_space_is_refused(
    changes: Mapping[str, Any], message: str, allowed: str
) -> None:
    refused = refusal(own(ask=proposing(changes)).ask)
    assert message in refused.message
    assert allowed in refused.hint


def test_a_knob_without_effect_has_its_default_wherever_that_lies() -> None:
    at = problem(space=Config(workers=choice(0, 3), prefetch=choice(4, 8), batch=100))
    idle = {"lr": 0.1, "workers": 0, "prefetch": 2, "batch": 100}
    assert outside_of(at, idle) is None
    assert outside_of(at, {**idle, "prefetch": 3}) is not None
    assert outside_of(at, {**idle, "workers": 3}) is not None


@pytest.mark.parametrize(
    ("field", "value"), [("budget", 3), ("repeat", "1"), ("config", [1]), ("stage", "train")]
)
def test_a_proposal_of_wrong_types_is_refused(field: str, value: object) -> None:
    refused = refusal(own(ask=proposing({}, **{field: value})).ask)
    assert f"returned a Proposal with {field} = {value!r}" in refused.message


def test_numbers_of_numpy_become_pythons() -> None:
    changes = {"lr": np.float64(0.5), "workers": np.int64(2), "batch": np.int64(1000)}
    at = problem(space=Config(lr=uniform(0.1, 1), workers=integers(0, 3), batch=1000))
    proposal = own(at, ask=proposing(changes)).ask()
    assert isinstance(proposal, Proposal)
    assert [type(proposal.config[name]) for name in changes] == [float, int, int]


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (None, "start() of Spec returned None"),
        (3, "start() of Spec returned an int"),
        (type("Part", (), {"ask": print, "should_stop": print})(), "a Part"),
    ],
)
def test_what_is_no_search_is_refused_before_anything_runs(returned: object, message: str) -> None:
    refused = refusal(lambda: require_start(Spec({"start": lambda _: returned}), problem()))
    assert message in refused.message
    assert refused.hint == "allowed: a Search: class Mine(Search)"


PAGE = ROOT / "docs/own-search.md"
COMMON = ("--executor", "inline", "--no-mlflow", "--isolation", "shared", "--steps", "5")
COMMON += ("--set", "rigor.confirm=0")

UNNAMED = {"accuracy_tolerance", "tie_margin", "target"}
"""Fields for the rule by which a sweep recommends; the page is about the others."""


def write_example(folder: Path) -> Path:
    """Write the page's sweep file below ``folder``."""
    found = re.search(r"^```python\n# (sweeps/\S+)\n(.*?)^```", PAGE.read_text(), re.M | re.S)
    path = folder / found[1]
    path.parent.mkdir()
    path.write_text(found[2])
    return path


def configs_asked(run: Path) -> list[Mapping[str, Any]]:
    """Return the configs asked for, in order, repeats left out."""
    events = lines_of(run / "journal.jsonl")
    trials = [event["trial"] for event in events if event["event"] == "asked"]
    return [trial["config"] for trial in trials if trial["repeat"] == 0]


def test_the_example_of_the_page_runs_and_resumes(tmp_path: Path, run_cli: RunCli) -> None:
    file, out = write_example(tmp_path), tmp_path / "run"
    done = run_cli(file, "--out", out, "--trials", "5", "--set", "rigor.repeats=1", *COMMON)

    baseline, *others = configs_asked(out)
    assert len(others) == 4
    differing = [name for name in baseline if others[0][name] != baseline[name]]
    assert len(differing) == 1, "one knob at a time"
    assert "settings: " in done.stdout

    run_cli("--resume", out, *COMMON)
    assert configs_asked(out) == [baseline, *others], "replayed to the same answers"


def test_an_error_in_the_search_ends_the_run_and_once_mended_it_resumes(
    tmp_path: Path, run_cli: RunCli
) -> None:
    file, out = write_example(tmp_path), tmp_path / "run"
    good = file.read_text()
    wrong = good.replace("self.num_running -= 1\n", "self.num_running -= 1 / 0\n")
    line = 1 + wrong[: wrong.index("1 / 0")].count("\n")
    file.write_text(wrong)
    done = run_cli(file, "--out", out, "--trials", "2", "--set", "rigor.repeats=1", *COMMON, code=1)

    error = f"my_descent.py:{line}: tell() of Descending raised ZeroDivisionError: division by zero"
    assert f"{error}\n" in done.stderr
    assert "Traceback" not in done.stderr
    assert f"--resume {out}" in done.stdout
    again = run_cli(file, "--resume", out, *COMMON, code=2)
    assert error in again.stderr

    file.write_text(good)
    run_cli(file, "--resume", out, *COMMON)
    assert len(configs_asked(out)) == 2


def test_the_page_names_every_field_and_method_that_a_search_has() -> None:
    text = PAGE.read_text()
    named = {entry.name for entry in fields(SearchProblem)} - UNNAMED
    named |= {name for kind in (Search, SearchSpec) for name in vars(kind) if name[0] != "_"}
    assert [name for name in sorted(named) if f"`{name}" not in text] == []
