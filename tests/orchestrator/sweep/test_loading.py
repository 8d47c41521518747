"""A sweep file defines its sweep; errors of the file are reported at once, with their lines."""

import os
import sys
from pathlib import Path

import pytest
import ray

from orchestrator.errors import Problems, SweepFileError
from orchestrator.space.configs import domains_of, values_of
from orchestrator.sweep.loading import load_sweep
from tests.helping import python
from tests.orchestrator.helpers.sweep_files import GOOD, line_of, line_of_last, refusal, written


def test_a_good_file_gives_its_sweep(tmp_path: Path) -> None:
    sweep = load_sweep(written(tmp_path))

    assert sweep.question == "How many workers?"
    assert sweep.trainable.name == "my_sweep"
    assert list(domains_of(sweep.space)) == ["lr", "workers"]
    assert values_of(sweep.baseline) == {"lr": 0.1, "workers": 0, "prefetch": 2, "amp": "off"}


def test_a_space_may_be_a_mapping_with_ray_tunes_domains(tmp_path: Path) -> None:
    tail = (
        "from ray import tune\n"
        'SWEEP = Sweep(TRAINABLE, question="?", baseline={"workers": 1},\n'
        '    space={"lr": tune.loguniform(1e-3, 1e-1), "workers": tune.choice([0, 2])})\n'
    )
    sweep = load_sweep(written(tmp_path, tail))

    assert str(domains_of(sweep.space)) == "{'lr': loguniform(0.001, 0.1), 'workers': choice(0, 2)}"
    assert values_of(sweep.baseline)["workers"] == 1


@pytest.mark.parametrize(
    ("tail", "message"),
    [
        ("", "there is no SWEEP"),
        (GOOD.replace("SWEEP", "sweep"), "there is no SWEEP; did you mean 'sweep'?"),
        (GOOD.replace("SWEEP", "QUESTION"), "there is no SWEEP; did you mean 'QUESTION'?"),
        ("SWEEP = {'lr': 3}", "SWEEP is of type dict, not Sweep"),
        ("SWEEP = Sweep", "SWEEP is of type type, not Sweep"),
    ],
)
def test_a_file_without_a_usable_sweep(tmp_path: Path, tail: str, message: str) -> None:
    error = refusal(written(tmp_path, tail))

    assert message in error.message
    assert "SWEEP = Sweep(...)" in error.hint


def test_all_problems_of_a_file_are_reported_together(tmp_path: Path) -> None:
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
    assert sorted(places) == sorted(f"{path}:{line_of(path, text)}" for text in texts)


def test_a_knob_problem_is_reported_with_an_error_further_down(tmp_path: Path) -> None:
    error = refusal(written(tmp_path, "C = Config(lr=0.0)\n1 / 0\n"))

    assert "Config.lr = 0.0 is not allowed" in str(error)
    assert "ZeroDivisionError: division by zero" in str(error)


@pytest.mark.parametrize("raises", ["lambda c: 1 / 0", "lambda: True", "lambda c: c.nothing"])
def test_a_condition_that_raises_is_refused_with_its_place(tmp_path: Path, raises: str) -> None:
    tail = (
        f"@knobs\nclass Own:\n    lr: float = both(default=0.1, doc='x', applies={raises})\n"
        "TRAINABLE = Trainable(print, Own, reports=[maximize('val_acc')])\n"
        "SWEEP = Sweep(TRAINABLE, question='?', space={})\n"
    )
    path = written(tmp_path, tail)
    message = refusal(path).message
    assert f"{path}:{line_of(path, f'applies={raises}')}: the condition of lr raised " in message


# -- the file as a module


def changed(path: Path, old: str, new: str) -> Path:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    return path


def test_a_file_may_use_its_folder(tmp_path: Path) -> None:
    (tmp_path / "beside_it.py").write_text("LEAST = 0.01\n")
    path = written(tmp_path, "from beside_it import LEAST\n" + GOOD.replace("0.01", "LEAST"))

    assert domains_of(load_sweep(path).space)["lr"].bounds() == (0.01, 1)


def test_a_file_may_be_named_like_a_module(tmp_path: Path) -> None:
    path = written(tmp_path, name="json.py")

    sweep = load_sweep(path)

    assert sweep.trainable.train.__module__ == "sweep_file_json"
    assert "digits" in sys.modules["json"].dumps(["digits"])
    assert sys.path[0] != str(tmp_path)  # or every later import of json would find the sweep


def test_a_file_has_none_of_our_future_flags(tmp_path: Path) -> None:
    tail = "def own(x: int) -> None: ...\nassert own.__annotations__['x'] is int\n"
    assert load_sweep(written(tmp_path, tail + GOOD)).epochs == 2


def test_what_a_file_defines_can_be_imported_by_another_process(tmp_path: Path) -> None:
    path = written(tmp_path, name="importable.py")
    train = load_sweep(path).trainable.train
    code = f"import {train.__module__} as m; print(m.{train.__qualname__}.__module__)"
    env = {**os.environ, "PYTHONPATH": f"{Path.cwd()}:{tmp_path}"}
    done = python("-c", code, env=env)

    assert done.stdout == "importable\n"


def test_a_file_is_run_afresh_each_time(tmp_path: Path) -> None:
    path = written(tmp_path)
    first = load_sweep(path)
    second = load_sweep(changed(path, "epochs=2", "epochs=3"))

    assert (first.epochs, second.epochs) == (2, 3)
    assert "epochs=4" in refusal(changed(path, "epochs=3", "epochs=4 / 0")).message


def test_a_missing_file_names_the_nearest(tmp_path: Path) -> None:
    written(tmp_path, name="products_loader.py")
    written(tmp_path, name="mnist.py")
    error = refusal(tmp_path / "product_loader.py")

    assert error.message.endswith(
        "product_loader.py: no such file; did you mean 'products_loader.py'?"
    )
    assert error.hint == f"in {tmp_path}: mnist.py, products_loader.py"
    assert "no such file" in refusal(tmp_path / "nowhere" / "a.py").message
    (tmp_path / "empty").mkdir()
    assert "there is no .py file in" in refusal(tmp_path / "empty" / "a.py").hint


def test_a_folder_or_another_kind_of_file_is_refused(tmp_path: Path) -> None:
    written(tmp_path)
    (tmp_path / "notes.txt").write_text("SWEEP")

    assert refusal(tmp_path).message == f"{tmp_path} is not a Python file"
    assert refusal(tmp_path).hint == f"in {tmp_path}: my_sweep.py"
    assert refusal(tmp_path / "notes.txt").message.endswith("notes.txt is not a Python file")
    (tmp_path / "binary.py").write_bytes(b"SWEEP = '\xff\xfe'\n")
    assert "cannot be read" in refusal(tmp_path / "binary.py").message


BEFORE = """\
import ray
from ray import init, tune
def train(config):
    tune.report({"score": 1})
@ray.remote
def task():
    return 1
"""


@pytest.mark.parametrize(
    "call",
    [
        "ray.init()", "ray.put(1)", "task.remote()",
        "tune.Tuner(train, run_config=tune.RunConfig(storage_path=FOLDER)).fit()",
    ],
)  # fmt: skip
def test_what_would_start_ray_is_refused_with_its_line(tmp_path: Path, call: str) -> None:
    path = tmp_path / "starts.py"
    path.write_text(f"{BEFORE}{call.replace('FOLDER', repr(str(tmp_path)))}\n")
    refused = refusal(path)
    assert refused.message.startswith(f"{path}:8: it starts Ray, or joins one")
    assert "under if __name__ == '__main__'" in refused.hint
    assert not ray.is_initialized()


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
        "ModuleNotFoundError: No module named 'trainables.datta'",
        "from trainables.datta",
    ),
    "from trainables.data.sets.mnist import MNISTT": (
        "ImportError: cannot import name 'MNISTT' from 'trainables.data.sets.mnist'",
        "import MNISTT",
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
    "import argparse\nargparse.ArgumentParser().parse_args(['--x'])": (
        "a sweep file must not end the program",
        "parse_args",
    ),
    "import sys\nsys.exit(3)": ("a sweep file must not end the program", "sys.exit(3)"),
    "raise Exception('x' * 9_999)": ("characters left out", "raise Exception('x' * 9_999)"),
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


def test_an_error_below_the_file_names_its_place(tmp_path: Path) -> None:
    (tmp_path / "broken_helper.py").write_text("def half(x):\n    return x / 0\n")
    path = written(tmp_path, "from broken_helper import half\nLR = half(3)\n" + GOOD)
    error = refusal(path)

    line = line_of(path, "LR = ")
    expected = f"{path}:{line}: ZeroDivisionError: division by zero\n    LR = half(3)"
    assert error.message == expected
    assert error.hint == f"raised in {tmp_path}/broken_helper.py:2: return x / 0"
