"""The contract of every executor: a row for each trial, whatever the trial does.

Each test looks at one sweep of many trials of ``workload.py``.
"""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from orchestrator import Isolation
from orchestrator.kernel.executor import Executor
from orchestrator.trial import TrialState
from tests.conftest import ROOT
from tests.leaks import guarding
from tests.orchestrator.execution.conftest import Recorder, make_launch

TRIALS: dict[str, dict[str, Any]] = {
    "plain-0": {"step_ms": 2, "isolation": Isolation.LEASED},
    "plain-1": {"step_ms": 2, "isolation": Isolation.LEASED},
    "plain-2": {"step_ms": 2, "isolation": Isolation.LEASED},
    "raise": {"act": "raise"},
    "segfault": {"act": "segfault"},
    "exit": {"act": "exit"},
    "no_memory": {"act": "no_memory"},
    "diverge": {"act": "diverge"},
    "print": {"act": "print"},
    "sleep": {"act": "sleep", "time_limit_s": 0.5},
    "busy": {"epochs": 3000, "time_limit_s": 0.5},
    "die_once": {"act": "die_once", "epochs": 4, "retries": 1},
    "forget": {"act": "forget", "epochs": 4, "retries": 1},
    "twice": {"act": "raise", "retries": 1},
    "talkative": {"epochs": 300, "step_ms": 0},
    "tuned": {"act": "describe", "isolation": Isolation.LEASED},
    "default": {"act": "describe", "allocator": "default"},
    "again": {"act": "describe", "epochs": 3},
    "set": {"act": "set", "allocator": "default"},
    "last": {},
    "in turn-0": {"epochs": 10},
    "in turn-1": {"epochs": 10},
}
"""Shared, unless they set it otherwise: a contaminated trial would be run again."""


@pytest.fixture(scope="module")
def sweep(executor: Executor, tmp_path_factory: pytest.TempPathFactory) -> Recorder:
    """The calls that the control loop receives from a sweep of all these."""
    folder = tmp_path_factory.mktemp("contract")
    _leave_checkpoint(folder / "scratch/checkpoints/again")
    shared = {"isolation": Isolation.SHARED}
    launches = {n: make_launch(folder, n, **shared | values) for n, values in TRIALS.items()}
    first, second = (
        replace(each, trial=replace(each.trial, interleaved=True), in_slices=True)
        for each in (launches["in turn-0"], launches.pop("in turn-1"))
    )
    launches["in turn-0"] = replace(first, others=(second,))
    conductor = Recorder(list(launches.values()))
    with guarding(ROOT, fail=pytest.fail):
        executor.run(conductor)
    return conductor


def _leave_checkpoint(folder: Path) -> None:
    """Write the files of another run of a trial after two epochs."""
    folder.mkdir(parents=True)
    progress = {"epochs": 2, "steps": 40, "samples": 320}
    torch.save({"progress": progress, "state": {"total": torch.ones(1)}}, folder / "checkpoint.pt")


def test_every_trial_is_started_in_order_and_has_one_row(sweep: Recorder) -> None:
    in_order = list(dict.fromkeys(sweep.was_started))
    # Two that run at the same time may report their starts in either order.
    moved = [abs(in_order.index(name) - place) for place, name in enumerate(TRIALS)]
    assert max(moved) <= 1, in_order
    assert len(in_order) == len(TRIALS)
    assert set(sweep.results) == set(TRIALS), "finished() refuses a second row"


@pytest.mark.parametrize("name", ["in turn-0", "in turn-1"])
def test_trials_that_take_turns_have_a_row_each(sweep: Recorder, name: str) -> None:
    """Their slices: ``test_interleaving.py``."""
    result = sweep.results[name]
    assert (result.state, result.tags["interleaved"]) == (TrialState.COMPLETED, "true")
    assert result.metrics["total"] == 10 * 20
    assert len(sweep.reports[name]) == 10


@pytest.mark.parametrize("name", ["plain-0", "plain-1", "plain-2"])
def test_a_trial_is_measured(sweep: Recorder, name: str) -> None:
    result = sweep.results[name]
    assert result.state is TrialState.COMPLETED
    assert result.reason == ""
    assert result.metrics["epochs"] == 2
    assert result.metrics["steps"] == 40
    assert result.metrics["total"] == 40
    assert 8 / 0.004 < result.metrics["samples_per_s"] <= 8 / 0.002
    assert (result.device, result.cores, result.isolation) == ("cpu", 1, "leased")
    assert len(sweep.reports[name]) == 2


@pytest.mark.parametrize(
    ("act", "state", "reason"),
    [
        ("raise", TrialState.FAILED, "ValueError: told to"),
        ("segfault", TrialState.FAILED, "killed by signal 11"),
        ("exit", TrialState.FAILED, "exited with code 3"),
        ("no_memory", TrialState.INFEASIBLE, "MemoryError: cannot hold 7 GiB"),
        ("diverge", TrialState.INFEASIBLE, "FloatingPointError: loss is nan at epoch 0"),
        ("raise", TrialState.FAILED, "about to raise"),
        ("print", TrialState.COMPLETED, ""),
        ("last", TrialState.COMPLETED, ""),
        ("sleep", TrialState.INFEASIBLE, "time limit of 0.5 s"),
        ("busy", TrialState.INFEASIBLE, "time limit of 0.5 s"),
    ],
)
def test_whatever_a_trial_does_becomes_its_row(
    sweep: Recorder, act: str, state: TrialState, reason: str
) -> None:
    assert sweep.results[act].state is state
    assert reason in sweep.results[act].reason


def test_what_a_trial_has_printed_comes_with_its_row(sweep: Recorder) -> None:
    printed = sweep.results["print"].output
    assert printed.count("\x00 not a message {\n") == 1000 * 2, "each epoch prints so much"
    assert printed.count("nor is this\n") == 2
    assert sweep.results["raise"].output.startswith("about to raise\n")
    assert sweep.results["die_once"].output == ""


@pytest.mark.parametrize("name", ["sleep", "busy"])
def test_a_trial_past_its_time_limit_is_ended_soon(sweep: Recorder, name: str) -> None:
    wall_s = sweep.results[name].wall_s
    assert 0.5 <= wall_s < 20


def test_every_report_of_a_trial_that_reports_often_is_passed_on_in_order(sweep: Recorder) -> None:
    reports = sweep.reports["talkative"]
    assert [report.epoch for report in reports] == list(range(1, 301))
    assert sweep.results["talkative"].metrics["total"] == 300 * 20


def test_a_killed_process_resumes_from_its_checkpoint(sweep: Recorder) -> None:
    result = sweep.results["die_once"]
    assert result.state is TrialState.COMPLETED
    assert result.tags["attempts"] == "2"
    assert result.metrics["epochs"] == 4
    assert result.metrics["total"] == 4 * 20, "no step was trained twice"
    assert [report.epoch for report in sweep.reports["die_once"]] == [1, 3, 4]


def test_a_paused_trial_is_resumed(executor: Executor, tmp_path: Path) -> None:
    whole = make_launch(tmp_path, "whole", epochs=4, step_ms=5, isolation=Isolation.SHARED)
    budget = replace(whole.trial.budget, pause_after=2)
    first = replace(whole, trial=replace(whole.trial, id="first", budget=budget, curve="curve"))
    later = replace(whole, trial=replace(whole.trial, id="later", curve="curve"))
    conductors = []
    for launch in (first, later):
        conductors.append(Recorder([launch]))
        executor.run(conductors[-1])
    paused, completed = conductors[0].results["first"], conductors[1].results["later"]
    assert (paused.state, paused.reason) == (TrialState.STOPPED, "paused after 2 of 4 epochs")
    assert (paused.metrics["epochs"], paused.metrics["total"]) == (2, 40)
    assert (completed.state, completed.metrics["total"]) == (TrialState.COMPLETED, 80)
    assert (completed.metrics["epochs"], completed.metrics["earlier_epochs"]) == (4, 2)
    reports = [*conductors[0].reports["first"], *conductors[1].reports["later"]]
    assert [(report.epoch, report.step) for report in reports] == [
        (1, 20), (2, 40), (3, 60), (4, 80),
    ]  # fmt: skip
    # One training: its clocks continue, without the time between the two. The row's clock does not.
    trained_s = [report.metrics["train_s"] for report in reports]
    assert trained_s == sorted(trained_s)
    assert trained_s[-1] >= 4 * 20 * 0.005
    elapsed_s = [report.elapsed_s for report in reports]
    assert elapsed_s == sorted(elapsed_s)
    assert not list(first.curves.iterdir()), "no checkpoint is left of a curve that is complete"


def test_reports_of_a_process_that_was_killed_without_a_checkpoint_are_void(
    sweep: Recorder,
) -> None:
    result = sweep.results["forget"]
    assert result.metrics["total"] == 4 * 20
    assert [report.epoch for report in sweep.reports["forget"]] == [1, 2, 3, 4]
    assert sweep.was_started.count("forget") == int(result.tags["attempts"]) == 2


def test_a_failure_that_repeats_is_tried_no_more_than_asked(sweep: Recorder) -> None:
    assert sweep.results["twice"].state is TrialState.FAILED
    assert sweep.results["twice"].tags["attempts"] == "2"
    notes = [note for note in sweep.notes if "trial twice" in note]
    assert notes == ["trial twice is tried again, since it failed: ValueError: told to"]


def test_a_trials_process_is_set_up(sweep: Recorder) -> None:
    found = sweep.results["tuned"].metrics
    assert found["affinity"] == 1, "bound to the core it has leased"
    assert found["oom_score"] == 1000, "killed before driver and Ray"
    assert found["sees_gpus"] == 0, "no GPU that it has not asked for"
    assert found["collected"] < 50_000, "no garbage collection of torch's modules"
    assert found["niceness"] == os.getpriority(os.PRIO_PROCESS, 0), "yields to nothing"


def test_each_trial_has_the_allocator_it_asked_for(sweep: Recorder) -> None:
    tuned = {name: sweep.results[name].metrics["tuned"] for name in ("tuned", "default", "again")}
    assert tuned == {"tuned": 1, "default": 0, "again": 1}


def test_a_trial_never_resumes_from_the_files_of_another_run(sweep: Recorder) -> None:
    assert sweep.results["again"].metrics["total"] == 3 * 20
    assert len(sweep.reports["again"]) == 3


def test_a_row_names_what_its_process_was_set_to(sweep: Recorder) -> None:
    plain, exact = (sweep.results[name].tags for name in ("last", "set"))
    assert (plain["allocator"], plain["deterministic"]) == ("tuned", "off")
    settings = (exact["allocator"], exact["deterministic"], exact["threads"])
    assert settings == ("default", "algorithms, cudnn benchmark", "3")
