"""The differential suite: it finds what differs, and nothing does."""

# ruff: noqa: ANN401 - whatever users write for Ray Tune

from __future__ import annotations

import subprocess
import sys
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ray import tune

from benchmarks.reliability.ray_tune.__main__ import main
from benchmarks.reliability.ray_tune.cases import Refused, Space
from benchmarks.reliability.ray_tune.compare import invalid, of_function, of_refused, of_space
from benchmarks.reliability.ray_tune.functions import DOCUMENTED, FUNCTIONS
from benchmarks.reliability.ray_tune.our_sweep import GENERATORS, OTHERS
from benchmarks.reliability.ray_tune.ours import Outcome
from benchmarks.reliability.ray_tune.seen import FOLDER, described, tell, told
from benchmarks.reliability.ray_tune.spaces import REFUSED, SPACES
from benchmarks.reliability.ray_tune.wrapped import WRAPPED
from tests.conftest import ROOT

REPORTS = [{"score": 1.0}, {"score": 2.0}]
SEEN: Any = ([{"config": "a", "files": []}],) * 2


def test_what_it_holds_against_each_other() -> None:
    cases = [*FUNCTIONS, *WRAPPED, *SPACES, *REFUSED]
    assert len(cases) == len(set(cases)) >= 320
    assert {*GENERATORS, *OTHERS} == set(FUNCTIONS)
    assert set(DOCUMENTED) < set(FUNCTIONS)


@pytest.mark.parametrize(
    ("ours", "seen", "says"),
    [
        (Outcome("completed", REPORTS, REPORTS[-1]), SEEN, "same"),
        (Outcome("failed", REPORTS, REPORTS[-1], "it raised"), SEEN, "state completed and failed"),
        (Outcome("completed", REPORTS[:1], REPORTS[-1]), SEEN, "DIFFERS: reports"),
        (Outcome("completed", REPORTS, REPORTS[0]), SEEN, "DIFFERS: last"),
        (Outcome("completed", REPORTS, REPORTS[-1]), (SEEN[0], []), "DIFFERS: config"),
        (Outcome("completed", [{"score": 1.0}, {"score": 2.0 + 1e-6}], {"score": 2.0}), SEEN,
         "DIFFERS: reports"),
    ],
)  # fmt: skip
def test_a_difference_of_a_function_is_found(ours: Outcome, seen: Any, says: str) -> None:
    row = of_function("function", "any", ("completed", REPORTS), ours, seen)
    assert says in row.verdict


def test_a_documented_difference_must_be_the_one_that_is_documented() -> None:
    ours = Outcome("failed", [], {}, "ValueError: divide it by 100")
    plain = ("completed", REPORTS)
    known = of_function("function", "any", plain, ours, SEEN, ("failed", "divide it", "too large"))
    other = of_function("function", "any", plain, ours, SEEN, ("failed", "none of", "none"))
    assert known.verdict == "documented: too large"
    assert other.verdict.startswith("DIFFERS: failed: ValueError")


def test_a_difference_of_a_space_is_found() -> None:
    case = Space({"x": tune.uniform(0.0, 1.0), "y": None})
    config = {"x": 0.5, "y": None}
    seen = [{"config": described(config)}]

    assert of_space("any", case, [config], seen).verdict == "same"
    assert "DIFFERS: seen" in of_space("any", case, [config], []).verdict
    assert "is not in uniform(0, 1)" in of_space("any", case, [{"x": 2.0, "y": None}], seen).verdict


@pytest.mark.parametrize(
    ("space", "value", "fits"),
    [
        (tune.uniform(0, 1), 0.5, True),
        (tune.uniform(0, 1), 1, False),
        (tune.randint(0, 3), 3, False),
        (tune.qrandint(0, 4, 2), 4, True),
        (tune.qrandint(0, 4, 2), 3, False),
        (tune.choice([{"a": tune.uniform(0, 1)}, 7]), {"a": 0.5}, True),
        (tune.choice([{"a": tune.uniform(0, 1)}, 7]), {"a": 2.0}, False),
        (tune.grid_search([np.int64(1)]), 1, False),
        ({"a": [1, None]}, {"a": [1, None]}, True),
        ({"a": [1]}, {"a": (1,)}, False),
    ],
)
def test_what_ray_tune_would_not_draw_is_found(space: Any, value: Any, fits: bool) -> None:
    assert (not list(invalid(space, value, "x"))) == fits


def test_a_space_that_is_to_be_refused_and_is_not_differs() -> None:
    assert of_refused("any", Refused({"x": 1}, ("never",))).verdict == "DIFFERS: it is taken"
    name, case = next(iter(REFUSED.items()))
    assert of_refused(name, case).verdict.startswith("documented")


def test_what_is_seen_is_told_with_its_types(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(FOLDER, str(tmp_path))
    tell("any", {"x": np.float32(1.5), "y": (1, [None])})

    (found,) = told(tmp_path)["any"]
    text = "dict{str('x'): float32(np.float32(1.5)), str('y'): tuple[int(1), list[NoneType(None)]]}"
    assert found["config"] == text
    assert described({"a": 1}) != described(OrderedDict(a=1))


SAMPLE = (
    "reports thrice",
    "returns a dictionary",
    "yields numbers",
    "ends by an error",
    "files of the same name again",
    "reports text alone",
    "class that is done",
    "keys of all kinds",
    "sample_from of a later one",
)
"""One of each kind. All of them: the benchmark, whose table is among the results."""


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.timeout(600)
def test_nothing_of_a_sample_differs() -> None:
    # Not in this process, which may have a Ray already.
    command = [sys.executable, "-m", "benchmarks.reliability.ray_tune", "--cases", *SAMPLE]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    table = done.stdout
    assert done.returncode == 0, table + done.stderr[-5000:]
    assert "9 functions and spaces: 7 the same, 2 documented differences, 0 differing" in table
    assert all(f" | {name} | " in table for name in SAMPLE)


def test_a_case_that_there_is_not_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--only", "spaces", "--cases", "nested", "reports thrice"])
    assert "unknown case: reports thrice" in capsys.readouterr().err
