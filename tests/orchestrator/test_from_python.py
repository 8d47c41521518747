"""``orchestrator.run``: sweeps defined in a script, as a notebook's cell would."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import orchestrator
from orchestrator import Sweep, SweepError, choice, from_function, minimize
from tests.conftest import ROOT
from tests.helping import awaited, python

SCRIPT = '''
import time
import orchestrator
from orchestrator import Rigor, Sweep, choice, from_function, maximize, minimize

def seconds(workers):
    return {seconds} / (1 + workers)

def train(lr=0.1, workers=0):
    """Defined here: no trial can import it."""
    time.sleep(seconds(workers))
    return {{"val_acc": lr}}

reports = [maximize("val_acc"), minimize("time_total_s")]
result = orchestrator.run(
    Sweep(from_function(train, reports=reports), question="How many?",
          space={{"workers": choice(0, 3)}}, rigor=Rigor(confirm=0, max_repeats=1)),
    no_mlflow=True, executor="inline", isolation="shared", set=["lr=0.5"], out="{out}",
)
print(result.exit_code, result.recommended, len(result.trials), len(result.configs))
print(repr(result))
print(len(result.report._repr_html_()) > 100_000)
'''


def start(folder: Path, seconds: float, out: str = "run") -> subprocess.Popen[str]:
    text = SCRIPT.format(seconds=seconds, out=out)
    return subprocess.Popen(
        [sys.executable, "-c", text], cwd=folder, text=True, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip


def test_a_sweep_of_functions_that_no_module_has(tmp_path: Path) -> None:
    process = start(tmp_path, 0.2)
    printed = process.communicate(timeout=120)[0]

    assert process.returncode == 0, printed
    *progress, values, sentence, path, has_page = printed.splitlines()
    assert any("1/2" in line and "baseline  completed" in line for line in progress)
    assert values == "0 {'lr': 0.5, 'workers': 3} 2 2"
    assert "workers 3" in sentence
    assert path == str(tmp_path / "run")
    assert has_page == "True"
    record = json.loads((tmp_path / "run" / "sweep.json").read_text())
    assert record["source_hash"] == source_of(tmp_path, 0.2)


def source_of(folder: Path, seconds: float) -> str:
    """Return the hash of the function's source, as the process of the run has it."""
    text = SCRIPT.format(seconds=seconds, out="none").replace("orchestrator.run(", "hashed(", 1)
    text = HASHED + text.partition("\nprint(")[0]
    done = python("-c", text, cwd=folder)
    return done.stdout.strip()


HASHED = """
import pickle
import cloudpickle
from orchestrator.provenance.source import source_hash

def hashed(sweep, **_):
    print(source_hash(pickle.loads(cloudpickle.dumps(sweep)).trainable))
"""


def test_a_changed_function_is_another_source(tmp_path: Path) -> None:
    hashes = [source_of(tmp_path, seconds) for seconds in (0.01, 0.01, 0.02)]
    assert hashes[0] == hashes[1] != hashes[2]


@pytest.mark.slow
def test_an_interrupt_ends_the_run_with_its_tables(tmp_path: Path) -> None:
    process = start(tmp_path, 60)
    next(line for line in process.stdout if "start" in line)
    process.send_signal(signal.SIGINT)
    printed = process.communicate(timeout=60)[0]

    assert "130 None" in printed, printed
    assert f"to resume: orchestrator.run(..., resume={'run'!r})" in printed
    assert (tmp_path / "run" / "report.html").exists()


@pytest.mark.slow
def test_a_run_ends_in_order_when_its_kernel_is_killed(tmp_path: Path) -> None:
    process = start(tmp_path, 60)
    next(line for line in process.stdout if "start" in line)
    process.kill()
    process.communicate()
    journal = tmp_path / "run/journal.jsonl"
    awaited(lambda: '"ended"' in journal.read_text(), "the end of its journal", within_s=60)
    awaited((tmp_path / "run/report.html").exists, "its report", within_s=60)

    assert json.loads(journal.read_text().splitlines()[-1])["exit_code"] == 143


def test_an_unknown_option_and_a_wrong_request_are_errors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    trainable = from_function(with_default, reports=[minimize("time_total_s")])
    sweep = Sweep(trainable, question="?", space={"x": choice(1, 2)})

    with pytest.raises(SweepError, match="no option exeutor; did you mean 'executor'"):
        orchestrator.run(sweep, exeutor="inline")
    with pytest.raises(SweepError, match="see above"):
        orchestrator.run(sweep, set=["y=1"])
    assert "y" in capsys.readouterr().out


def with_default(x: int = 1) -> float:
    return float(x)
