"""Results of earlier runs that a search receives first, kept with its run."""

import json
import math
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.driver.warm import WarmStart
from orchestrator.kernel.problem import EarlierConfig
from orchestrator.storage.sweep_record import read_sweep
from orchestrator.trial import TrialResult, TrialState
from tests.conftest import ROOT
from tests.orchestrator.conftest import FinishedRun
from tests.orchestrator.driver.speed_sweeps import finished_counts, trials_of, write_sweep
from tests.orchestrator.helpers.in_process import run_main
from tests.orchestrator.helpers.journalled import lines_of
from tests.orchestrator.search.playing import completed, problem, small_batches_only
from tests.orchestrator.tracking.journals import make_record

COMMON = ("--executor", "inline", "--no-mlflow")
SPACE = "step_ms=choice(12.0, 4.0, 2.0), act=choice('train', 'raise')"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A sweep by TPE over a little more than what was run before."""
    (tmp_path / "asks").mkdir()
    return write_sweep(tmp_path / "asks", SPACE, search="Optuna(3)", baseline=12.0)


def changed(run: Path, folder: Path, **fields: Any) -> Path:  # noqa: ANN401 - plain JSON values
    """Return a copy of a run with other values in its ``sweep.json``."""
    copy = shutil.copytree(run, folder / "changed")
    record = json.loads((copy / "sweep.json").read_text())
    (copy / "sweep.json").write_text(json.dumps(record | fields))
    return copy


def configs_asked(run: Path) -> list[Mapping[str, Any]]:
    """Return the configs asked for, in order."""
    events = lines_of(run / "journal.jsonl")
    return [event["trial"]["config"] for event in events if event["event"] == "asked"]


def test_a_search_gets_earlier_results_and_the_rows_are_new(
    file: Path, finished_run: FinishedRun, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    run_main(file, "--out", out, *COMMON, "--warm-start", finished_run.out)

    note = f"the search begins with 2 results of 2 configs from {finished_run.out}"
    notes = [e["text"] for e in lines_of(out / "journal.jsonl") if e["event"] == "note"]
    assert notes[0] == f"{note}. They are in no table and no claim of this run"
    # The two that failed teach nothing, and what confirms never selects.
    kept = json.loads((out / "sweep.json").read_text())
    assert kept["warm_start"] == [str(finished_run.out)]
    assert sorted(each["config"]["step_ms"] for each in kept["earlier"]) == [4.0, 12.0]
    assert [len(each["results"]) for each in kept["earlier"]] == [1, 1]
    own = {event["trial_id"] for event in lines_of(out / "journal.jsonl") if "trial_id" in event}
    assert set(trials_of(out)["trial_id"]) == own
    assert len(own) == 3


def test_a_resumed_run_gets_the_same_without_the_earlier_run(
    file: Path, copied_run: FinishedRun, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    run_main(file, "--out", out, *COMMON, "--trials", "6", "--warm-start", copied_run.out)
    asked = configs_asked(out)
    shutil.rmtree(copied_run.out)
    journal = (out / "journal.jsonl").read_text().splitlines(keepends=True)
    ends = [number for number, line in enumerate(journal) if '"event":"finished"' in line]
    (out / "journal.jsonl").write_text("".join(journal[: ends[3] + 1]))
    (out / "trials.csv").unlink()

    run_main("--resume", out, *COMMON)

    assert configs_asked(out)[:4] == asked[:4]
    assert set(finished_counts(out).values()) == {1}
    assert json.loads((out / "sweep.json").read_text())["warm_start"] == [str(copied_run.out)]


def test_a_search_that_does_not_go_by_results_is_refused(
    file: Path, finished_run: FinishedRun
) -> None:
    done = run_main(file, "--search", "random", *COMMON, "--warm-start", finished_run.out, code=2)
    assert "asks for the same whatever was measured before" in done.stderr
    assert not Path("runs").exists()


OTHER = {
    "trainable": ({"trainable": "lenet"}, "its trainable was 'lenet', here it is 'workload'"),
    "budget": ({"budget": {"epochs": 9, "steps": None, "half_width": None}}, "its budget was"),
    "cores": ({"cores_per_trial": 64}, "its cores per trial was 64, here it is 1"),
    "hardware": ({"hardware": {"cpu_model": "Z80", "gpus": []}}, "its cpu_model was 'Z80', here"),
    "data": ({"data_fingerprint": "1234"}, "its data is not this run's, by its content"),
}  # fmt: skip


@pytest.mark.parametrize("what", OTHER)
def test_a_run_that_is_not_comparable_is_refused_before_anything_starts(
    file: Path, finished_run: FinishedRun, tmp_path: Path, what: str
) -> None:
    fields, text = OTHER[what]
    run, out = changed(finished_run.out, tmp_path, **fields), tmp_path / "out"
    done = run_main(file, "--out", out, *COMMON, "--warm-start", run, code=2)

    assert f"error: --warm-start {run}: {text}" in done.stderr
    assert "Traceback" not in done.stderr
    assert not out.exists()


def test_all_that_is_wrong_is_reported_at_once(finished_run: FinishedRun, tmp_path: Path) -> None:
    elsewhere = write_sweep(tmp_path, "step_ms=choice(7.0, 8.0)", search="Optuna(2)")
    done = run_main(
        elsewhere, "--plan", "--warm-start", finished_run.out, tmp_path / "nothing", code=2
    )

    assert "none of its configs lies in the sweep's space" in done.stderr
    assert f"{tmp_path / 'nothing'}: is not a run directory (no such folder)" in done.stderr


@pytest.mark.parametrize(
    ("objective", "field", "text"),
    [
        ("time_to_accuracy_s", "target=0.6", "its target was None, here it is"),
        ("cost", "prices={'cpu_hour': 0.04}", "its prices was {}, here it is"),
        ("headroom", "seed=0", "no trial of it has headroom and val_acc"),
    ],
)
def test_a_figure_counted_by_something_else_is_no_objective_to_compare(
    file: Path, finished_run: FinishedRun, objective: str, field: str, text: str
) -> None:
    asked = f'    objectives=[minimize("{objective}"), maximize("val_acc")],\n    {field},'
    content = file.read_text().replace("    cores_per_trial=1,", f"    cores_per_trial=1,\n{asked}")
    file.write_text(content.replace("choice, maximize", "choice, maximize, minimize"))
    done = run_main(file, "--plan", "--warm-start", finished_run.out, code=2)

    assert text in done.stderr


# -- as it is kept

FAST = EarlierConfig(
    config={"batch": 100, "fanouts": (15, 10)},
    results=[completed(samples_per_s=1 / 3), completed(samples_per_s=math.inf)],
)
TOO_LARGE = EarlierConfig(
    config={"batch": 1000}, results=[TrialResult(state=TrialState.INFEASIBLE)]
)


def test_the_record_keeps_what_the_search_gets(tmp_path: Path) -> None:
    start = WarmStart(runs=("/runs/a", "/runs/b"), configs=(FAST, TOO_LARGE), fingerprints=("", ""))
    replace(make_record(), warm_start=start.runs, earlier=start.configs).write(tmp_path)
    kept = read_sweep(tmp_path)

    assert kept.warm_start == start.runs
    assert [each.config for each in kept.earlier] == [FAST.config, TOO_LARGE.config]
    assert [[r.state for r in each.results] for each in kept.earlier] == [
        [TrialState.COMPLETED, TrialState.COMPLETED], [TrialState.INFEASIBLE]
    ]  # fmt: skip
    assert [dict(r.metrics) for r in kept.earlier[0].results] == [
        {"samples_per_s": 1 / 3}, {"samples_per_s": math.inf}
    ]  # fmt: skip


def test_what_the_sweep_s_constraints_exclude_is_left_out() -> None:
    start = WarmStart(runs=("a",), configs=(FAST, TOO_LARGE), fingerprints=("",))

    into = start.into(problem(constraints=small_batches_only())).earlier
    assert [each.config["batch"] for each in into] == [100]
    assert len(start.into(problem()).earlier) == 2
