"""What every executor owes the control loop at a trial's end: it obeys, and leaves no process."""

from __future__ import annotations

import time

import psutil
import pytest

from orchestrator.execution.base import Executor
from orchestrator.execution.placement import local_machine
from orchestrator.trial import Report, Trial, TrialState
from tests.orchestrator.execution.conftest import LaunchOf, Recorder

SPAWNED = "import time; time.sleep(600)"
"""Code of the process that a trial with ``act="spawn"`` starts."""


def test_a_stopped_trial_keeps_its_figures_and_leaves_no_process(
    executor: Executor, launch_of: LaunchOf
) -> None:
    launch = launch_of("stopped", act="spawn", epochs=50, step_ms=10)
    conductor = Recorder([launch], stop_when=lambda _trial, report: report.epoch == 2)

    executor.run(conductor)

    result, last = conductor.results["stopped"], conductor.reports["stopped"][-1]
    assert result.state is TrialState.STOPPED
    assert 2 <= last.epoch < 10, "those that came with the one that it is stopped after"
    assert result.metrics["epochs"] == last.epoch
    assert result.metrics["val_acc"] == last.metrics["val_acc"]
    assert result.metrics["samples_per_s"] > 0
    _await_end_of(SPAWNED)


def test_a_trial_never_waits_for_the_control_loop(executor: Executor, launch_of: LaunchOf) -> None:
    thinks_s = 0.3

    def think(_trial: Trial, _report: Report) -> bool:
        time.sleep(thinks_s)
        return False

    conductor = Recorder([launch_of("brisk", epochs=6)], stop_when=think)

    executor.run(conductor)

    reports = conductor.reports["brisk"]
    assert [report.epoch for report in reports] == list(range(1, 7))
    assert reports[-1].elapsed_s < 3 * thinks_s, "half of what the control loop has thought"
    assert conductor.results["brisk"].metrics["epochs"] == 6


class ExitWatcher(Recorder):
    """A conductor that looks, at each start, for processes of trials that have had a row."""

    def __init__(self, *args: object) -> None:
        super().__init__(*args)  # type: ignore[arg-type]
        self.still_there: list[str] = []

    def started(self, trial: Trial, *, node: str, cores: int, restored_epochs: int = 0) -> None:
        super().started(trial, node=node, cores=cores, restored_epochs=restored_epochs)
        for name, reports in self.reports.items():
            if reports and psutil.pid_exists(int(reports[-1].metrics["pid"])):
                self.still_there.append(name)


def test_a_trial_starts_when_the_one_before_has_left_its_cores(
    executor: Executor, launch_of: LaunchOf
) -> None:
    # A GiB takes the kernel a tenth of a second to free.
    knobs = {"act": "describe", "step_ms": 0.1, "holds_mib": 1024, "epochs": 1}
    all_cores = local_machine().cpus
    watcher = ExitWatcher(
        [launch_of(name, num_cores=all_cores, **knobs) for name in ("one", "two")]
    )

    executor.run(watcher)

    assert [len(reports) for reports in watcher.reports.values()] == [1, 1]
    assert watcher.still_there == []


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
    _await_end_of(SPAWNED)


def _await_end_of(command: str) -> None:
    deadline = time.monotonic() + 3
    while time.monotonic() < deadline:
        if not any(
            command in " ".join(p.info["cmdline"] or ()) for p in psutil.process_iter(["cmdline"])
        ):
            return
        time.sleep(0.05)
    pytest.fail(f"{command!r} is still running")
