"""A type checker passes a right sweep file and names the line of a wrong one."""

import re
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.helping import ran

HEADER = '''\
from __future__ import annotations

from typing import Literal

from orchestrator import (
    NODE, Machine, Sweep, Trainable, both, choice, integers, knobs, learning, loguniform,
    maximize, requires, systems, uniform,
)
from orchestrator.measurement.run import Run
from orchestrator.search import Grid, Optuna, Random
from trainables.settings import LoaderKnobs, ProcessKnobs


@knobs
class Config(ProcessKnobs, LoaderKnobs):
    """A subclass of two groups."""

    lr: float = learning(default=0.1, gt=0, doc="step size")
    fanouts: tuple[int, ...] = both(default=(10, 25), doc="neighbours")


@knobs
class Wider(Config):
    """A subclass of a subclass."""

    hidden: int = both(default=16, ge=1, doc="width")


def train(config: Wider, run: Run) -> None:
    print(config.lr, config.num_workers, config.hidden)


def needs_cuda(config: Wider, machine: Machine) -> str | None:
    return None if machine.has_cuda else f"{config.hidden} is too wide"


TRAINABLE = Trainable(train, Wider, reports=[maximize("val_acc")], constraints=[needs_cuda])
'''

RIGHT = """
SWEEP = Sweep(
    TRAINABLE,
    question="Which?",
    space=Wider(
        lr=loguniform(1e-3, 1.0),
        num_workers=choice(0, 3, 6, 8),
        hidden=integers(16, 256, log=True),
        amp=choice("off", "bf16"),
        pin_memory=choice(False, True),
        fanouts=choice((5, 10), (10, 25)),
        device="cpu",
    ),
    baseline=Wider(lr=1),
    epochs=3,
    cores_per_trial=NODE,
    objectives=[maximize("samples_per_s"), maximize("val_acc")],
    search=Optuna(40),
    constraints=[requires(lambda config: config.hidden < 200, "too wide")],
)
FIRST: int = SWEEP.trainable.config().num_workers
BY_NAME = Sweep(TRAINABLE, question="Which?", space={"lr": loguniform(1e-3, 1.0)})
"""

# The line that a checker must name ends in words of its message.
WRONG: Mapping[str, str] = {
    "misspelt_knob": '''
        space = Wider(num_wokers=3)  # Unexpected keyword argument "num_wokers" for "Wider"
    ''',
    "wrong_type_in_a_choice": '''
        space = Wider(
            num_workers=choice(0, "3"),  # "num_workers" to "Wider" has incompatible type
            hidden=choice(16, 32),
        )
    ''',
    "no_such_knob_read": '''
        def width(config: Wider) -> int:
            return config.hiden  # "Wider" has no attribute "hiden"; maybe "hidden"?
    ''',
    "knobs_of_another_trainable": '''
        SWEEP = Sweep(TRAINABLE, question="?", space=LoaderKnobs())  # "C" of "Sweep"
    ''',
    "knob_without_a_meaning": '''
        @knobs
        class Other:
            x: int = systems(default=1)  # Missing named argument "doc" for "systems"
    ''',
}  # fmt: skip


@pytest.fixture(scope="module")
def checked(
    tmp_path_factory: pytest.TempPathFactory, repository: Path
) -> Mapping[str, Mapping[int, str]]:
    """Messages of mypy by file and line; one run over all of them."""
    folder = tmp_path_factory.mktemp("typed")
    for name, text in {"right": RIGHT, **WRONG}.items():
        lines = [line.removeprefix(" " * 8) for line in text.splitlines()]
        (folder / f"{name}.py").write_text(HEADER + "\n".join(lines))
    settings = folder / "mypy.ini"
    settings.write_text(
        f"[mypy]\nstrict = True\nmypy_path = {repository}\nexplicit_package_bases = True\n"
        # Modules that the files import are read but not checked; large packages are not even read.
        "[mypy-orchestrator.*,trainables.*]\nfollow_imports = silent\n"
        # Nor is the driver, which no sweep file needs.
        "[mypy-torch.*,numpy.*,pandas.*,pyarrow.*,ray.*,optuna.*,psutil.*,pynvml.*,"
        "orchestrator.from_python]\n"
        "follow_imports = skip\nignore_missing_imports = True\n"
    )
    command = [sys.executable, "-m", "mypy", "--config-file", str(settings)]
    command += ["--cache-dir", str(folder / "cache"), "--no-error-summary"]
    done = ran(*command, *sorted(map(str, folder.glob("*.py"))), cwd=folder, code=1)
    messages: dict[str, dict[int, str]] = {name: {} for name in ("right", *WRONG)}
    for line in done.stdout.splitlines():
        if ": note: " in line:
            continue
        found = re.match(r".*?(\w+)\.py:(\d+): error: (.*)", line)
        assert found is not None, line
        messages[found[1]][int(found[2])] = found[3]
    return messages


def test_a_right_sweep_file_passes(checked: Mapping[str, Mapping[int, str]]) -> None:
    assert checked["right"] == {}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_line_is_named(name: str, checked: Mapping[str, Mapping[int, str]]) -> None:
    lines = (HEADER + WRONG[name]).splitlines()
    marked = {
        number: line.partition("  # ")[2] for number, line in enumerate(lines, 1) if "  # " in line
    }

    assert list(checked[name]) == list(marked)
    for number, words in marked.items():
        assert words in checked[name][number]
