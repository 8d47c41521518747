"""Sweep files: found, run, checked; everything that is wrong said at once."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orchestrator.errors import Problems, SweepError, SweepFileError
from orchestrator.machine import Machine, Node
from orchestrator.search import Grid, Optuna, Random, Sampler
from orchestrator.space.configs import domains_of, values_of
from orchestrator.sweep.definition import Sweep
from orchestrator.sweep.loading import (
    Overrides,
    apply_overrides,
    apply_settings,
    load_sweep,
    search_problem,
)
from orchestrator.trial import Isolation
from tests.orchestrator.sweep_files import GOOD, HEADER, line_of, line_of_last, written

MACHINE = Machine(nodes=(Node(name="here", cpus=2),))


@pytest.fixture(autouse=True)
def _import_state(tmp_path: Path) -> Iterator[None]:
    """Leaves the import path as it was, and none of the test's own modules."""
    path = list(sys.path)
    yield
    sys.path[:] = path
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]


def refusal(path: Path) -> SweepError:
    with pytest.raises(SweepError) as refused:
        load_sweep(path)
    return refused.value


def changed(path: Path, old: str, new: str) -> Path:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    return path


# -- what loads


def test_a_good_file_gives_its_sweep(tmp_path: Path) -> None:
    sweep = load_sweep(written(tmp_path))

    assert sweep.question == "How many workers?"
    assert sweep.trainable.name == "my_sweep"
    assert list(domains_of(sweep.space)) == ["lr", "workers"]
    assert values_of(sweep.baseline) == {"lr": 0.1, "workers": 0, "prefetch": 2, "amp": "off"}


def test_a_space_may_be_a_mapping_and_hold_ray_tunes_domains(tmp_path: Path) -> None:
    tail = (
        "from ray import tune\n"
        'SWEEP = Sweep(TRAINABLE, question="?", baseline={"workers": 1},\n'
        '    space={"lr": tune.loguniform(1e-3, 1e-1), "workers": tune.choice([0, 2])})\n'
    )
    sweep = load_sweep(written(tmp_path, tail))

    assert str(domains_of(sweep.space)) == "{'lr': loguniform(0.001, 0.1), 'workers': choice(0, 2)}"
    assert values_of(sweep.baseline)["workers"] == 1


def test_a_file_may_use_what_lies_beside_it(tmp_path: Path) -> None:
    (tmp_path / "beside_it.py").write_text("LEAST = 0.01\n")
    path = written(tmp_path, "from beside_it import LEAST\n" + GOOD.replace("0.01", "LEAST"))

    assert domains_of(load_sweep(path).space)["lr"].bounds() == (0.01, 1)


def test_a_file_may_be_named_like_a_module(tmp_path: Path) -> None:
    path = written(tmp_path, name="json.py")

    sweep = load_sweep(path)

    assert sweep.trainable.train.__module__ == "sweep_file_json"
    assert "digits" in sys.modules["json"].dumps(["digits"])
    assert sys.path[0] != str(tmp_path)  # or every later import of json would find the sweep


def test_what_a_file_defines_can_be_imported_by_another_process(tmp_path: Path) -> None:
    path = written(tmp_path, name="importable.py")
    train = load_sweep(path).trainable.train
    code = f"import {train.__module__} as m; print(m.{train.__qualname__}.__module__)"
    env = {**os.environ, "PYTHONPATH": f"{Path.cwd()}:{tmp_path}"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=env, check=True
    )

    assert done.stdout == "importable\n"


def test_a_file_is_run_afresh_each_time(tmp_path: Path) -> None:
    path = written(tmp_path)
    first = load_sweep(path)
    second = load_sweep(changed(path, "epochs=2", "epochs=3"))

    assert (first.epochs, second.epochs) == (2, 3)
    assert "epochs=4" in refusal(changed(path, "epochs=3", "epochs=4 / 0")).message


# -- what does not even run


def test_a_missing_file_names_the_nearest(tmp_path: Path) -> None:
    written(tmp_path, name="products_loader.py")
    written(tmp_path, name="mnist.py")
    error = refusal(tmp_path / "product_loader.py")

    assert error.message.endswith(
        "product_loader.py: no such file; did you mean 'products_loader.py'?"
    )
    assert error.hint == f"in {tmp_path}: mnist.py, products_loader.py"
    assert "there is no folder" in refusal(tmp_path / "nowhere" / "a.py").message
    (tmp_path / "empty").mkdir()
    assert "there is no .py file in" in refusal(tmp_path / "empty" / "a.py").hint


def test_a_folder_or_another_kind_of_file_is_refused(tmp_path: Path) -> None:
    written(tmp_path)
    (tmp_path / "notes.txt").write_text("SWEEP")

    assert refusal(tmp_path).message == f"{tmp_path} is a folder, not a sweep file"
    assert refusal(tmp_path).hint == f"in {tmp_path}: my_sweep.py"
    assert refusal(tmp_path / "notes.txt").message.endswith("notes.txt is not a Python file")


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "binary.py"
    path.write_bytes(b"SWEEP = '\xff\xfe'\n")
    assert "cannot be read" in refusal(path).message
    path.write_bytes(b"SWEEP = 1\0\n")
    assert str(path) in refusal(path).message


BROKEN = {
    "SWEEP = Sweep(TRAINABLE, space=Config(lr=choice(1 2)))": (
        "SyntaxError: invalid syntax",
        "choice(1 2)",
    ),
    'SWEEP = Sweep(TRAINABLE, question="?", space=Config(lr=chioce(1, 2)))': (
        "NameError: name 'chioce' is not defined; did you mean 'choice'?",
        "lr=chioce(1, 2)",
    ),
    "import torhc.nn": ("ModuleNotFoundError: No module named 'torhc'", "import torhc.nn"),
    "from trainables.datta.mnist import MNIST": (
        "ModuleNotFoundError: No module named 'trainables.datta'; did you mean 'data'?",
        "from trainables.datta",
    ),
    "from trainables.data.sets.mnist import MNISTT": (
        "ImportError: cannot import name 'MNISTT' from 'trainables.data.sets.mnist'",
        "; did you mean 'MNIST'?",
    ),
    "import math\nmath.sqroot(2)": (
        "AttributeError: module 'math' has no attribute 'sqroot'; did you mean 'sqrt'?",
        "math.sqroot(2)",
    ),
    'SWEEP = Sweep(TRAINABLE, questoin="?", space=Config())': (
        "got an unexpected keyword argument 'questoin'; did you mean 'question'?",
        "SWEEP = Sweep(",
    ),
    "SEARCH = Grid(\n    1,\n    trails=3,\n)": (
        "got an unexpected keyword argument 'trails'; did you mean 'trials'?",
        "    trails=3,",
    ),
    "x = {}['lr']": ("KeyError: 'lr'", "x = {}['lr']"),
    "import sys\nsys.exit(3)": ("a sweep file must not end the program", "sys.exit(3)"),
    "@knobs\nclass Other:\n    x: int = both(default=0, ge=1, doc='x')": (
        "Other.x: default 0 is not allowed",
        "@knobs",
    ),
}


@pytest.mark.parametrize("tail", BROKEN)
def test_an_error_in_the_file_is_shown_with_its_own_line(tmp_path: Path, tail: str) -> None:
    path = written(tmp_path, tail)
    error = refusal(path)

    assert isinstance(error, SweepFileError)
    for text in BROKEN[tail]:
        assert text.strip() in error.message
    shown = next(line for line in error.message.splitlines() if line.startswith("    "))
    assert error.message.startswith(f"{path}:{line_of_last(path, shown.strip())}: ")
    assert "Traceback" not in str(error)


def test_an_error_below_the_file_says_where_it_came_from(tmp_path: Path) -> None:
    (tmp_path / "broken_helper.py").write_text("def half(x):\n    return x / 0\n")
    path = written(tmp_path, "from broken_helper import half\nLR = half(3)\n" + GOOD)
    error = refusal(path)

    line = line_of(path, "LR = ")
    expected = f"{path}:{line}: ZeroDivisionError: division by zero\n    LR = half(3)"
    assert error.message == expected
    assert error.hint == f"raised in {tmp_path}/broken_helper.py:2: return x / 0"


def test_a_syntax_error_below_the_file_says_where_it_is(tmp_path: Path) -> None:
    (tmp_path / "broken_syntax.py").write_text("x = 1\ny = = 2\n")
    path = written(tmp_path, "import broken_syntax\n" + GOOD)
    error = refusal(path)

    assert "SyntaxError" in error.message
    assert error.hint == f"raised in {tmp_path}/broken_syntax.py:2: y = = 2"


# -- what runs and is not usable


@pytest.mark.parametrize(
    ("tail", "message"),
    [
        ("", "there is no SWEEP"),
        (GOOD.replace("SWEEP", "sweep"), "there is no SWEEP; did you mean 'sweep'?"),
        (GOOD.replace("SWEEP", "QUESTION"), "there is no SWEEP; did you mean 'QUESTION'?"),
        ("SWEEPS = [3]", "there is no SWEEP; did you mean 'SWEEPS'?"),
        ("SWEEP = {'lr': 3}", "SWEEP is of type dict, not Sweep"),
        ("SWEEP = Sweep", "SWEEP is of type type, not Sweep"),
    ],
)
def test_a_file_without_a_usable_sweep(tmp_path: Path, tail: str, message: str) -> None:
    error = refusal(written(tmp_path, tail))

    assert message in error.message
    assert "SWEEP = Sweep(...)" in error.hint


BAD_FIELDS = [
    ("space=Config(wokers=3)", "'wokers' is not a knob of Config; did you mean 'workers'?",
     "knobs: lr, workers, prefetch, amp"),
    ("space=Config(workers=-1)", "Config.workers = -1 is not allowed", "an int >= 0"),
    ("space=Config(workers='3')", "Config.workers = '3' is not allowed", "an int >= 0"),
    ("space=Config(workers=choice())", "choice() of no values leaves nothing", "an int >= 0"),
    ("space=Config(lr=uniform(1, 0.1))", "`low <= high` must hold", "a float > 0"),
    ("space={'lr': choice(0.1), 'lrr': 1}", "'lrr' is not a knob of Config", "knobs: lr"),
    ("space=3", "space is of type int, not Config", "Config(...) or a mapping"),
    ("baseline=Config(lr=0.0)", "Config.lr = 0.0 is not allowed", "a float > 0"),
    ("baseline=Config(lr=choice(0.1, 1.0))", "baseline varies lr over choice(0.1, 1.0)",
     "one value for every knob"),
    ("epochs=0", "epochs = 0 is not allowed", "an int >= 1"),
    ("epochs=1.5", "epochs = 1.5 is not allowed", "an int >= 1"),
    ("steps=0", "steps = 0 is not allowed", "an int >= 1, or None"),
    ("half_width=0.0", "half_width = 0.0 is not allowed", "a fraction of 1, > 0 and < 1, or None"),
    ("half_width='3 %'", "half_width = '3 %' is not allowed", "> 0 and < 1, or None"),
    ("repeats=0", "repeats = 0 is not allowed", "an int >= 1"),
    ("max_repeats=0", "max_repeats = 0 is not allowed", "an int >= 1"),
    ("max_confirm=-1", "max_confirm = -1 is not allowed", "an int >= 0"),
    ("finalists=0", "finalists = 0 is not allowed", "an int >= 1"),
    ("check_isolated=True", "check_isolated = True is not allowed", "an int >= 0"),
    ("tie_margin=1.0", "tie_margin = 1.0 is not allowed", "a fraction of 1, >= 0 and < 1"),
    ("tie_margin='2 %'", "tie_margin = '2 %' is not allowed", "a fraction of 1, >= 0 and < 1"),
    ("confirm=-1", "confirm = -1 is not allowed", "an int >= 0"),
    ("retries=-1", "retries = -1 is not allowed", "an int >= 0"),
    ("seed=-1", "seed = -1 is not allowed", "an int >= 0"),
    ("seed='a'", "seed = 'a' is not allowed", "an int >= 0"),
    ("cores_per_trial=0", "cores_per_trial = 0 is not allowed", "NODE, or an int >= 1"),
    ("cores_per_trial=True", "cores_per_trial = True is not allowed", "NODE, or an int >= 1"),
    ("cores_per_trial='node'", "cores_per_trial = 'node' is not allowed", "NODE, or an int"),
    ("accuracy_tolerance=1.0", "accuracy_tolerance = 1.0 is not allowed", ">= 0 and < 1"),
    ("accuracy_tolerance=-0.1", "accuracy_tolerance = -0.1 is not allowed", ">= 0 and < 1"),
    ("time_limit_s=0", "time_limit_s = 0 is not allowed", "seconds > 0, or None"),
    ("memory_per_trial_gib=0", "memory_per_trial_gib = 0 is not allowed", "GiB > 0, or None"),
    ("trial_s=6.0", "trial_s = 6.0 is not allowed", "a mapping of names of data sets to seconds"),
    ("trial_s={'digit': 6.0}", "trial_s: unknown data 'digit'; did you mean 'digits'?",
     "mnist, digits"),
    ("trial_s={'digits': 0}", "trial_s: 'digits' = 0 is not allowed", "seconds > 0"),
    ("objectives=[]", "objectives has 0 entries", "2 or 3 of maximize(...)"),
    ("objectives=[maximize('val_acc')]", "objectives has 1 entry", "2 or 3 of maximize(...)"),
    ("objectives=[maximize('samples_per_s'), maximize('test_acc')]",
     "objectives: 'test_acc' would select by the test split", "validation metrics"),
    ("objectives=[maximize(m) for m in ('epoch_s', 'val_acc', 'steps', 'eval_s')]",
     "objectives has 4 entries", "2 or 3"),
    ("objectives=['val_acc', maximize('epoch_s')]", "objectives: 'val_acc' is not allowed",
     "maximize(...)"),
    ("objectives='val_acc'", "objectives = 'val_acc' is not allowed", "maximize(...)"),
    ("objectives=[maximize('epoch_s'), maximize('val_ac')]",
     "objectives: unknown metric 'val_ac'; did you mean 'val_acc'?", "samples_per_s, "),
    ("objectives=[maximize('val_acc'), maximize('val_acc')]", "'val_acc' is named twice", "2 or 3"),
    ("search=Grid", "search = Grid is a class", "allowed: Grid()"),
    ("search='grid'", "search = 'grid' is not allowed", "Grid(), Random(40)"),
    ("search=Random(0)", "Random: trials = 0 is not allowed", "an int >= 1"),
    ("search=Grid(points=0)", "Grid: points = 0 is not allowed", "an int >= 1"),
    ("data='minst'", "data: unknown data 'minst'; did you mean 'mnist'?", "mnist, digits"),
    ("data=3", "data = 3 is not allowed", "mnist, digits"),
    ("embedded_data='digit'", "embedded_data: unknown data 'digit'; did you mean 'digits'?",
     "mnist, digits"),
    ("embedded_data='mnist'", "embedded_data: 'mnist' is not embedded", "allowed: digits"),
    ("isolation='leased'", "isolation = 'leased' is not allowed", "Isolation.LEASED"),
    ("interleaved=1", "interleaved = 1 is not allowed", "True or False"),
    ("constraints=['no']", "constraints: 'no' is not allowed", "functions of a config"),
    ("published=[Published(source='s', knobs={'worker': 3}, figures={})]",
     "published: 'worker' is not a knob; did you mean 'workers'?", "knobs: lr"),
    ("published=['s']", "published: 's' is not allowed", "Published(...)"),
    ("published=Published(source='s', knobs={}, figures={})", "published = Published(",
     "a list of Published(...)"),
    ("published=None", "published = None is not allowed", "a list of Published(...)"),
    ("published=[Published(source='s', knobs={'workers': '3'}, figures={})]",
     "published: workers = '3' is not allowed", "an int >= 0"),
    ("published=[Published(source='s', knobs={'amp': 'bf61'}, figures={})]",
     "published: amp = 'bf61' is not allowed; did you mean 'bf16'?", "one of 'off', 'bf16'"),
    ("published=[Published(source='s', knobs=['workers'], figures={})]",
     "published: knobs = ['workers'] is not allowed", "a mapping of knobs to their values"),
    ("published=[Published(source='s', knobs={}, figures={'epoch_s': '9'})]",
     "published: figures = {'epoch_s': '9'} is not allowed", "a mapping of metrics to numbers"),
    ("published=[Published(source='s', knobs={}, figures=9.0)]",
     "published: figures = 9.0 is not allowed", "a mapping of metrics to numbers"),
    ("constraints=requires(lambda c: True, 'no')", "constraints = <function",
     "a list of functions"),
    ("constraints=None", "constraints = None is not allowed", "a list of functions"),
    ("objectives=[maximize(5), maximize('val_acc')]", "objectives: 5 is no name of a metric",
     "samples_per_s, "),
    ("time_limit_s=10**400", "time_limit_s = 1000", "seconds > 0, or None"),
    ("seed=10**5000", "seed = ", "an int >= 0"),
    ("question=3", "question = 3 is not allowed", "a str"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("field", "message", "allowed"), BAD_FIELDS, ids=[field for field, _, _ in BAD_FIELDS]
)
def test_a_bad_field_is_named_with_its_line_and_what_is_allowed(
    tmp_path: Path, field: str, message: str, allowed: str
) -> None:
    others = {"question": "'?'", "space": "Config(lr=choice(0.1, 0.2))"}
    others.pop(field.partition("=")[0], None)
    rest = "".join(f"    {name}={value},\n" for name, value in others.items())
    path = written(tmp_path, f"SWEEP = Sweep(\n    TRAINABLE,\n{rest}    {field},\n)\n")
    error = refusal(path)

    place, _, said = error.message.partition(": ")
    assert place == f"{path}:{line_of(path, f'    {field},')}"
    assert message in said
    assert allowed in error.hint


def test_everything_that_is_wrong_is_said_at_once(tmp_path: Path) -> None:
    tail = (
        "SWEEP = Sweep(\n    TRAINABLE,\n    question='?',\n"
        "    space=Config(wokers=choice(0, 3), lr=loguniform(0, 1)),\n"
        "    baseline={'amp': 'fp16'},\n    epochs=0,\n    data='nist',\n"
        "    search=Optuna(\n        trials=-3,\n    ),\n)\n"
    )
    path = written(tmp_path, tail)
    error = refusal(path)

    assert isinstance(error, Problems)
    texts = ("wokers", "lr=loguniform", "'amp'", "epochs=0", "data='nist'", "trials=-3")
    places = [problem.message.partition(": ")[0] for problem in error.problems]
    assert places == [f"{path}:{line_of(path, text)}" for text in texts]


def test_a_file_below_the_current_folder_is_named_from_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sweeps").mkdir()
    path = written(
        tmp_path / "sweeps", "x = Config(lr=0.0)\n" + GOOD.replace("epochs=2", "epochs=0")
    )
    monkeypatch.chdir(tmp_path)
    error = refusal(Path("sweeps/my_sweep.py"))

    places = [line.partition(": ")[0] for line in str(error).splitlines()[::2]]
    lines = (line_of(path, "x = "), line_of(path, "epochs=0"))
    assert places == [f"sweeps/my_sweep.py:{line}" for line in lines]


def test_a_knob_problem_is_said_beside_an_error_further_down(tmp_path: Path) -> None:
    error = refusal(written(tmp_path, "C = Config(lr=0.0)\n1 / 0\n"))

    assert "Config.lr = 0.0 is not allowed" in str(error)
    assert "ZeroDivisionError: division by zero" in str(error)


def test_what_is_trained_must_be_a_trainable(tmp_path: Path) -> None:
    path = written(tmp_path, "SWEEP = Sweep(train, question='?', space={'lr': 3})\n")
    error = refusal(path)

    assert error.message == f"{path}:{line_of(path, 'SWEEP')}: trainable = train is not allowed"
    assert "a Trainable" in error.hint


def test_what_is_trained_must_be_a_trainable_outside_a_sweep_file_too() -> None:
    with pytest.raises(SweepFileError, match="trainable = 'graphsage' is not allowed"):
        Sweep("graphsage", question="?", space={})  # type: ignore[arg-type]


def test_a_sweep_that_is_made_elsewhere_is_checked_all_the_same(tmp_path: Path) -> None:
    tail = (
        "def make(epochs):\n"
        "    return Sweep(TRAINABLE, question='?', space=Config(), epochs=epochs)\n"
        "SWEEP = make(0)\n"
    )
    path = written(tmp_path, tail)

    assert refusal(path).message.endswith(": epochs = 0 is not allowed")


# -- constraints


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
    with pytest.raises(SweepFileError) as refused:
        search_problem(sweep, MACHINE)

    path = tmp_path / "my_sweep.py"
    assert f"{path}:{line_of(path, 'lambda c, m')}: a constraint raised AttributeError" in str(
        refused.value
    )


# -- the command line


@pytest.fixture
def sweep(tmp_path: Path) -> Sweep[Any]:
    return load_sweep(written(tmp_path))


def test_a_setting_fixes_a_knob_in_the_space_and_in_the_baseline(sweep: Sweep[Any]) -> None:
    fixed = apply_settings(sweep, ["workers=5", "amp=bf16"])

    assert list(domains_of(fixed.space)) == ["lr"]
    for config in (fixed.space, fixed.baseline):
        assert (values_of(config)["workers"], values_of(config)["amp"]) == (5, "bf16")
    assert list(domains_of(sweep.space)) == ["lr", "workers"]


def test_all_bad_settings_are_said_at_once(sweep: Sweep[Any]) -> None:
    with pytest.raises(Problems) as refused:
        apply_overrides(
            sweep,
            Overrides(
                settings=("lr=nan", "wokers=3", "amp"),
                search="randm",
                seed=-1,
                isolation="alone",
            ),
        )

    text = str(refused.value)
    assert "--set lr=nan: 'nan' is not allowed for lr" in text
    assert "--set wokers=3: 'wokers' is not a knob of Config; did you mean 'workers'?" in text
    assert "--set amp: expected KNOB=VALUE" in text
    assert "--search randm: unknown search; did you mean 'random'?" in text
    assert "--seed -1 is not allowed" in text
    assert "--isolation alone: unknown" in text


def test_the_command_line_changes_search_and_counts(sweep: Sweep[Any]) -> None:
    changed = apply_overrides(
        sweep,
        Overrides(
            search="random", trials=7, seed=3, repeats=2, retries=0, cores_per_trial=1,
            isolation="exclusive",
        ),
    )  # fmt: skip

    assert changed.search == Random(7)
    assert (changed.seed, changed.repeats, changed.retries, changed.cores_per_trial) == (3, 2, 0, 1)
    assert changed.isolation is Isolation.EXCLUSIVE
    assert apply_overrides(sweep, Overrides()) == sweep


@pytest.mark.parametrize(
    ("own", "name", "trials", "expected"),
    [
        ("Grid(points=5)", "grid", None, Grid(points=5)),
        ("Grid(points=5)", "grid", 4, Grid(points=5, trials=4)),
        ("Grid()", "random", None, Random()),
        ("Random(40)", "optuna", None, Optuna(40)),
        ("Optuna(9, sampler=Sampler.NSGA2)", None, 5, Optuna(5, sampler=Sampler.NSGA2)),
        ("Random(40)", "grid", None, Grid(trials=40)),
    ],
)
def test_another_search_takes_over_the_trials(
    tmp_path: Path, own: str, name: str | None, trials: int | None, expected: object
) -> None:
    tail = f"from orchestrator.search import Sampler\n{GOOD}".replace("epochs=2", f"search={own}")
    sweep = load_sweep(written(tmp_path, tail))

    assert apply_overrides(sweep, Overrides(search=name, trials=trials)).search == expected


@pytest.mark.parametrize("option", ["trials", "repeats", "cores_per_trial"])
def test_a_count_below_one_is_refused(sweep: Sweep[Any], option: str) -> None:
    given: dict[str, Any] = {option: 0}
    with pytest.raises(SweepFileError, match=f"--{option.replace('_', '-')} 0 is not allowed"):
        apply_overrides(sweep, Overrides(**given))


# -- what a search is given


def test_a_problem_holds_canonical_values_in_order_of_declaration(tmp_path: Path) -> None:
    tail = GOOD.replace("epochs=2", "baseline=Config(prefetch=7, lr=0.3), repeats=4, seed=5")
    problem = search_problem(load_sweep(written(tmp_path, tail)), MACHINE)

    assert list(problem.base) == ["lr", "workers", "prefetch", "amp"]
    assert problem.base == {"lr": 0.1, "workers": 0, "prefetch": 2, "amp": "off"}
    assert problem.baseline == {"lr": 0.3, "workers": 0, "prefetch": 2, "amp": "off"}
    assert list(problem.domains) == ["lr", "workers"]
    assert (problem.repeats, problem.seed, problem.budget.epochs) == (4, 5, 1)
    assert problem.canonical({**problem.base, "prefetch": 9}) == problem.base


def test_the_header_is_a_file_of_its_own(tmp_path: Path) -> None:
    assert "there is no SWEEP" in refusal(written(tmp_path, "", header=HEADER)).message
