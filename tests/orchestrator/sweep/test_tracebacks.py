"""An error of a sweep file is shown with its own line and its cause."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestrator.errors import SweepFileError
from tests.orchestrator.helpers.sweep_files import GOOD, line_of, line_of_last, written
from tests.orchestrator.sweep.refusals import refusal

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
    "import sys\nsys.exit(3)": ("a sweep file must not end the program", "sys.exit(3)"),
    "raise SystemExit({})": ("a sweep file must not end the program", "raise SystemExit({})"),
    "raise GeneratorExit": ("GeneratorExit", "raise GeneratorExit"),
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


def test_an_error_below_the_file_says_where_it_came_from(tmp_path: Path) -> None:
    (tmp_path / "broken_helper.py").write_text("def half(x):\n    return x / 0\n")
    path = written(tmp_path, "from broken_helper import half\nLR = half(3)\n" + GOOD)
    error = refusal(path)

    line = line_of(path, "LR = ")
    expected = f"{path}:{line}: ZeroDivisionError: division by zero\n    LR = half(3)"
    assert error.message == expected
    assert error.hint == f"raised in {tmp_path}/broken_helper.py:2: return x / 0"
