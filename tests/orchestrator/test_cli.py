"""Bad requests: one clear message, what is allowed, exit code 2, nothing started."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.conftest import RunCli
from tests.helping import check_help
from tests.orchestrator.without_privileges import CANNOT
from tests.trainables.data.conftest import copied, edit, replaced, truncated

SWEEP = """
from orchestrator import Sweep, Trainable, choice, knobs, learning, systems


@knobs
class Config:
    lr: float = learning(default=0.1, gt=0, doc="step size")
    num_workers: int = systems(default=0, ge=0, doc="loader processes")


def train(config, run):
    raise AssertionError("nothing may be started")


SWEEP = Sweep(Trainable(train, Config, name="never"), question="?",
              space=Config(lr=choice(0.1, 0.2)))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "never.py").write_text(SWEEP)
    (tmp_path / "broken.py").write_text(SWEEP.replace("choice(0.1, 0.2)", "choise(0.1, 0.2)"))
    (tmp_path / "unnamed.py").write_text(SWEEP.replace("SWEEP =", "sweep ="))
    (tmp_path / "hollow.py").write_text(SWEEP.replace("choice(0.1, 0.2)", "choice()"))
    (tmp_path / "misspelt.py").write_text(SWEEP.replace("lr=choice(0.1, 0.2)", "lrr=0.1"))
    (tmp_path / "mistyped.py").write_text(SWEEP.replace("choice(0.1, 0.2)", "'0.1'"))
    (tmp_path / "outside.py").write_text(SWEEP.replace("choice(0.1, 0.2)", "-1.0"))
    (tmp_path / "barred.py").write_text(
        SWEEP.replace('question="?"', 'question="?", constraints=[lambda *_: "not today"]')
    )
    for name, own in (
        ("raising", "constraints=[lambda c, m: {}[c.lr]]"),
        ("answering", "constraints=[lambda c, m: True]"),
        ("demanding", "demand=lambda c, m: 1 // 0"),
        ("undemanding", "demand=lambda c, m: 3"),
    ):
        text = SWEEP.replace('name="never"', f'name="never", {own}')
        (tmp_path / f"{name}.py").write_text(text)
    (tmp_path / "file").write_text("not a folder")
    (tmp_path / "empty").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], ["no sweep file given", "--help"]),
        (["nevr.py"], ["nevr.py: no such file", "did you mean 'never.py'?"]),
        (["broken.py"], ["broken.py:16", "choise(0.1, 0.2)", "'choise' is not defined"]),
        (["unnamed.py"], ["unnamed.py", "no SWEEP"]),
        (["hollow.py"], ["hollow.py:16", "choice() of no values", "a float > 0"]),
        (["barred.py", "--plan"], ["constraints exclude all of the 2 configs", "not today"]),
        (["never.py", "--set", "lr=nan"], ["--set lr=nan", "a float > 0"]),
        (["never.py", "--set", "lr=-1"], ["--set lr=-1", "a float > 0"]),
        (["never.py", "--set", "lr=fast"], ["'fast' is not allowed for lr"]),
        (["never.py", "--set", "num_workers=1.5"], ["'1.5' is not allowed for num_workers"]),
        (["never.py", "--set", "num_worker=1"], ["did you mean 'num_workers'?"]),
        (["never.py", "--set", "lr"], ["expected KNOB=VALUE"]),
        (["never.py", "--set", "lr=0.2", "num_worker=1"], ["did you mean 'num_workers'?"]),
        (["never.py", "--set", "lr=0.2", "lr=0.1"], ["--set lr=0.1", "also set to 0.2"]),
        (["misspelt.py"], ["misspelt.py:16", "'lrr' is not a knob", "did you mean 'lr'?"]),
        (["mistyped.py"], ["mistyped.py:16", "Config.lr = '0.1' is not allowed", "a float > 0"]),
        (["outside.py"], ["outside.py:16", "Config.lr = -1.0 is not allowed", "a float > 0"]),
        (["never.py", "--search", "gird"], ["gird", "did you mean 'grid'?"]),
        (["never.py", "--max-concurrent", "0"], ["--max-concurrent", "at least 1"]),
        (["never.py", "--trials", "0"], ["--trials", "at least 1"]),
        (["never.py", "--repeats", "-2"], ["--repeats", "at least 1"]),
        (["never.py", "--cores-per-trial", "0"], ["--cores-per-trial", "at least 1"]),
        (["never.py", "--time-budget", "soon"], ["--time-budget", "30m"]),
        (["never.py", "--isolation", "lonely"], ["--isolation", "'lonely'", "exclusive"]),
        (["never.py", "--isolation", "leasd"], ["did you mean 'leased'?"]),
        (["never.py", "--executor", "slurm"], ["--executor", "inline"]),
        (["never.py", "--executor", "inlin"], ["did you mean 'inline'?"]),
        (["never.py", "--data", "cifar"], ["unknown data 'cifar'", "declares no data"]),
        (["never.py", "--out", "file/run"], ["file/run", "cannot be written"]),
        (["never.py", "--resume", "empty"], ["empty: is not a run directory", "sweep.json"]),
        (["never.py", "--resume", "nowhere"], ["nowhere: is not a run directory"]),
        (["never.py", "--tracking-uri", "sqlit:///x.db"], ["--tracking-uri", "'sqlite'"]),
        (["never.py", "--max-concurrent", "abc"], ["'abc' is not allowed", "of at least 1"]),
        (["never.py", "--trials", "1.5"], ["'1.5' is not allowed", "of at least 1"]),
        (["never.py", "--retries", "x"], ["'x' is not allowed", "a whole number of at least 0"]),
        (["never.py", "--seed", "-1"], ["'-1' is not allowed", "a whole number of at least 0"]),
        (["never.py", "--seed", "1e3"], ["'1e3' is not allowed", "a whole number of at least 0"]),
        (["never.py", "--out", "a", "--resume", "empty"], ["--out and --resume", "leave one"]),
        (
            ["never.py", "--address", "a:1", "--executor", "inline"],
            ["--address and --executor inline", "leave one"],
        ),
        (
            ["never.py", "--tracking-uri", "sqlite:///a.db", "--no-mlflow"],
            ["--tracking-uri and --no-mlflow", "leave one"],
        ),
        (["never.py", "--unknown"], ["unrecognized arguments: --unknown"]),
        (["never.py", "--repets=3"], ["--repets=3", "did you mean '--repeats'?"]),
        (["raising.py"], ["raising.py:15: a constraint raised KeyError", "for Config("]),
        (["answering.py"], ["answering.py:15: a constraint returned True", "allowed: a reason"]),
        (["demanding.py"], ["demanding.py:15: demand raised ZeroDivisionError", "for Config("]),
        (["undemanding.py"], ["undemanding.py:15: demand returned 3", "allowed: Demand(...)"]),
    ],
)
def test_a_bad_request_is_refused(
    run_cli: RunCli, folder: Path, arguments: list[str], said: list[str]
) -> None:
    before = sorted(folder.iterdir())

    done = run_cli(*arguments)

    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr
    for part in said:
        assert part in done.stderr
    assert done.stdout == ""
    left = [path for path in sorted(folder.iterdir()) if path.name != "__pycache__"]
    assert left == before, "nothing was started or written"


SAGE = ("graphsage", "SageConfig")
PRODUCTS_LAYOUT = "ogb/ogbn_products"


def first_cell(text: str) -> Callable[[list[str]], list[str]]:
    return lambda lines: [f"{text},{lines[0].partition(',')[2]}", *lines[1:]]


def test_one_set_takes_several_knobs_and_the_file_behind_them(
    run_cli: RunCli, folder: Path
) -> None:
    (folder / "never.py").write_text(SWEEP.replace("0.2))", "0.2), num_workers=choice(0, 2))"))
    varied = run_cli("--plan", "never.py")
    assert "num_workers: choice(0, 2)" in varied.stdout
    fixed = run_cli("--plan", "--set", "lr=0.2", "num_workers=2", "never.py")
    assert fixed.returncode == 0, fixed.stderr
    assert "nothing: one config" in fixed.stdout


TRAINS = """
from orchestrator import Sweep
from trainables.{name} import {config}, {name}

SWEEP = Sweep({name}, question="?", space={config}(), epochs=1)
"""


@pytest.mark.parametrize(
    ("trainable", "layout", "file", "damage", "said"),
    [
        (
            ("lenet", "LeNetConfig"),
            "mnist/MNIST/raw",
            "train-images-idx3-ubyte.gz",
            truncated,
            "truncated",
        ),
        (
            SAGE,
            PRODUCTS_LAYOUT,
            "raw/node-feat.csv.gz",
            partial(edit, change=replaced(3, "a,b,c")),
            ":3: 'a' is not a finite number",
        ),
        (
            ("lenet", "LeNetConfig"),
            "mnist/MNIST/raw",
            "t10k-labels-idx1-ubyte.gz",
            lambda file: file.write_bytes(gzip.compress(bytes([0, 0, 9, 1]) + bytes(10_004))),
            "magic number 2305",
        ),
        (
            SAGE,
            PRODUCTS_LAYOUT,
            "raw/edge.csv.gz",
            partial(edit, change=replaced(7, "0,7650")),
            ":7: node 7650 does not exist",
        ),
        (
            SAGE,
            PRODUCTS_LAYOUT,
            "raw/node-label.csv.gz",
            partial(edit, change=replaced(9, "47")),
            ":9: label 47 does not exist",
        ),
        (
            SAGE,
            PRODUCTS_LAYOUT,
            "raw/node-feat.csv.gz",
            partial(edit, change=first_cell("nan")),
            ":1: 'nan' is not a finite number",
        ),
    ],
    ids=["truncated", "letters", "magic", "no such node", "no such label", "NaN"],
)
def test_data_that_is_not_what_it_says_is_refused(
    run_cli: RunCli,
    test_data: Path,
    tmp_path: Path,
    trainable: tuple[str, str],
    layout: str,
    file: str,
    damage: Callable[[Path], None],
    said: str,
) -> None:
    data = copied(test_data / layout, tmp_path / layout)
    damage(data / file)
    name, config = trainable
    (tmp_path / "trains.py").write_text(TRAINS.format(name=name, config=config))

    done = run_cli("trains.py", "--data", data, "--executor", "inline", "--no-mlflow")

    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert str(data / file) in done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "runs").exists()


LONG = "a" * 300

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

RUN = {"file": "never.py", "options": {}, "data": ""}


@pytest.fixture
def closed(folder: Path) -> Iterator[Path]:
    """The folder, with files in it that are no good, and some that another user has closed."""
    (folder / "products.py").write_text(PRODUCTS)
    (folder / "excluded.py").write_text(
        PRODUCTS.replace("question", "constraints=[lambda c, m: 'no lr is wanted'], question")
    )
    (folder / "large.py").write_text(
        PRODUCTS.replace("choice(0.1, 0.2)", "choice(*range(1, 1_000_002))")
    )
    (folder / "root" / "ogbn_products").mkdir(parents=True)
    (folder / "root" / "ogbn_products" / "raw").write_text("not a folder")
    for name, content in {
        "unreadable": json.dumps(RUN), "binary": "\udcff\udcfe", "bare": "{}", "list": "[]",
        "halved": '{"file": "never.py", "options": [], "data": ""}',
    }.items():  # fmt: skip
        (folder / name).mkdir()
        (folder / name / "sweep.json").write_bytes(content.encode(errors="surrogateescape"))
    for name, journal in {"torn": '{"at": 1, "ev\n', "no_event": '{"at": 1}\n'}.items():
        (folder / name).mkdir()
        (folder / name / "sweep.json").write_text(json.dumps(RUN))
        (folder / name / "journal.jsonl").write_text(journal)
    (folder / "private" / "set").mkdir(parents=True)
    (folder / "secret.py").write_text(SWEEP)
    private = [folder / "private", folder / "secret.py", folder / "unreadable" / "sweep.json"]
    for path in private:
        path.chmod(0)
    yield folder
    for path in private:
        path.chmod(0o700)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["secret.py"], ["secret.py", "Permission denied"]),
        (["private/never.py"], ["private/never.py", "Permission denied"]),
        (["secret.py", "--plan"], ["secret.py", "Permission denied"]),
        ([f"{LONG}.py"], [f"{LONG}.py", "File name too long"]),
        (["never.py", "--out", "private"], ["private", "Permission denied"]),
        (["never.py", "--out", "private/run"], ["private/run", "Permission denied"]),
        (["never.py", "--out", LONG], [LONG, "File name too long"]),
        (["--resume", "private"], ["private", "Permission denied"]),
        (["--resume", "private/run"], ["private/run", "Permission denied"]),
        (["--resume", "unreadable"], ["unreadable/sweep.json", "Permission denied"]),
        (["--resume", LONG], [LONG, "File name too long"]),
        (["--resume", "binary"], ["binary/sweep.json: cannot be read"]),
        (["--resume", "bare"], ["bare/sweep.json: cannot be read: it has no 'file'"]),
        (["never.py", "--resume", "bare"], ["bare/sweep.json: cannot be read: it has no 'file'"]),
        (["--resume", "list"], ["list/sweep.json: cannot be read: it holds a list"]),
        (["--resume", "halved"], ["halved/sweep.json: cannot be read: 'options' is a list"]),
        (["--resume", "torn"], ["torn/journal.jsonl:1 is damaged"]),
        (["--resume", "no_event"], ["no_event/journal.jsonl:1 is damaged: it has no 'event'"]),
        (["products.py", "--data-root", "private"], ["private/ogbn_products", "Permission"]),
        (["products.py", "--data", "private/set"], ["private/set", "Permission denied"]),
        (["products.py", "--data", f"./{LONG}"], [LONG, "File name too long"]),
        (["products.py", "--data-root", LONG], [LONG, "File name too long"]),
        (["products.py", "--data-root", "root", "--out", "file/run"], ["file/run", "be written"]),
        (["excluded.py", "--data-root", "root"], ["exclude all of the", "no lr is wanted (2)"]),
        (["large.py", "--data-root", "root", "--out", "run"], ["grid has 1,000,001 combinations"]),
        (["products.py", "--data-root", "root"], ["num-node-list.csv.gz is missing"]),
    ],
)
def test_what_cannot_be_read_or_written_is_refused(
    run_cli: RunCli, closed: Path, arguments: list[str], said: list[str]
) -> None:
    done = run_cli(*arguments, module="tests.orchestrator.without_privileges")

    if done.returncode == CANNOT:
        pytest.skip("this process keeps the privileges of root")
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr
    for part in said:
        assert part in done.stderr
    assert done.stdout == ""
    assert not (closed / "runs").exists()
    assert not (closed / "run").exists()


def test_a_cores_share_above_the_node_is_the_node(run_cli: RunCli, folder: Path) -> None:
    done = run_cli("never.py", "--plan", "--cores-per-trial", "4096")
    assert done.returncode == 0
    assert done.stdout.count("4096") == 1, "said once"
    assert "every trial gets the whole node" in done.stdout


@pytest.mark.parametrize(
    ("executor", "beside"), [("ray", True), ("inline", False)], ids=["ray", "inline"]
)
def test_a_plan_is_of_the_executor_that_was_asked_for(
    run_cli: RunCli, folder: Path, executor: str, beside: bool
) -> None:
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("one core holds one trial")
    done = run_cli("never.py", "--plan", "--cores-per-trial", "1", "--executor", executor)
    assert done.returncode == 0
    assert ("1 at once, leased" in done.stdout) is not beside
    assert ("background trials" in done.stdout) is beside


def test_help_needs_no_second() -> None:
    check_help("orchestrator", says="--resume")


def test_a_plan_says_that_a_cluster_is_not_asked(run_cli: RunCli, folder: Path) -> None:
    done = run_cli("never.py", "--plan", "--address", "127.0.0.1:1")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("NOTE: planned for this machine; the cluster at --address")


def test_a_run_can_be_planned_without_naming_its_file_again(run_cli: RunCli, closed: Path) -> None:
    (closed / "begun").mkdir()
    (closed / "begun" / "sweep.json").write_text(json.dumps(RUN | {"options": {"trials": 1}}))
    done = run_cli("--plan", "--resume", "begun")
    assert done.returncode == 0, done.stderr
    assert "1 config" in done.stdout
