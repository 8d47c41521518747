"""The real command line, from a sweep file to a recommendation."""

import json
from collections import Counter
from pathlib import Path
from typing import NoReturn

import pytest

from orchestrator.driver import run as driver_run
from orchestrator.driver.options.options import Options
from orchestrator.kernel.executor import ExecutorLost
from orchestrator.storage.files import RunFile
from orchestrator.storage.sweep_record import read_sweep
from tests.conftest import RunCli
from tests.orchestrator.conftest import FinishedRun
from tests.orchestrator.driver.speed_sweeps import trials_of, write_sweep
from tests.orchestrator.helpers.in_process import run_main


def test_each_config_has_its_row_whatever_became_of_it(finished_run: FinishedRun) -> None:
    trials = trials_of(finished_run.out)
    states = Counter(zip(trials["params.act"], trials["state"], strict=True))
    assert states == {("train", "completed"): 2 + 5, ("raise", "failed"): 2}
    failed = trials[trials["state"] == "failed"].iloc[0]
    assert "ValueError: told to" in failed["reason"]


def test_a_faster_config_is_recommended_with_its_speed_up(finished_run: FinishedRun) -> None:
    recommended = json.loads((finished_run.out / RunFile.RECOMMENDED).read_text())
    assert recommended["config"]["step_ms"] == 4.0
    speedup = recommended["speedup"]
    assert (speedup["basis"], speedup["num_pairs"]) == ("confirm", 2)
    # Two pairs on a busy machine may not show by how much.
    assert speedup["ratio"] > 1.2 if speedup["why_not_known"] == "" else speedup["ratio"] is None


def test_rows_have_their_node_and_confirm_runs_had_it_alone(
    finished_run: FinishedRun,
) -> None:
    trials = trials_of(finished_run.out)
    completed = trials[trials["state"] == "completed"]
    assert set(completed[completed["stage"] == "confirm"]["isolation"]) == {"exclusive"}
    nodes = read_sweep(finished_run.out).nodes
    assert set(completed["tags.cpu_model"]) == {node["cpu_model"] for node in nodes.values()}


RAISES = """
def raises(config, machine):
    if 1.5 < config.step_ms < 3.5:
        raise KeyError("gone")
"""


def test_a_constraint_that_raises_in_mid_run_ends_it_and_it_can_be_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    space = "step_ms=uniform(1.0, 4.0)"
    file = write_sweep(tmp_path, space, search="Optuna(6)", epochs=1, shared=True)
    text = file.read_text().replace("import Isolation", "import uniform, Isolation")
    text = text.replace("SWEEP =", f"{RAISES}\n\nSWEEP =")
    file.write_text(text.replace("cores_per_trial=1,", "cores_per_trial=1, constraints=[raises],"))
    done = run_main(file, "--out", "run", "--executor", "inline", "--no-mlflow", code=1)

    assert "a constraint raised KeyError: 'gone'\n  for Config(step_ms=2." in done.stderr
    assert done.stdout.strip().splitlines()[-1].startswith("to resume: ")
    assert "ended early: speed.py:" in done.stdout
    assert set(trials_of(tmp_path / "run")["state"]) == {"completed"}


def test_a_run_leaves_all_its_files(finished_run: FinishedRun) -> None:
    of_some_runs = {RunFile.MLFLOW, RunFile.CANDIDATES, RunFile.TRACKERS}
    for name in set(RunFile) - of_some_runs:
        assert (finished_run.out / name).stat().st_size > 0, name
    assert not any((finished_run.out / name).exists() for name in of_some_runs)
    assert not list(finished_run.out.glob(".*.tmp")), "half a file"


def test_what_trials_have_printed_is_kept_and_linked(finished_run: FinishedRun) -> None:
    trials = trials_of(finished_run.out)
    failed = set(trials[trials["state"] == "failed"]["trial_id"])
    kept = finished_run.out / RunFile.OUTPUT
    assert {path.stem for path in kept.iterdir()} == failed, "the others print nothing"
    page = (finished_run.out / RunFile.REPORT).read_text()
    for name in failed:
        text = (kept / f"{name}.txt").read_text()
        assert text.startswith("about to raise\nTraceback (most recent call last):\n")
        assert f'<a href="output/{name}.txt">{name}</a>' in page


def test_a_cluster_that_dies_before_the_first_trial_is_one_message(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def dies(*_: object) -> NoReturn:
        raise ExecutorLost("the cluster's GCS answers no more")

    monkeypatch.setattr(driver_run, "_run", dies)
    assert driver_run.run(Options(resume=Path("begun")), []) == 1
    error, to_go_on = capsys.readouterr().err.splitlines()
    assert error == "error: the cluster's GCS answers no more; no trial was started"
    assert to_go_on.endswith("orchestrator --resume begun")


@pytest.mark.slow
def test_a_sweep_on_ray_leaves_the_same_as_one_inline(
    run_cli: RunCli, tmp_path: Path, finished_run: FinishedRun
) -> None:
    out = tmp_path / "run"
    run_cli(finished_run.file, "--out", out, "--executor", "ray", "--no-mlflow", page=True)
    columns = ["params.act", "params.step_ms", "stage", "state"]
    rows, expected = (
        Counter(map(tuple, trials_of(run)[columns].to_numpy().tolist()))
        for run in (out, finished_run.out)
    )
    assert rows == expected
    assert json.loads((out / RunFile.RECOMMENDED).read_text())["config"]["step_ms"] == 4.0
    assert {path.name for path in out.iterdir()} == {
        path.name for path in finished_run.out.iterdir()
    }


@pytest.mark.slow
@pytest.mark.alone
def test_a_trial_ends_once_its_speed_is_known_as_well_as_asked(
    run_cli: RunCli, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    file = write_sweep(tmp_path, "step_ms=choice(0.5)", epochs=400, baseline=0.5)
    file.write_text(file.read_text().replace("retries=0", "retries=0, half_width=0.2"))

    run_cli(file, "--out", out, "--no-mlflow", "--executor", "inline")

    trials = trials_of(out)
    assert set(trials["state"]) == {"completed"}
    assert trials["metrics.steps"].between(512, 4000).all()
    width = trials["metrics.samples_per_s_within_high"] - trials["metrics.samples_per_s_within_low"]
    assert (width / 2 <= 0.2 * trials["metrics.samples_per_s"]).all()
