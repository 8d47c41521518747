"""What every executor owes the control loop, whatever a trial does."""

from __future__ import annotations

import os
import time

import psutil
import pytest
import torch

from orchestrator import Isolation
from orchestrator.execution.base import Executor
from orchestrator.execution.placement import local_machine
from orchestrator.execution.ray.actors import cpus_of_ranks
from orchestrator.trial import Report, Trial, TrialState
from tests.orchestrator.execution.conftest import LaunchOf, Recorder


def test_runs_every_trial_and_measures_it(executor: Executor, launch_of: LaunchOf) -> None:
    conductor = Recorder([launch_of(f"trial-{i}", step_ms=2) for i in range(3)])

    executor.run(conductor)

    assert conductor.was_started == ["trial-0", "trial-1", "trial-2"]
    for result in conductor.results.values():
        assert result.state is TrialState.COMPLETED
        assert result.reason == ""
        assert result.metrics["epochs"] == 2
        assert result.metrics["steps"] == 40
        assert result.metrics["total"] == 40
        assert 8 / 0.004 < result.metrics["samples_per_s"] <= 8 / 0.002
        assert result.device == "cpu"
        assert result.cores == 1
        assert result.isolation == "leased"
    assert [len(reports) for reports in conductor.reports.values()] == [2, 2, 2]


@pytest.mark.parametrize(
    ("act", "state", "reason"),
    [
        ("raise", TrialState.FAILED, "ValueError: told to"),
        ("segfault", TrialState.FAILED, "killed by signal 11"),
        ("exit", TrialState.FAILED, "exited with code 3"),
        ("no_memory", TrialState.INFEASIBLE, "MemoryError: cannot hold 7 GiB"),
        ("diverge", TrialState.INFEASIBLE, "FloatingPointError: loss is nan at epoch 0"),
        ("print", TrialState.COMPLETED, ""),
    ],
)
def test_whatever_a_trial_does_becomes_its_row_and_the_next_one_runs(
    executor: Executor, launch_of: LaunchOf, act: str, state: TrialState, reason: str
) -> None:
    conductor = Recorder([launch_of("bad", act=act), launch_of("good")])

    executor.run(conductor)

    assert conductor.results["bad"].state is state
    assert reason in conductor.results["bad"].reason
    assert conductor.results["good"].state is TrialState.COMPLETED
    if act == "raise":
        assert "about to raise" in conductor.results["bad"].reason, "the end of its output"


def test_a_trial_past_its_time_limit_is_infeasible(executor: Executor, launch_of: LaunchOf) -> None:
    conductor = Recorder([launch_of("stuck", act="sleep", time_limit_s=1.0)])
    began = time.monotonic()

    executor.run(conductor)

    assert conductor.results["stuck"].state is TrialState.INFEASIBLE
    assert "time limit of 1 s" in conductor.results["stuck"].reason
    assert time.monotonic() - began < 20


def test_a_time_limit_holds_for_a_trial_that_never_falls_silent(
    executor: Executor, launch_of: LaunchOf
) -> None:
    conductor = Recorder([launch_of("busy", act="train", epochs=3000, time_limit_s=1.0)])

    executor.run(conductor)

    assert conductor.results["busy"].state is TrialState.INFEASIBLE
    assert "time limit of 1 s" in conductor.results["busy"].reason


def test_a_stopped_trial_keeps_its_figures_and_leaves_no_process(
    executor: Executor, launch_of: LaunchOf
) -> None:
    def stop(trial: object, report: object) -> bool:
        return report.epoch == 2  # type: ignore[attr-defined, no-any-return]

    launch = launch_of("stopped", act="spawn", epochs=50, step_ms=10)
    conductor = Recorder([launch], stop_when=stop)

    executor.run(conductor)

    result, last = conductor.results["stopped"], conductor.reports["stopped"][-1]
    assert result.state is TrialState.STOPPED
    assert 2 <= last.epoch < 10, "those that came with the one that it is stopped after"
    assert result.metrics["epochs"] == last.epoch
    assert result.metrics["val_acc"] == last.metrics["val_acc"]
    assert result.metrics["samples_per_s"] > 0
    _wait_until_gone("import time; time.sleep(600)")


def test_a_trial_never_waits_for_those_who_hear_it(executor: Executor, launch_of: LaunchOf) -> None:
    class Slow(Recorder):
        def reported(self, trial: Trial, report: Report) -> bool:
            time.sleep(0.3)
            return super().reported(trial, report)

    conductor = Slow([launch_of("brisk", epochs=10)])

    executor.run(conductor)

    reports = conductor.reports["brisk"]
    assert [report.epoch for report in reports] == list(range(1, 11))
    assert reports[-1].elapsed_s < 5 * 0.3, "it did not wait for its hearer to have thought"
    assert conductor.results["brisk"].metrics["epochs"] == 10


def test_every_report_of_a_trial_that_reports_often_is_heard_in_its_order(
    executor: Executor, launch_of: LaunchOf
) -> None:
    launch = launch_of("talkative", epochs=300, step_ms=0.1, isolation=Isolation.SHARED)
    conductor = Recorder([launch])

    executor.run(conductor)

    reports = conductor.reports["talkative"]
    assert [report.epoch for report in reports] == list(range(1, 301))
    assert conductor.results["talkative"].metrics["total"] == 300 * 20


def test_a_killed_process_goes_on_from_its_checkpoint(
    executor: Executor, launch_of: LaunchOf
) -> None:
    conductor = Recorder([launch_of("revived", act="die_once", epochs=4, retries=1)])

    executor.run(conductor)

    result = conductor.results["revived"]
    assert result.state is TrialState.COMPLETED
    assert result.tags["attempts"] == "2"
    assert result.metrics["epochs"] == 4
    assert result.metrics["total"] == 4 * 20, "no step was trained twice"
    assert [report.epoch for report in conductor.reports["revived"]] == [1, 3, 4]


def test_reports_of_a_process_that_was_killed_without_a_checkpoint_are_void(
    executor: Executor, launch_of: LaunchOf
) -> None:
    conductor = Recorder([launch_of("forgetful", act="forget", epochs=4, retries=1)])

    executor.run(conductor)

    result = conductor.results["forgetful"]
    assert result.metrics["total"] == 4 * 20
    assert [report.epoch for report in conductor.reports["forgetful"]] == [1, 2, 3, 4]
    assert conductor.was_started == ["forgetful"] * int(result.tags["attempts"])
    assert len(conductor.was_started) >= 2, "more only where something else used its cores"


def test_a_failure_that_repeats_is_tried_no_more_than_asked(
    executor: Executor, launch_of: LaunchOf
) -> None:
    conductor = Recorder([launch_of("twice", act="raise", retries=1)])

    executor.run(conductor)

    assert conductor.results["twice"].state is TrialState.FAILED
    assert conductor.results["twice"].tags["attempts"] == "2"
    assert conductor.notes == ["trial twice is tried again, since it failed: ValueError: told to"]


def test_each_trial_has_a_process_its_cores_and_its_allocator(
    executor: Executor, launch_of: LaunchOf
) -> None:
    launches = [
        launch_of("tuned", act="describe"),
        launch_of("default", act="describe", allocator="default"),
        launch_of("again", act="describe"),
    ]
    conductor = Recorder(launches)

    executor.run(conductor)

    tuned, default, again = (conductor.results[launch.trial.id].metrics for launch in launches)
    assert len({tuned["pid"], default["pid"], again["pid"]}) == 3
    assert (tuned["tuned"], default["tuned"], again["tuned"]) == (1, 0, 1)
    assert tuned["affinity"] == 1, "bound to the core that it has leased"
    assert tuned["oom_score"] == 1000, "the kernel takes it before the driver and Ray"
    assert tuned["sees_gpus"] == 0
    assert tuned["collected"] < 50_000, "it does not collect garbage among torch's modules"


def test_a_trial_starts_when_the_one_before_has_left_its_cores(
    executor: Executor, launch_of: LaunchOf
) -> None:
    class Watch(Recorder):
        def started(self, trial: Trial, *, node: str, cores: int, restored_epochs: int = 0) -> None:
            super().started(trial, node=node, cores=cores, restored_epochs=restored_epochs)
            pids = {id: int(reports[-1].metrics["pid"]) for id, reports in reported(self)}
            still_there.extend(id for id, pid in pids.items() if psutil.pid_exists(pid))

    def reported(watch: Recorder) -> list[tuple[str, list[Report]]]:
        return [(id, reports) for id, reports in watch.reports.items() if reports]

    still_there: list[str] = []
    all_cores = local_machine().cpus
    knobs = {"act": "describe", "step_ms": 0.1, "holds_mib": 2048}  # a quarter of a second to free
    names = ["one", "two", "three"]
    watch = Watch([launch_of(name, num_cores=all_cores, epochs=1, **knobs) for name in names])

    executor.run(watch)

    assert [len(reports) for reports in watch.reports.values()] == [1, 1, 1]
    assert still_there == []


def test_more_workers_than_cores_is_said(executor: Executor, launch_of: LaunchOf) -> None:
    conductor = Recorder([launch_of("many", num_workers=8), launch_of("none", num_workers=0)])

    executor.run(conductor)

    assert conductor.results["many"].tags["oversubscribed"] == "true"
    assert conductor.results["none"].tags["oversubscribed"] == "false"


def test_ranks_train_together(executor: Executor, launch_of: LaunchOf) -> None:
    conductor = Recorder([launch_of("pair", act="ranks", ranks=2, num_cores=2)])

    executor.run(conductor)

    result = conductor.results["pair"]
    assert result.state is TrialState.COMPLETED, result.reason
    assert result.metrics["total"] == 1 + 2
    # A trial that other processes disturbed is run again, and reports again.
    attempts = int(result.tags.get("attempts", "1"))
    assert len(conductor.reports["pair"]) == 2 * attempts, "rank 0 alone reports"


def test_a_rank_that_dies_ends_the_trial(executor: Executor, launch_of: LaunchOf) -> None:
    conductor = Recorder(
        [launch_of("pair", act="rank_dies", ranks=2, num_cores=2), launch_of("next")]
    )

    executor.run(conductor)

    assert conductor.results["pair"].state is TrialState.FAILED
    assert conductor.results["next"].state is TrialState.COMPLETED


@pytest.mark.slow
def test_ranks_are_tried_again(executor: Executor, launch_of: LaunchOf) -> None:
    again = launch_of(
        "again", act="rank_dies_once", ranks=2, num_cores=2, retries=1, isolation=Isolation.SHARED
    )  # shared: never contaminated, and so not run a third time
    conductor = Recorder([again, launch_of("next")])

    executor.run(conductor)

    result = conductor.results["again"]
    assert result.state is TrialState.COMPLETED, result.reason
    assert result.tags["attempts"] == "2"
    assert conductor.results["next"].state is TrialState.COMPLETED


def test_there_may_be_more_ranks_than_cores(executor: Executor, launch_of: LaunchOf) -> None:
    conductor = Recorder([launch_of("four", act="ranks", ranks=4, num_cores=2)])
    began = time.monotonic()

    def give_up() -> None:
        conductor.interrupted = not conductor.was_started and time.monotonic() - began > 30

    conductor.on_tick = give_up
    executor.run(conductor)

    assert "four" in conductor.was_started, "it waits for cores that there never are"
    result = conductor.results["four"]
    assert result.state is TrialState.COMPLETED, result.reason
    assert result.metrics["total"] == 1 + 2 + 3 + 4
    assert result.cores == 2


@pytest.mark.parametrize(
    ("num_cores", "ranks", "expected"),
    [
        (4, 1, [4]),
        (4, 2, [2, 2]),
        (3, 2, [2, 1]),
        (2, 4, [0.5] * 4),
        (1, 3, [0.3334, 0.3333, 0.3333]),
    ],
)
def test_ranks_share_the_cores_of_their_trial(
    num_cores: int, ranks: int, expected: list[float]
) -> None:
    assert cpus_of_ranks(num_cores, ranks) == expected
    assert sum(expected) == pytest.approx(num_cores)


@pytest.mark.slow
def test_a_rank_may_end_before_rank_0(executor: Executor, launch_of: LaunchOf) -> None:
    conductor = Recorder([launch_of("pair", act="rank_ends_first", ranks=2, num_cores=2)])

    executor.run(conductor)

    result = conductor.results["pair"]
    assert result.state is TrialState.COMPLETED, result.reason


def test_memory_that_one_rank_lacks_makes_the_trial_infeasible(
    executor: Executor, launch_of: LaunchOf
) -> None:
    conductor = Recorder(
        [launch_of("pair", act="rank_without_memory", ranks=2, num_cores=2, retries=1)]
    )

    executor.run(conductor)

    result = conductor.results["pair"]
    assert result.state is TrialState.INFEASIBLE
    assert result.tags["attempts"] == "1"
    assert result.reason.startswith("rank 1: out of memory at step 6, 3 GiB asked for")


@pytest.mark.slow
def test_stopping_ranks_leaves_nothing(executor: Executor, launch_of: LaunchOf) -> None:
    launches = [
        launch_of(f"pair-{i}", act="ranks", ranks=2, num_cores=2, epochs=1000) for i in range(3)
    ]
    conductor = Recorder(launches, stop_when=lambda _trial, report: report.epoch == 2)

    executor.run(conductor)

    pids = {
        int(reports[0].metrics[f"pid_{rank}"])
        for reports in conductor.reports.values()
        for rank in range(2)
    }
    assert {result.state for result in conductor.results.values()} == {TrialState.STOPPED}
    assert len(pids) == 3 * 2
    deadline = time.monotonic() + 3
    while any(map(psutil.pid_exists, pids)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert [pid for pid in pids if psutil.pid_exists(pid)] == []


def test_interrupting_ends_what_runs(executor: Executor, launch_of: LaunchOf) -> None:
    conductor = Recorder([launch_of("running", act="spawn", epochs=10_000), launch_of("waiting")])

    def interrupt() -> None:
        conductor.interrupted = bool(conductor.reports)

    conductor.on_tick = interrupt
    began = time.monotonic()

    executor.run(conductor)

    assert conductor.results == {}, "an abandoned trial has no row: it runs again on resume"
    assert "waiting" not in conductor.was_started
    assert time.monotonic() - began < 20
    _wait_until_gone("import time; time.sleep(600)")


def _wait_until_gone(command: str) -> None:
    deadline = time.monotonic() + 3
    while time.monotonic() < deadline:
        if not any(
            command in " ".join(p.info["cmdline"] or ()) for p in psutil.process_iter(["cmdline"])
        ):
            return
        time.sleep(0.05)
    pytest.fail(f"{command!r} is still running")


def test_a_trial_yields_to_nothing(executor: Executor, launch_of: LaunchOf) -> None:
    conductor = Recorder([launch_of("plain", act="describe")])

    executor.run(conductor)

    assert conductor.results["plain"].metrics["niceness"] == os.getpriority(os.PRIO_PROCESS, 0)


def test_a_trial_never_goes_on_from_what_another_run_of_it_left(
    executor: Executor, launch_of: LaunchOf
) -> None:
    launch = launch_of("again", epochs=3)
    folder = launch.scratch / "checkpoints" / "again"
    folder.mkdir(parents=True)
    progress = {"epochs": 2, "steps": 40, "samples": 320}
    torch.save({"progress": progress, "state": {"total": torch.ones(1)}}, folder / "checkpoint.pt")
    conductor = Recorder([launch])

    executor.run(conductor)

    assert conductor.results["again"].metrics["total"] == 3 * 20
    assert len(conductor.reports["again"]) == 3


def test_a_row_says_what_its_process_was_set_to(executor: Executor, launch_of: LaunchOf) -> None:
    conductor = Recorder([launch_of("plain"), launch_of("exact", act="set", allocator="default")])

    executor.run(conductor)

    plain, exact = (conductor.results[name].tags for name in ("plain", "exact"))
    assert (plain["allocator"], plain["deterministic"]) == ("tuned", "off")
    told = (exact["allocator"], exact["deterministic"], exact["threads"])
    assert told == ("default", "algorithms, cudnn benchmark", "3")
