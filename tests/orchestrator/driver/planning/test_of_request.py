"""A request planned: by its executor, its earlier runs, its extension and its budgets."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.cli import parse
from orchestrator.driver.planning.of_request import (
    expected_trial_s,
    extended,
    make_spending,
    planned,
)
from orchestrator.driver.question import question_record
from orchestrator.driver.request import Request, read_request
from orchestrator.machine import Machine, Node
from orchestrator.storage.files import RunFile
from tests.orchestrator.driver.never import write_never

MACHINE = Machine(nodes=(Node(name="here", cpus=4),))


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    write_never(tmp_path)
    return "never.py"


def request_of(*arguments: str) -> Request:
    return read_request(parse([*arguments, "--cores-per-trial", "1", "--no-mlflow"]))


def test_an_executor_of_one_trial_at_a_time_is_planned_so(file: str) -> None:
    assert planned(request_of(file), MACHINE, "").capacity == (4, 4)
    assert planned(request_of(file, "--max-concurrent", "3"), MACHINE, "").capacity == (3, 3)
    assert planned(request_of(file, "--executor", "inline"), MACHINE, "").capacity == (1, 1)


def test_an_extended_search_is_planned_with_all_of_its_configs(file: str) -> None:
    request = request_of(file, "--search", "random", "--trials", "1")
    assert planned(request, MACHINE, "").max_configs == 1
    assert planned(extended(request, 2), MACHINE, "").max_configs == 2
    assert extended(request, None) is request


def test_budgets_know_what_the_plan_knows(file: str) -> None:
    request = request_of(file, "--core-hours", "1", "--cost", "cpu_hour=3")
    spending = make_spending(request, planned(request, MACHINE, ""), lambda: 0.0)
    assert spending.num_untried == 2
    assert spending.budgets.core_hours == 1
    assert spending.budgets.prices is not None
    assert spending.budgets.prices.cpu_hour == 3
    assert make_spending(request, None, lambda: 0.0).num_untried is None


def test_a_trial_is_expected_to_take_what_the_plan_says(file: str) -> None:
    request = request_of(file)
    assert expected_trial_s(request, 1, "") is None
    stated = replace(request, sweep=replace(request.sweep, trial_s={"": 7.0}))
    assert expected_trial_s(stated, 1, "") == 7.0
    run = Path("runs/never/earlier")
    run.mkdir(parents=True)
    record = question_record(request.sweep, request.file)
    (run / RunFile.SWEEP).write_text(json.dumps(record.to_json()))
    (run / RunFile.TRIALS_TEXT).write_text(
        "started_at,wall_s,stage,state,cores\n2026-01-01T00:00:00+00:00,3.0,train,completed,1\n"
    )
    assert expected_trial_s(stated, 1, "") == 3.0
    assert planned(stated, MACHINE, "").trial_s == 3.0
    assert expected_trial_s(stated, 2, "") == 7.0, "with other cores"
