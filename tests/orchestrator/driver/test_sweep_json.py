from __future__ import annotations

import json
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.cli import parser
from orchestrator.constraints import requires
from orchestrator.data import DataFolders
from orchestrator.driver.assembly import Request, _at_once, _num_slots
from orchestrator.driver.sweep_json import (
    _FOUND,
    STORED,
    _asked,
    changes_since,
    require_same_question,
    restored_options,
)
from orchestrator.errors import RunDirectoryError
from orchestrator.machine import Machine, Node
from orchestrator.sweep.definition import Sweep
from orchestrator.trial import Isolation
from tests.orchestrator.search.playing import SPACE, TRAINABLE, Config


def held(options: Namespace, isolation: Isolation = Isolation.LEASED) -> tuple[int, int]:
    """Trials at once on a node, and on both."""
    sweep = Sweep(TRAINABLE, question="?", space=SPACE, cores_per_trial=1, isolation=isolation)
    request = Request(
        options=options, file=Path("s.py"), sweep=sweep, folders=DataFolders.default(None),
        dataset=None, data="", data_note="",
    )  # fmt: skip
    nodes = tuple(Node(name=name, cpus=cpus) for name, cpus in (("a", 4), ("b", 8)))
    machine = Machine(nodes=nodes)
    return _at_once(request, machine), _num_slots(request, machine)


def options(**changes: object) -> Namespace:
    given: dict[str, object] = dict.fromkeys(STORED) | {"executor": "ray", "max_concurrent": None}
    return Namespace(**given | {"sweep_file": Path("s.py")} | changes)


def test_as_many_run_beside_each_other_as_the_largest_node_holds() -> None:
    assert held(options()) == (8, 12)
    assert held(options(max_concurrent=10)) == (8, 10)
    assert held(options(max_concurrent=3)) == (3, 3)
    assert held(options(executor="inline")) == (1, 1)
    assert held(options(), Isolation.EXCLUSIVE) == (1, 1)


def test_a_resumed_run_asks_for_what_it_asked_for_whatever_runs_it_now() -> None:
    stored = {"options": {}, "at_once": 8, "num_slots": 16}
    assert held(restored_options(options(executor="inline"), stored)) == (8, 16)


def restored(stored: dict[str, object], **given: object) -> Namespace:
    now = Namespace(**vars(parser().parse_args([])) | given)
    return restored_options(now, {"file": "s.py", "options": stored})


def test_a_resumed_run_goes_on_as_it_was_started() -> None:
    stored = {"executor": "inline", "max_concurrent": 1, "address": None, "no_mlflow": True}
    options = restored(stored)
    assert (options.executor, options.max_concurrent, options.no_mlflow) == ("inline", 1, True)
    assert restored({"address": "head:6379"}).address == "head:6379"


def test_what_is_given_again_counts_also_where_it_is_zero() -> None:
    options = restored({"seed": 7, "retries": 2, "max_concurrent": 4}, seed=0, retries=0)
    assert (options.seed, options.retries, options.max_concurrent) == (0, 0, 4)


def test_what_is_given_again_ends_what_contradicts_it() -> None:
    assert restored({"address": "head:6379"}, executor="inline").address is None
    assert restored({"executor": "inline"}, address="head:6379").executor is None
    assert not restored({"no_mlflow": True}, tracking_uri="sqlite:///a.db").no_mlflow
    assert restored({"tracking_uri": "sqlite:///a.db"}, no_mlflow=True).tracking_uri is None


@pytest.mark.parametrize(
    ("key", "then", "now"), [("cores_per_trial", 4, 2), ("data", "mnist", "digits")]
)
def test_trials_on_other_cores_or_data_are_another_run(key: str, then: object, now: object) -> None:
    record = dict.fromkeys((*_FOUND, "source_hash", "data_fingerprint"))
    past = [{"event": "sweep", "sweep": record | {key: then}}]
    with pytest.raises(RunDirectoryError, match=f"{key}: {then!r} then, {now!r} now"):
        changes_since(past, record | {key: now}, Path("run"))


ASKED: dict[str, Any] = {"question": "?", "space": SPACE}
WIDEST = 100


def narrow(config: Config, _machine: Machine) -> str | None:
    """Has a constant of its module in it."""
    return "too wide" if config.batch > WIDEST else None


def asked_again(**changes: object) -> None:
    """Asks what was asked before, but for ``changes``."""
    sweep = Sweep(TRAINABLE, **ASKED)
    past = [{"event": "sweep", "sweep": json.loads(json.dumps(_asked(sweep)))}]
    require_same_question(past, Sweep(TRAINABLE, **ASKED | changes), Path("run"))


def test_the_same_question_in_other_words_is_the_same() -> None:
    asked_again(question="which?", retries=3)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"isolation": Isolation.SHARED}, "isolation: 'leased' then, 'shared' now"),
        ({"accuracy_tolerance": 0.01}, "accuracy_tolerance: 0.005 then, 0.01 now"),
        ({"constraints": [narrow]}, r"constraints: \[\] then, .*config.batch > WIDEST"),
        ({"constraints": [requires(lambda c: c.batch < 9, "no")]}, "constraints: .*c.batch < 9"),
        ({"epochs": 2}, "budget: .*'epochs': 1.* then, .*'epochs': 2.* now"),
    ],
)
def test_another_question_is_another_run(changes: dict[str, object], said: str) -> None:
    with pytest.raises(RunDirectoryError, match=said):
        asked_again(**changes)
