"""A sweep, and the problem of its search: defaults, canonical values, constraints."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator import knobs, learning
from orchestrator.errors import Problems, SweepError, SweepFileError
from orchestrator.machine import Machine, Node
from orchestrator.metrics import Objective, maximize, minimize
from orchestrator.search import Asha, Grid, Optuna, Random, Sampler
from orchestrator.space.configs import domains_of, values_of
from orchestrator.sweep.definition import Sweep
from orchestrator.sweep.loading import load_sweep
from orchestrator.sweep.problem import overridden, search_problem
from orchestrator.sweep.rigor import PRESETS, Rigor, rigor_findings, with_setting
from orchestrator.trainable import Trainable
from orchestrator.trial import Isolation
from tests.orchestrator.helpers.sweep_files import GOOD, line_of, refusal, written

MACHINE = Machine(nodes=(Node(name="here", cpus=2),))


def test_a_problem_has_canonical_values_in_order_of_declaration(tmp_path: Path) -> None:
    tail = GOOD.replace(
        "epochs=2", "baseline=Config(prefetch=7, lr=0.3), rigor=Rigor(repeats=4), seed=5"
    )
    problem = search_problem(load_sweep(written(tmp_path, tail)), MACHINE)

    assert list(problem.base) == ["lr", "workers", "prefetch", "amp"]
    assert problem.base == {"lr": 0.1, "workers": 0, "prefetch": 2, "amp": "off"}
    assert problem.baseline == {"lr": 0.3, "workers": 0, "prefetch": 2, "amp": "off"}
    assert list(problem.domains) == ["lr", "workers"]
    assert (problem.repeats, problem.seed, problem.budget.epochs) == (4, 5, 1)
    assert problem.canonical({**problem.base, "prefetch": 9}) == problem.base


def constrained(folder: Path, constraint: str, search: str = "Grid()") -> Sweep[Any]:
    tail = GOOD.replace("    epochs=2,", f"    constraints=[{constraint}],\n    search={search},")
    return load_sweep(written(folder, tail))


@pytest.mark.parametrize("search", ["Grid()", "Random(5)", "Optuna(5)"])
def test_constraints_that_exclude_everything_are_refused(tmp_path: Path, search: str) -> None:
    sweep = constrained(tmp_path, "requires(lambda c: c.amp == 'bf16', 'only bf16')", search)
    with pytest.raises(SweepFileError) as refused:
        search_problem(sweep, MACHINE)

    assert "the sweep's constraints exclude all of the" in refused.value.message
    assert "only bf16" in refused.value.hint


def test_constraints_that_leave_something_are_applied(tmp_path: Path) -> None:
    sweep = constrained(tmp_path, "requires(lambda c: c.workers == 3, 'workers')")
    problem = search_problem(sweep, MACHINE)

    assert problem.admissible({**problem.base, "workers": 3})
    assert not problem.admissible({**problem.base, "workers": 0})


def test_constraints_may_ask_for_the_machine(tmp_path: Path) -> None:
    sweep = constrained(tmp_path, "lambda c, m: None if m.has_cuda else 'no GPU'")
    with pytest.raises(SweepFileError, match="exclude all of the 6 configs"):
        search_problem(sweep, MACHINE)

    search_problem(sweep, Machine(nodes=(Node(name="gpu", cpus=8, gpus=1),)))


@pytest.mark.parametrize("answer", ["c.workers == 3", "0", "['no']"])
def test_a_constraint_that_answers_something_else_is_named(tmp_path: Path, answer: str) -> None:
    sweep = constrained(tmp_path, f"lambda c, m: {answer}")
    with pytest.raises(SweepFileError) as refused:
        search_problem(sweep, MACHINE)

    path = tmp_path / "my_sweep.py"
    assert f"{path}:{line_of(path, 'lambda c, m')}: a constraint returned " in str(refused.value)
    assert "a reason, or None where the config is wanted" in refused.value.hint
    assert "requires(" in refused.value.hint


def test_a_constraint_that_raises_is_named(tmp_path: Path) -> None:
    sweep = constrained(tmp_path, "lambda c, m: c.worker")
    place = re.escape(f"my_sweep.py:{line_of(tmp_path / 'my_sweep.py', 'lambda c, m')}: ")
    with pytest.raises(SweepFileError, match=f"{place}a constraint raised AttributeError"):
        search_problem(sweep, MACHINE)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["prices.cpu=1"], "--set prices: unknown price 'cpu'"),
        (["prices.cpu_hour=-1"], r"--set prices\['cpu_hour'\] = -1.0 is not allowed"),
        (["prices.cpu_hour=dear"], r"--set prices\['cpu_hour'\] = 'dear' is not allowed"),
        (["prices.cpu_hour=1", "prices.cpu_hour=2"], "prices.cpu_hour is also set to 1.0"),
    ],
)
def test_a_wrong_price_of_the_command_line_is_named(
    tmp_path: Path, settings: list[str], message: str
) -> None:
    with pytest.raises(SweepError, match=message):
        overridden(load_sweep(written(tmp_path, GOOD)), settings=settings)


def test_a_cost_takes_prices(tmp_path: Path) -> None:
    sweep = replace(load_sweep(written(tmp_path)), objectives=[minimize("cost")])
    with pytest.raises(SweepFileError, match="cost has no prices"):
        search_problem(sweep, MACHINE)


def test_what_is_trained_must_be_a_trainable(tmp_path: Path) -> None:
    path = written(tmp_path, "SWEEP = Sweep(train, question='?', space={'lr': 3})\n")
    error = refusal(path)

    assert error.message == f"{path}:{line_of(path, 'SWEEP')}: trainable = train is not allowed"
    assert "a Trainable" in error.hint


@knobs
class _Config:
    lr: float = learning(default=0.1, gt=0, doc="step size")


@pytest.mark.parametrize(
    ("reports", "own"),
    [
        ([maximize("val_auc")], maximize("val_auc")),
        ([minimize("val_loss"), maximize("test_acc")], minimize("val_loss")),
        ([minimize("val_loss"), maximize("val_f1_acc")], maximize("val_f1_acc")),
        ([minimize("val_loss"), maximize("val_acc")], maximize("val_acc")),
        ([maximize("test_acc")], maximize("val_acc")),
        ([], maximize("val_acc")),
    ],
)
def test_where_nothing_is_asked_for_it_is_what_the_trainable_reports(
    reports: list[Objective], own: Objective
) -> None:
    trainable = Trainable(lambda config, run: None, _Config, reports=reports, name="t")
    sweep = Sweep(trainable, question="?", space=_Config())
    assert list(sweep.objectives) == [maximize("samples_per_s"), own]
    asked = [maximize("samples_per_s"), maximize("val_acc")]
    assert Sweep(trainable, question="?", space=_Config(), objectives=asked).objectives == asked


# -- the command line


@pytest.fixture
def sweep(tmp_path: Path) -> Sweep[Any]:
    return load_sweep(written(tmp_path))


def test_a_setting_fixes_a_knob_in_the_space_and_in_the_baseline(sweep: Sweep[Any]) -> None:
    fixed = overridden(sweep, settings=["workers=5", "amp=bf16"])

    assert list(domains_of(fixed.space)) == ["lr"]
    for config in (fixed.space, fixed.baseline):
        assert (values_of(config)["workers"], values_of(config)["amp"]) == (5, "bf16")
    assert list(domains_of(sweep.space)) == ["lr", "workers"]


def test_all_bad_settings_are_reported_together(sweep: Sweep[Any]) -> None:
    with pytest.raises(Problems) as refused:
        overridden(
            sweep,
            settings=("lr=nan", "wokers=3", "amp", "rigor.confrim=1", "rigor.retries=-1"),
            fields={"seed": -1, "isolation": "alone"},
        )

    text = str(refused.value)
    assert "--set lr=nan: 'nan' is not allowed for lr" in text
    assert "--set wokers=3: 'wokers' is not a knob of Config; did you mean 'workers'?" in text
    assert "--set amp: expected KNOB=VALUE" in text
    assert "--set rigor.confrim=1: rigor has no 'confrim'; did you mean 'confirm'?" in text
    assert "--set rigor.retries=-1: not allowed\n  allowed: an int >= 0" in text
    assert "--seed = -1 is not allowed" in text
    assert "--isolation = 'alone' is not allowed" in text


def test_the_command_line_changes_search_and_fields(sweep: Sweep[Any]) -> None:
    fields = {"seed": 3, "isolation": Isolation.EXCLUSIVE}
    settings = ("rigor=quick", "rigor.repeats=2", "rigor.retries=0")
    changed = overridden(sweep, settings=settings, search="random", trials=7, fields=fields)

    assert changed.search == Random(7)
    assert changed.rigor == replace(Rigor.quick(), repeats=2, retries=0)
    assert changed.seed == 3
    assert changed.isolation is Isolation.EXCLUSIVE


@pytest.mark.parametrize(
    ("own", "name", "trials", "expected"),
    [
        ("Grid(points=5)", "grid", None, Grid(points=5)),
        ("Grid(points=5)", "grid", 4, Grid(points=5, trials=4)),
        ("Grid()", "random", None, Random()),
        ("Random(40)", "optuna", None, Optuna(40)),
        ("Random(40)", "gp", None, Optuna(40, sampler="gp")),
        ("Random(40)", "sobol", 5, Optuna(5, sampler="sobol")),
        ("Optuna(9, sampler=Sampler.NSGA2)", "tpe", None, Optuna(9)),
        ("Optuna(9, sampler=Sampler.NSGA2)", "nsga2", 5, Optuna(5, sampler="nsga2")),
        ("Optuna(9, sampler=Sampler.NSGA2)", "optuna", 5, Optuna(5, sampler="nsga2")),
        ("Optuna(9, sampler=Sampler.NSGA2)", None, 5, Optuna(5, sampler=Sampler.NSGA2)),
        ("Random(40)", "grid", None, Grid(trials=40)),
    ],
)
def test_another_search_takes_over_the_trials(
    tmp_path: Path, own: str, name: str | None, trials: int | None, expected: object
) -> None:
    tail = f"from orchestrator.search import Sampler\n{GOOD}".replace("epochs=2", f"search={own}")
    sweep = load_sweep(written(tmp_path, tail))

    assert overridden(sweep, search=name, trials=trials).search == expected


def test_only_fields_that_are_changed_are_checked(sweep: Sweep[Any]) -> None:
    """Problems of the file were reported when it was loaded."""
    wrong = replace(sweep, epochs=0)
    assert overridden(wrong, fields={"seed": 1}).seed == 1


def test_a_field_that_no_longer_fits_the_changed_ones_is_named(sweep: Sweep[Any]) -> None:
    halved = replace(sweep, epochs=9, stopping=Asha(grace=3))
    with pytest.raises(SweepFileError, match=r"--epochs 2: stopping"):
        overridden(halved, fields={"epochs": 2})
    assert overridden(halved, fields={"epochs": 6}).epochs == 6


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_has_a_name_and_allowed_values(tmp_path: Path, name: str) -> None:
    sweep = load_sweep(written(tmp_path, GOOD.replace("epochs=2", f"epochs=2, rigor={name!r}")))
    assert sweep.rigor == PRESETS[name] == getattr(Rigor, name)()
    assert list(rigor_findings(sweep.rigor)) == []
    assert replace(sweep, epochs=3).rigor == sweep.rigor


def test_the_presets_are_ordered_and_standard_is_the_default(tmp_path: Path) -> None:
    quick, standard, thorough = PRESETS.values()
    assert load_sweep(written(tmp_path, GOOD)).rigor == standard == Rigor()
    for name in ("max_repeats", "max_confirm", "finalists", "check_isolated"):
        assert getattr(quick, name) < getattr(standard, name) < getattr(thorough, name)


def test_an_old_field_works_and_names_the_new_one(tmp_path: Path) -> None:
    file = written(tmp_path, GOOD.replace("epochs=2", "epochs=2, confirm=5, retries=0"))
    with pytest.warns(FutureWarning, match=r"rigor=Rigor\(confirm=5, retries=0\)") as warned:
        assert load_sweep(file).rigor == Rigor(confirm=5, retries=0)
    assert warned[0].filename == str(file), "the place is the sweep file's"


@pytest.mark.parametrize(
    ("setting", "changes"),
    [
        ("rigor.confirm=5", {"confirm": 5}),
        ("rigor.interleaved=false", {"interleaved": False}),
        ("rigor.half_width=0.1", {"half_width": 0.1}),
        ("rigor.half_width=None", {"half_width": None}),
        ("rigor.time_limit_s=90", {"time_limit_s": 90.0}),
        ("rigor=standard", {}),
    ],
)
def test_a_setting_has_the_type_of_its_field(setting: str, changes: dict[str, object]) -> None:
    assert with_setting(Rigor(), setting) == replace(Rigor(), **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("rigor=quik", "did you mean 'quick'"),
        ("rigor.confrim=1", "did you mean 'confirm'"),
        ("rigor.confirm=x", "allowed: an int >= 0"),
        ("rigor.tie_margin=nan", "allowed: a fraction of 1"),
        ("rigor.time_limit_s=inf", "allowed: seconds > 0"),
        ("rigor.interleaved=2", "allowed: True or False"),
        ("rigor.retries", "allowed: an int >= 0"),
    ],
)
def test_a_setting_that_is_not_allowed_is_refused(setting: str, message: str) -> None:
    with pytest.raises(SweepFileError) as refused:
        with_setting(Rigor(), setting)
    assert message in str(refused.value)
