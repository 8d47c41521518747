"""Commands of users, in the test's process and by the command line."""

import os
import time
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from orchestrator import SweepFileError, from_script, maximize, minimize
from orchestrator.measurement.run import Context, Run, TrialStopped
from orchestrator.provenance.source import source_hash
from orchestrator.trial import Budget
from tests.conftest import RunCli
from tests.orchestrator.execution.ray.functions.trials import trained
from tests.trainables.running import Reports

ACC = [maximize("acc")]


def script(command: str, reports: Any = ACC, **more: Any) -> Any:  # noqa: ANN401
    return from_script(command, config=more.pop("config", {}), reports=reports, **more)


def shell(text: str, **more: Any) -> Any:  # noqa: ANN401
    return script(f"sh -c '{text}'", **more)


def test_reports_come_with_their_times() -> None:
    text = "for i in 1 2 3; do sleep 0.1; echo acc=0.$i samples=${i}00; done"

    first, _, last = trained(shell(text.replace("${i}", "${{i}}")))

    assert first["acc"] == 0.1
    assert last["acc"] == 0.3
    assert 0.1 <= first["report_s"] < 1
    assert 0.1 <= last["report_s"] < 1


def test_a_command_that_is_to_report_nothing_has_its_time() -> None:
    trainable = script("sleep 0.1", reports=[minimize("report_s")])

    (report,) = trained(trainable)

    assert 0.1 <= report["report_s"] < 1


def test_the_speed_is_that_after_the_first_report() -> None:
    channel = Reports()
    text = "sleep 0.3; for i in 1 2 3; do echo acc=0.5 samples=${{i}}00; sleep 0.1; done"

    shell(text).train(shell(text).config(), Run(context(), channel))

    assert "samples_per_s" not in channel.kept[0].metrics
    assert 500 < channel.kept[2].metrics["samples_per_s"] <= 1000


@pytest.mark.parametrize(
    ("text", "more", "expected"),
    [
        ("echo all: 0.5 correct", {"figures": r"all: (?P<acc>[\d.]+)"}, 0.5),
        ('echo {{\\"acc\\": 0.25}} > {folder}/out.json', {"figures": "{folder}/out.json"}, 0.25),
        ("echo acc=$OMP_NUM_THREADS", {}, 1.0),
        ("echo acc=0.5 1>&2", {}, 0.5),
    ],
)
def test_where_figures_come_from(
    text: str,
    more: dict[str, Any],
    expected: float,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    channel, trainable = Reports(), shell(text, **more)

    trainable.train(trainable.config(), Run(context(folder=tmp_path), channel))

    assert channel.kept[-1].metrics["acc"] == expected


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("echo to err >&2; exit 3", RuntimeError, "ended with exit code 3: to err"),
        ("kill -9 $$", ChildProcessError, "was ended by SIGKILL"),
        ("echo val_acc=1", ValueError, "reported none of acc: print a line acc=VALUE"),
    ],
)
def test_a_failure_names_its_reason(text: str, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        trained(shell(text))


def test_a_stop_ends_the_command(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    trainable = shell(f"echo $$ > {pid}; echo acc=1; exec sleep 60")
    began = time.monotonic()

    with pytest.raises(TrialStopped):
        trainable.train(trainable.config(), Run(context(), Reports(stop_after=1)))

    assert time.monotonic() - began < 10
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


def test_script_counts_as_code_that_trains(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("import helper")
    (tmp_path / "helper.py").write_text("x = 1")
    before = source_hash(script("python train.py"))
    (tmp_path / "helper.py").write_text("x = 2")

    changed = source_hash(script("python train.py"))
    others = [source_hash(script("python train.py --fast")), source_hash(script("sh -c true"))]
    others += [source_hash(script("sh -c false")), source_hash(script("sh -c true", figures="f"))]
    assert len({before, changed, *others}) == 6
    assert script("python train.py").name == "train"


@pytest.mark.parametrize(
    ("command", "more", "message"),
    [
        ("run --w {wrkers}", {}, "did you mean 'workers'?"),
        ("run", {"figures": "(?P<acc>["}, "unterminated character set"),
    ],
)
def test_a_wrong_declaration_is_refused(command: str, more: dict[str, Any], message: str) -> None:
    with pytest.raises(SweepFileError) as refused:
        script(command, config={"workers": 0}, **more)

    assert "test_from_script.py:" in str(refused.value)
    assert message in str(refused.value)


SWEEP = """
from orchestrator import Rigor, Sweep, choice, from_script, maximize

SWEEP = Sweep(
    from_script("sh train.sh {epochs} {workers}", config={"workers": 1, "amp": False},
                reports=[maximize("samples_per_s"), maximize("acc")]),
    question="How many?",
    space={"workers": choice(1, 4), "amp": choice(False, True)},
    epochs=4,
    rigor=Rigor(confirm=0, max_repeats=1),
)
"""
TRAIN = """
for epoch in $(seq $1); do
    python -c "import time; time.sleep(0.2 / $2)"
    echo "epoch $epoch of $1, $3: acc=0.9$2 samples=${epoch}000"
done
"""


def test_a_sweep_of_a_shell_script(run_cli: RunCli, tmp_path: Path) -> None:
    (tmp_path / "sweep.py").write_text(SWEEP)
    (tmp_path / "train.sh").write_text(TRAIN)

    arguments = ("--isolation", "shared", "--executor", "inline", "--no-mlflow")
    done = run_cli("sweep.py", "--out", "run", *arguments)

    trials = pd.read_parquet(tmp_path / "run" / "trials.parquet")
    assert set(trials["state"]) == {"completed"}, trials["reason"].tolist()
    assert set(trials["metrics.epochs"]) == {4}
    fast = trials["params.workers"] == 4
    speed = trials["metrics.samples_per_s"]
    assert speed[fast].min() > speed[~fast].max()
    assert "workers 4" in done.stdout


def context(folder: Path | None = None) -> Context:
    return Context(seed=0, budget=Budget(epochs=2), folder=folder)
