"""Earlier runs that a search is told of first, and those that it cannot be told of."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.orchestrator.conftest import FinishedRun
from tests.orchestrator.driver.speed_sweeps import finished_counts, trials_of, write_sweep
from tests.orchestrator.helpers.in_process import run_main
from tests.orchestrator.helpers.journalled import lines_of

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


def test_a_search_is_told_first_and_the_run_s_rows_are_its_own(
    file: Path, finished_run: FinishedRun, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    done = run_main(file, "--out", out, *COMMON, "--warm-start", finished_run.out)

    assert done.returncode == 0, done.stderr
    told = f"the search begins with 2 results of 2 configs from {finished_run.out}"
    notes = [e["text"] for e in lines_of(out / "journal.jsonl") if e["event"] == "note"]
    assert notes[0] == f"{told}. They are in no table and no claim of this run"
    # The two that failed teach nothing, and what confirms never selects.
    kept = json.loads((out / "warm_start.json").read_text())
    assert kept["runs"] == [str(finished_run.out)]
    assert sorted(each["config"]["step_ms"] for each in kept["configs"]) == [4.0, 12.0]
    assert [len(each["results"]) for each in kept["configs"]] == [1, 1]
    assert json.loads((out / "sweep.json").read_text())["warm_start"] == [str(finished_run.out)]
    own = {event["trial_id"] for event in lines_of(out / "journal.jsonl") if "trial_id" in event}
    assert set(trials_of(out)["trial_id"]) == own
    assert len(own) == 3


def test_a_resumed_run_is_told_the_same_though_the_earlier_one_is_gone(
    file: Path, copied_run: FinishedRun, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    done = run_main(file, "--out", out, *COMMON, "--trials", "6", "--warm-start", copied_run.out)
    assert done.returncode == 0, done.stderr
    asked = configs_asked(out)
    shutil.rmtree(copied_run.out)
    journal = (out / "journal.jsonl").read_text().splitlines(keepends=True)
    ends = [number for number, line in enumerate(journal) if '"event":"finished"' in line]
    (out / "journal.jsonl").write_text("".join(journal[: ends[3] + 1]))

    resumed = run_main("--resume", out, *COMMON)

    assert resumed.returncode == 0, resumed.stderr
    assert configs_asked(out)[:4] == asked[:4]
    assert set(finished_counts(out).values()) == {1}
    assert json.loads((out / "sweep.json").read_text())["warm_start"] == [str(copied_run.out)]

    (out / "warm_start.json").unlink()
    refused = run_main("--resume", out, *COMMON)
    assert refused.returncode == 2
    assert "warm_start.json: what the search was told of first cannot be read" in refused.stderr


def test_another_source_or_library_is_noted_and_told_all_the_same(
    file: Path, finished_run: FinishedRun, tmp_path: Path
) -> None:
    record = json.loads((finished_run.out / "sweep.json").read_text())
    versions = record["versions"] | {"torch": "1.0.0"}
    run = changed(finished_run.out, tmp_path, source_hash="0" * 16, versions=versions)
    done = run_main(file, "--plan", "--warm-start", run)

    assert done.returncode == 0, done.stderr
    now = record["versions"]["torch"]
    changes = f"the trainable's source has changed; torch 1.0.0 then, {now} now"
    assert f"--warm-start {run}: {changes}: its figures may differ" in done.stdout


def test_of_configs_outside_of_the_space_it_is_said_how_many(
    finished_run: FinishedRun, tmp_path: Path
) -> None:
    narrow = write_sweep(tmp_path, "step_ms=choice(12.0, 2.0)", search="Optuna(2)", baseline=12.0)
    done = run_main(narrow, "--plan", "--warm-start", finished_run.out)

    assert "1 results of 1 configs" in done.stdout
    assert "; 1 more lie outside of the space." in done.stdout


def test_a_search_that_does_not_go_by_results_is_refused(
    file: Path, finished_run: FinishedRun
) -> None:
    done = run_main(file, "--search", "random", *COMMON, "--warm-start", finished_run.out)
    assert done.returncode == 2
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
    done = run_main(file, "--out", out, *COMMON, "--warm-start", run)

    assert done.returncode == 2
    assert f"error: --warm-start {run}: {text}" in done.stderr
    assert "Traceback" not in done.stderr
    assert not out.exists()


def test_all_that_is_wrong_is_said_at_once(finished_run: FinishedRun, tmp_path: Path) -> None:
    elsewhere = write_sweep(tmp_path, "step_ms=choice(7.0, 8.0)", search="Optuna(2)")
    done = run_main(elsewhere, "--plan", "--warm-start", finished_run.out, tmp_path / "nothing")

    assert done.returncode == 2
    assert "none of its configs lies in the sweep's space" in done.stderr
    assert f"{tmp_path / 'nothing'}: is not a run directory (no such folder)" in done.stderr


def test_a_run_without_the_objectives_figures_is_refused(
    file: Path, finished_run: FinishedRun
) -> None:
    with_power = file.read_text().replace(
        "    cores_per_trial=1,",
        '    cores_per_trial=1,\n    objectives=[maximize("samples_per_s"), maximize("headroom")],',
    )
    file.write_text(with_power)
    done = run_main(file, "--plan", "--warm-start", finished_run.out)

    assert done.returncode == 2
    assert "no trial of it has samples_per_s and headroom" in done.stderr


@pytest.mark.parametrize(
    ("objective", "field", "text"),
    [
        ("time_to_accuracy_s", "target=0.6", "its target was None, here it is"),
        ("cost", "prices={'cpu_hour': 0.04}", "its prices was {}, here it is"),
    ],
)
def test_a_figure_counted_by_something_else_is_no_objective_to_compare(
    file: Path, finished_run: FinishedRun, objective: str, field: str, text: str
) -> None:
    asked = f'    objectives=[minimize("{objective}"), maximize("val_acc")],\n    {field},'
    content = file.read_text().replace("    cores_per_trial=1,", f"    cores_per_trial=1,\n{asked}")
    file.write_text(content.replace("choice, maximize", "choice, maximize, minimize"))
    done = run_main(file, "--plan", "--warm-start", finished_run.out)

    assert done.returncode == 2
    assert text in done.stderr
