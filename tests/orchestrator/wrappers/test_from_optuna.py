import csv
import inspect
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import optuna
import pytest

from orchestrator import Sweep, SweepFileError, from_optuna, from_ray, minimize
from orchestrator.kernel.search import Proposal, Search
from orchestrator.measurement.run import Context, Run, TrialStopped
from orchestrator.search import Optuna
from orchestrator.search.suggested import SPACE
from orchestrator.sweep.problem import search_problem
from orchestrator.trial import Report, Trial, TrialResult, TrialState
from orchestrator.wrappers.optuna_trial import TIME
from tests.conftest import RunCli
from tests.orchestrator.execution.ray.functions.trials import MACHINE, trained

REPORTS = [minimize("value")]


def conditional(trial: optuna.Trial) -> float:
    """The best values: curve, x = 2 and one unit."""
    kind = trial.suggest_categorical("kind", ["line", "curve"])
    x = trial.suggest_float("x", -10, 10)
    value = (x - 2) ** 2 + 5
    if kind == "curve":
        units = trial.suggest_int("units", 1, 3)
        value += sum(trial.suggest_float(f"u{i}", 0, 1) for i in range(units)) - 5
    for step in range(5):
        trial.report(value + 5 - step, step)
        if trial.should_prune():
            raise optuna.TrialPruned
    trial.set_user_attr("twice", 2 * value)
    trial.set_user_attr("kind", kind)
    return float(value)


def finite(trial: optuna.Trial) -> float:
    """Six configs: three branches, one of them with its own knob; one is pruned."""
    kind = trial.suggest_categorical("kind", "abc")
    if kind == "a":
        return float(trial.suggest_int("n", 1, 4))
    if kind == "b":
        raise optuna.TrialPruned
    return 0.5


class SearchChannel:
    """A channel that answers by a search."""

    def __init__(self, search: Search, trial: Trial) -> None:
        self.search, self.trial, self.is_stopped = search, trial, False

    def report(self, report: Report) -> bool:
        self.is_stopped |= self.search.should_stop(self.trial, report)
        return self.is_stopped


def played(
    objective: Callable[[optuna.Trial], Any],
    trials: int,
    *,
    at_once: int = 1,
    seed: int = 0,
    sampler: str = "tpe",
    notes: list[str] | None = None,
) -> list[tuple[str, TrialResult]]:
    """Run a sweep's search in this process; return the values asked for and the result of each."""
    trainable = from_optuna(objective, reports=REPORTS)
    spec = Optuna(trials, sampler=sampler)
    sweep = Sweep(trainable, question="?", space={}, search=spec, seed=seed)
    started = sweep.search.start(search_problem(sweep, MACHINE))
    done: list[tuple[str, TrialResult]] = []
    while True:
        asked: list[tuple[Trial, TrialResult]] = []
        while len(asked) < at_once and isinstance(proposal := started.ask(), Proposal):
            config = dict(proposal.config)
            trial = Trial(id=f"{len(done)}", stage=proposal.stage, config=config,
                          budget=proposal.budget, seed=0)  # fmt: skip
            asked.append((trial, ran(sweep, started, trial)))
        for trial, result in asked:
            started.tell(trial, result)
            done.append((trial.config["values"], result))
        if notes is not None:
            notes += started.notes()
        if not asked:
            return done


def ran(sweep: Sweep[Any], search: Search, trial: Trial) -> TrialResult:
    channel = SearchChannel(search, trial)
    run = Run(Context(seed=0, budget=trial.budget), channel)
    state = TrialState.COMPLETED
    try:
        sweep.trainable.train(sweep.trainable.config(**trial.config), run)
    except TrialStopped:
        state = TrialState.STOPPED
    return TrialResult(state=state, metrics=dict(run.reported), tags=dict(run.tags))


def suggested(result: TrialResult) -> dict[str, Any]:
    return json.loads(result.found["values"])


def test_an_objective_gets_the_given_values_and_draws_the_others_by_them() -> None:
    trainable = from_optuna(conditional, reports=REPORTS)
    text = json.dumps({"kind": "curve", "x": 3.0, "units": 99, "unknown": 1})

    once, again = (trained(trainable, trainable.config(values=text)) for _ in range(2))

    assert once == again
    assert len(once) == 6
    assert once[-1]["twice"] == 2 * once[-1]["value"]
    assert 1.0 <= once[-1]["value"] <= 4.0
    assert "kind" not in once[-1]


def test_several_figures_are_returned_in_order_and_the_time_is_added() -> None:
    reports = [minimize("loss"), minimize(TIME), minimize("size")]

    (report,) = trained(from_optuna(lambda trial: (0.5, 3), reports=reports))
    with pytest.raises(ValueError, match="give loss and size"):
        trained(from_optuna(lambda trial: 0.5, reports=reports))

    assert (report["loss"], report["size"]) == (0.5, 3.0)
    assert report[TIME] >= 0


def test_pruned_and_completed_trials_are_those_of_optuna() -> None:
    study = optuna.create_study()
    for values in ({"kind": "a", "n": n} for n in range(1, 5)):
        study.enqueue_trial(values)
    for kind in "bc":
        study.enqueue_trial({"kind": kind})
    study.optimize(finite, n_trials=6)
    theirs = Counter(trial.state.name for trial in study.trials)

    ours = Counter(result.state for _, result in played(finite, 100))

    assert theirs == {"COMPLETE": 5, "PRUNED": 1}
    assert ours == {TrialState.COMPLETED: 5, TrialState.STOPPED: 1}


@pytest.mark.parametrize("at_once", [1, 3])
def test_values_that_differ_in_what_is_not_suggested_are_trained_once(at_once: int) -> None:
    trained_ones = [suggested(result) for _, result in played(finite, 100, at_once=at_once)]

    # Those that run before any has ended are drawn at random.
    assert len({json.dumps(values) for values in trained_ones}) == 6
    assert len(trained_ones) <= 6 + at_once - 1


def test_as_many_are_pruned_as_by_optuna_and_the_sampler_learns() -> None:
    ours, theirs, chosen, best = Counter[str](), Counter[str](), Counter[str](), []
    for seed in range(5):
        results = [result for _, result in played(conditional, 40, seed=seed)]
        ours.update("PRUNED" if r.state is TrialState.STOPPED else "COMPLETE" for r in results)
        sampler = optuna.samplers.TPESampler(seed=seed)
        study = optuna.create_study(sampler=sampler)
        study.optimize(conditional, n_trials=40)
        theirs.update(trial.state.name for trial in study.trials)
        completed = [r for r in results if r.state is TrialState.COMPLETED]
        best.append(min(result.metrics["value"] for result in completed) - study.best_value)
        chosen.update(suggested(result)["kind"] for result in results[20:])

    assert ours.total() == theirs.total() == 200
    assert abs(ours["PRUNED"] - theirs["PRUNED"]) <= 40
    assert max(best) < 1.0
    assert chosen["curve"] > 2 * chosen["line"]


def test_a_sampler_that_ignores_pruned_trials_learns_from_them() -> None:
    results = played(conditional, 14, sampler="gp")
    assert max(result.metrics["value"] for _, result in results[-4:]) < 10


def test_a_range_that_depends_on_other_values_is_kept() -> None:
    def nested(trial: optuna.Trial) -> float:
        most = trial.suggest_int("most", 1, 9)
        return trial.suggest_int("n", 0, most) - most

    for _, result in played(nested, 25):
        assert suggested(result)["n"] <= suggested(result)["most"]


def test_choices_that_differ_from_trial_to_trial_are_noted() -> None:
    def changing(trial: optuna.Trial) -> float:
        first = trial.suggest_categorical("first", ["a", "b"])
        trial.suggest_categorical("second", [first, "c"])
        return 0.0

    notes: list[str] = []
    assert len(played(changing, 6, notes=notes)) >= 3
    assert any("Optuna cannot use a trial" in note for note in notes)


def test_more_values_than_a_knob_takes_are_drawn_at_random() -> None:
    def large(trial: optuna.Trial) -> float:
        return sum(trial.suggest_float(f"x{i}", 0, 1) for i in range(60))

    asked = [text for text, _ in played(large, 4)]

    assert [sorted(json.loads(text)) for text in asked] == [[], *[["draw"]] * 3]


def test_a_space_with_values_is_refused() -> None:
    with pytest.raises(SweepFileError, match=r"space={}"):
        Sweep(from_optuna(finite, reports=REPORTS), question="?", space={"n": 1})


def keywords(lr: float = 0.1) -> float:
    return lr


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (keywords, "taken by from_function"),
        (lambda config: config, "taken by from_ray"),
        ("python train.py", "taken by from_script"),
    ],
)
def test_another_kind_of_function_is_refused(function: Callable[..., Any], message: str) -> None:
    with pytest.raises(SweepFileError, match=message):
        from_optuna(function, reports=REPORTS)


@pytest.mark.parametrize(("function", "right"), [(finite, "optuna"), (keywords, "function")])
def test_from_ray_names_what_takes_another_kind(function: Callable[..., Any], right: str) -> None:
    with pytest.raises(SweepFileError, match=f"taken by from_{right}"):
        from_ray(function, config={})


SWEEP = """
import optuna
from orchestrator import Optuna, Rigor, Sweep, from_optuna, minimize

{objective}

SWEEP = Sweep(
    from_optuna(conditional, reports=[minimize("value")]), question="?", space={{}},
    search=Optuna(2), rigor=Rigor(confirm=0),
)
"""
QUICKLY = ["--executor", "inline", "--no-mlflow", "--isolation", "shared"]


def rows(folder: Path) -> list[dict[str, str]]:
    with (folder / "run/trials.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_a_run_has_all_values_and_continues(tmp_path: Path, run_cli: RunCli) -> None:
    """Rows contain suggested values that were unknown when the trial was asked for."""
    text = SWEEP.format(objective=inspect.getsource(conditional))
    (tmp_path / "mine.py").write_text(text)

    first = run_cli("mine.py", *QUICKLY, "--out", "run")
    run_cli("mine.py", "--resume", "run", "--trials", "8")

    assert first.stdout.count("the baseline, {}, is {") == 1
    found = rows(tmp_path)
    assert len(found) == 8
    assert found[0]["params.values"] == "{}"
    for row in found[1:]:
        values, pairs = (json.loads(row[column]) for column in ("params.values", f"tags.{SPACE}"))
        assert values == {name: value for name, (value, _) in pairs.items()}
        assert ("units" in values) == (values["kind"] == "curve")
    recommended = json.loads((tmp_path / "run/recommended.json").read_text())
    best = min(rows(tmp_path), key=lambda row: float(row["metrics.value"]))
    assert recommended["config"] == {"values": best["params.values"]}
