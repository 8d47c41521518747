"""Every executor at a trial's start and end: it waits for cores, obeys, and leaves no process."""

import re
import time
from dataclasses import replace
from typing import Any

import psutil
import pytest

from orchestrator.execution import in_flight
from orchestrator.execution.leases import CoreLeases
from orchestrator.execution.placement import local_machine
from orchestrator.kernel.events import Started
from orchestrator.kernel.executor import Deadline, Executor
from orchestrator.trial import Isolation, Report, Trial, TrialState
from tests.conftest import ROOT
from tests.helping import awaited
from tests.leaks import guarding
from tests.orchestrator.execution.conftest import BOTH, LaunchOf, Recorder, make_launch

pytestmark = BOTH

SPAWNED = "import time; time.sleep(600)"
"""Code of the process that a trial with ``act="spawn"`` starts."""


THINKS_S = 0.3
TRIALS: dict[str, dict[str, Any]] = {
    "stopped": {"act": "spawn", "epochs": 50, "step_ms": 10},
    "brisk": {"epochs": 6},
    # A GiB takes the kernel a tenth of a second to free.
    "one": {"act": "describe", "step_ms": 0.1, "holds_mib": 1024, "epochs": 1},
    "two": {"act": "describe", "step_ms": 0.1, "holds_mib": 1024, "epochs": 1},
    "late": {},
}


class ExitWatcher(Recorder):
    """A conductor that looks, at each start, for processes of trials that have had a row."""

    def __init__(self, *args: Any, **options: Any) -> None:  # noqa: ANN401
        super().__init__(*args, **options)
        self.still_there: list[str] = []

    def started(self, start: Started) -> None:
        super().started(start)
        for name, reports in self.reports.items():
            pid = reports[-1].metrics.get("pid") if reports else None
            if pid is not None and psutil.pid_exists(int(pid)):
                self.still_there.append(name)


@pytest.fixture(scope="module")
def sweep(executor: Executor, tmp_path_factory: pytest.TempPathFactory) -> ExitWatcher:
    """The calls that the control loop receives from a sweep of these; each takes all cores."""
    folder, all_cores = tmp_path_factory.mktemp("ends"), local_machine().cpus
    *launches, late = (
        make_launch(folder, name, num_cores=all_cores, **knobs) for name, knobs in TRIALS.items()
    )
    over = Deadline(at=time.time(), reason="the time budget of 60 s had ended")

    def stop_or_think(trial: Trial, report: Report) -> bool:
        if trial.id == "brisk":
            time.sleep(THINKS_S)
        return trial.id == "stopped" and report.epoch == 2

    watcher = ExitWatcher([*launches, replace(late, deadline=over)], stop_when=stop_or_think)
    with guarding(ROOT, fail=pytest.fail):
        executor.run(watcher)
        _await_end_of(SPAWNED)
    return watcher


def test_a_stopped_trial_keeps_its_figures_and_leaves_no_process(sweep: ExitWatcher) -> None:
    result, last = sweep.results["stopped"], sweep.reports["stopped"][-1]
    assert result.state is TrialState.STOPPED
    assert 2 <= last.epoch < 10, "those that came with the one that it is stopped after"
    assert result.metrics["epochs"] == last.epoch
    assert result.metrics["val_acc"] == last.metrics["val_acc"]
    assert result.metrics["samples_per_s"] > 0


def test_a_trial_never_waits_for_the_control_loop(sweep: ExitWatcher) -> None:
    reports = sweep.reports["brisk"]
    assert [report.epoch for report in reports] == list(range(1, 7))
    assert reports[-1].elapsed_s < 3 * THINKS_S, "half of what the control loop has thought"
    assert sweep.results["brisk"].metrics["epochs"] == 6


def test_a_trial_starts_when_the_one_before_has_left_its_cores(sweep: ExitWatcher) -> None:
    assert [len(sweep.reports[name]) for name in ("one", "two")] == [1, 1]
    assert sweep.still_there == []


def test_a_trial_that_could_only_start_too_late_is_not_run(sweep: ExitWatcher) -> None:
    late = sweep.results["late"]
    assert (late.state, late.reason) == (TrialState.NOT_RUN, "the time budget of 60 s had ended")
    assert "late" not in sweep.was_started


def test_interrupting_ends_what_runs(executor: Executor, launch_of: LaunchOf) -> None:
    all_cores = CoreLeases().num_cores  # with fewer both would run
    running = launch_of("running", act="spawn", epochs=10_000, num_cores=all_cores)
    conductor = Recorder([running, launch_of("waiting", num_cores=all_cores)])

    def interrupt() -> None:
        conductor.interrupted = bool(conductor.reports)

    conductor.on_tick = interrupt
    began = time.monotonic()

    executor.run(conductor)

    assert conductor.results == {}, "an abandoned trial has no row: it runs again on resume"
    assert "waiting" not in conductor.was_started
    assert time.monotonic() - began < 20
    _await_end_of(SPAWNED)


def test_waiting_for_leased_cores_is_reported_and_ends_with_the_deadline(
    executor: Executor, launch_of: LaunchOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(in_flight, "FIRST_REPORT_S", 0.1)
    monkeypatch.setattr(in_flight, "WAIT_REPORT_S", 0.1)
    other_sweep = CoreLeases().acquire(99, Isolation.LEASED, timeout_s=5)
    soon = Deadline(at=time.time() + 1, reason="the time budget of 1 s had ended")
    conductor = Recorder([replace(launch_of("hasty"), deadline=soon), launch_of("patient")])

    def release() -> None:
        is_reported = any("held by" in resources for resources in conductor.waited)
        if is_reported and "hasty" in conductor.results:
            other_sweep.release()

    conductor.on_tick = release
    executor.run(conductor)

    # Inline, this process both has the cores and waits for them, and it does not name itself.
    what = next(text for text in conductor.waited if "held by" in text)
    assert re.match(r"1 core of this node, held by .*: wait for its end", what)
    assert conductor.results["hasty"].state is TrialState.NOT_RUN
    assert conductor.results["patient"].state is TrialState.COMPLETED
    assert set(conductor.was_started) == {"patient"}


def _await_end_of(command: str) -> None:
    def running() -> list[bool]:
        seen = psutil.process_iter(["cmdline"])
        return [True for process in seen if command in " ".join(process.info["cmdline"] or ())]

    awaited(lambda: not running(), f"the end of {command!r}", within_s=3)
