"""Every field of what a sweep is made of, and every option, refuses a value of another kind."""

from dataclasses import fields
from pathlib import Path

import pytest

from orchestrator import Factored, Grid, Optuna, Random, Sweep, Trainable
from orchestrator.driver.options.declaration import flag
from orchestrator.driver.options.options import DECLARATIONS
from tests.orchestrator.helpers.in_process import run_main
from tests.orchestrator.helpers.sweep_files import refusal, written

WRONG = "object()"
SWEEP = {"trainable": "TRAINABLE", "question": "'?'", "space": "Config()"}
FIELDS = [
    (kind, each.name)
    for kind in (Sweep, Trainable, Grid, Random, Optuna, Factored)
    for each in fields(kind)
    if each.init
]
ANY_TEXT = ("data_root", "out", "experiment", "on_end")
"""Options that take any name as a value."""


def call(name: str, arguments: dict[str, str]) -> str:
    return f"{name}({', '.join(f'{key}={value}' for key, value in arguments.items())})"


@pytest.mark.parametrize(
    ("kind", "field"), FIELDS, ids=[f"{kind.__name__}-{field}" for kind, field in FIELDS]
)
def test_a_field_refuses_an_object_by_name(tmp_path: Path, kind: type, field: str) -> None:
    if kind is Sweep:
        given = {**SWEEP, field: WRONG}
    elif kind is Trainable:
        own = {"train": "train", "config": "Config", field: WRONG}
        given = {**SWEEP, "trainable": call("Trainable", own)}
    else:
        given = {**SWEEP, "search": call(kind.__name__, {field: WRONG})}
    tail = f"from orchestrator.search import Factored\nSWEEP = {call('Sweep', given)}\n"
    assert field in refusal(written(tmp_path, tail)).message


@pytest.mark.parametrize(
    "name", [n for n, option in DECLARATIONS.items() if option.metavar and n not in ANY_TEXT]
)
@pytest.mark.usefixtures("folder")
def test_an_option_refuses_a_dash(name: str) -> None:
    done = run_main("never.py", f"{flag(name)}=\N{EM DASH}", "--plan", code=2)
    assert done.stdout == ""
    assert done.stderr.startswith("error: ")
    assert flag(name) in done.stderr or "\N{EM DASH}" in done.stderr
