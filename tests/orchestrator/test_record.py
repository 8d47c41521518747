from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from orchestrator.assembly import Request, _at_once
from orchestrator.data import DataFolders
from orchestrator.record import STORED, restored_options
from orchestrator.sweep import Isolation, Sweep
from orchestrator.trainable import Machine, Node
from tests.orchestrator.search.playing import SPACE, TRAINABLE


def at_once(options: Namespace, isolation: Isolation = Isolation.LEASED) -> int:
    sweep = Sweep(TRAINABLE, question="?", space=SPACE, cores_per_trial=1, isolation=isolation)
    request = Request(
        options=options, file=Path("s.py"), sweep=sweep, folders=DataFolders.default(None),
        dataset=None, data="", data_note="",
    )  # fmt: skip
    nodes = tuple(Node(name=name, cpus=cpus) for name, cpus in (("a", 4), ("b", 8)))
    return _at_once(request, Machine(nodes=nodes))


def options(**changes: object) -> Namespace:
    given: dict[str, object] = dict.fromkeys(STORED) | {"executor": "ray", "max_concurrent": None}
    return Namespace(**given | {"sweep_file": Path("s.py")} | changes)


def test_as_many_run_beside_each_other_as_the_largest_node_holds() -> None:
    assert at_once(options()) == 8
    assert at_once(options(max_concurrent=3)) == 3
    assert at_once(options(executor="inline")) == 1
    assert at_once(options(), Isolation.EXCLUSIVE) == 1


def test_a_resumed_run_asks_for_what_it_asked_for_whatever_runs_it_now() -> None:
    restored = restored_options(options(executor="inline"), {"options": {}, "at_once": 8})
    assert at_once(restored) == 8
