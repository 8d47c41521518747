"""Files that cannot be read or written are refused: for permissions, content or name."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.forking import Finished
from tests.orchestrator.driver.never import SWEEP, write_never
from tests.orchestrator.helpers.without_privileges import CANNOT
from tests.orchestrator.tracking.journals import make_record

PRODUCTS = """
from orchestrator import Sweep, Trainable, choice, knobs, learning
from trainables.data.sets.ogbn_products import OGBN_PRODUCTS


@knobs
class Config:
    lr: float = learning(default=0.1, gt=0, doc="step size")


def train(config, run):
    raise AssertionError("nothing may be started")


SWEEP = Sweep(Trainable(train, Config, data=[OGBN_PRODUCTS], name="never"), question="?",
              space=Config(lr=choice(0.1, 0.2)))
"""

RUN = make_record(file="never.py", data="", options={})


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Make a folder of bad files, some of them closed by another user."""
    folder = tmp_path_factory.mktemp("closed")
    write_never(folder)
    (folder / "products.py").write_text(PRODUCTS)
    (folder / "root" / "ogbn_products").mkdir(parents=True)
    (folder / "root" / "ogbn_products" / "raw").write_text("not a folder")
    for name, content in {
        "unreadable": json.dumps(RUN.to_json()),
        "halved": json.dumps(RUN.to_json() | {"options": []}),
    }.items():  # fmt: skip
        (folder / name).mkdir()
        (folder / name / "sweep.json").write_bytes(content.encode(errors="surrogateescape"))
    for name, journal in {"torn": '{"at": 1, "ev\n', "no_event": '{"at": 1}\n'}.items():
        (folder / name).mkdir()
        (folder / name / "sweep.json").write_text(json.dumps(RUN.to_json()))
        (folder / name / "journal.jsonl").write_text(journal)
    (folder / "private" / "set").mkdir(parents=True)
    (folder / "secret.py").write_text(SWEEP)
    private = [folder / "private", folder / "secret.py", folder / "unreadable" / "sweep.json"]
    for path in private:
        path.chmod(0)
    yield folder
    for path in private:
        path.chmod(0o700)


CASES: list[tuple[list[str], list[str]]] = [
    (["secret.py"], ["secret.py", "Permission denied"]),
    (["never.py", "--out", "private/run"], ["private/run", "Permission denied"]),
    (["--resume", "unreadable"], ["unreadable/sweep.json", "Permission denied"]),
    (["--resume", "halved"], ["halved/sweep.json: cannot be read", "$.options"]),
    (["--resume", "torn"], ["torn/journal.jsonl:1 is damaged"]),
    (["--resume", "no_event"], ["no_event/journal.jsonl:1 is damaged: it has no 'event'"]),
    (["products.py", "--data-root", "private"], ["private/ogbn_products", "Permission"]),
    (["products.py", "--data", "private/set"], ["private/set", "Permission denied"]),
    (["products.py", "--data-root", "root"], ["num-node-list.csv.gz is missing"]),
]


@pytest.fixture(scope="module")
def refusals(closed: Path) -> list[Finished]:
    """Run all cases in one process without the privileges of root."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.orchestrator.helpers.without_privileges"],
        input=json.dumps([arguments for arguments, _ in CASES]),
        cwd=closed, env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode == CANNOT:
        pytest.skip("this process keeps the privileges of root")
    assert done.returncode == 0, done.stderr
    return [Finished(**finished) for finished in json.loads(done.stdout)]


@pytest.mark.parametrize("number", range(len(CASES)), ids=[" ".join(a)[:60] for a, _ in CASES])
def test_what_cannot_be_read_or_written_is_refused(refusals: list[Finished], number: int) -> None:
    (_, said), done = CASES[number], refusals[number]
    assert done.returncode == 2, done.stderr
    # A run that is resumed says first whose code it runs.
    lines = [line for line in done.stderr.splitlines() if not line.startswith("NOTE: --resume")]
    assert lines[0].startswith("error: ")
    for part in said:
        assert part in done.stderr
    assert done.stdout == ""


def test_a_refusal_leaves_nothing_behind(refusals: list[Finished], closed: Path) -> None:
    assert refusals
    assert not (closed / "runs").exists()
    assert not (closed / "run").exists()
