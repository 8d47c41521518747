"""From attempts to one row: retries after failures, one rerun after contamination."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.execution.process.fork_client import NotForked
from orchestrator.execution.process.fork_servers import ForkServers
from orchestrator.execution.process.ranks import RankGroup
from orchestrator.execution.supervision.supervisor import Supervisor
from orchestrator.execution.telemetry.sampler import Telemetry
from orchestrator.kernel.executor import Launch, Update
from orchestrator.trial import Budget, TrialResult, TrialState
from tests.orchestrator.execution.supervised import (
    Course,
    events_of,
    host_of,
    launch_of,
    leases_in,
    newest_process,
    run,
)

LOAD = "25 % of its cores' time went to other processes"


def course_of(launch: Launch, servers: ForkServers, folder: Path) -> Course:
    return run(launch, servers, leases_in(folder))


def contaminate(monkeypatch: pytest.MonkeyPatch, num_attempts: int) -> None:
    """Let the telemetry of the first attempts find other load on the trial's cores."""
    seen: list[Telemetry] = []

    def contamination(telemetry: Telemetry) -> list[str]:
        if telemetry not in seen:
            seen.append(telemetry)
        return [LOAD] if seen.index(telemetry) < num_attempts else []

    monkeypatch.setattr(Telemetry, "contamination", contamination)


def test_a_trial_has_its_own_temporary_files_removed_at_its_end(
    servers: ForkServers, tmp_path: Path
) -> None:
    course = course_of(launch_of(tmp_path, act="litter", duration_s=0.01), servers, tmp_path)
    assert course.result.state is TrialState.COMPLETED, "it has removed the folder of these files"
    assert course.result.output.startswith(f"{tmp_path}/scratch/tmp/trial/")
    assert not (tmp_path / "scratch/tmp/trial").exists()


def test_what_a_trial_leaves_is_removed_before_its_row_is_known(
    servers: ForkServers, tmp_path: Path
) -> None:
    launch = launch_of(tmp_path, act="leave")
    leases = leases_in(tmp_path)
    lease = leases.acquire(1, launch.isolation, timeout_s=30)
    supervisor = Supervisor(launch, host_of(servers, leases))
    try:
        supervisor.start(lease)
        row = next(event for event in events_of(supervisor) if isinstance(event, TrialResult))
        assert "No space left" in row.reason
        assert not launch.temporary.exists()
        assert not Path(row.output.splitlines()[0]).exists()
    finally:
        supervisor.close()
        lease.release()


# -- retries


def test_a_trial_is_tried_again_if_its_server_could_not_fork(
    servers: ForkServers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = ["the fork server ended", "no process could be forked: no memory"]

    def start(group: RankGroup, *arguments: Any) -> None:  # noqa: ANN401
        if left:
            raise NotForked(left.pop(0))
        started(group, *arguments)

    started = RankGroup.__init__
    monkeypatch.setattr(RankGroup, "__init__", start)
    launch = launch_of(tmp_path, act="burn", duration_s=0.01, retries=2)
    course = course_of(launch, servers, tmp_path)
    assert course.result.state is TrialState.COMPLETED, course.result.reason
    assert [note.rpartition(": ")[2] for note in course.notes] == [
        "the fork server ended",
        "no memory",
    ]
    left.append("the fork server ended")
    with pytest.raises(NotForked):
        course_of(replace(launch, retries=0), servers, tmp_path)


def test_a_launch_resumes_from_its_checkpoint_after_its_supervisor_died(
    servers: ForkServers, tmp_path: Path
) -> None:
    launch = launch_of(tmp_path, act="burn", epochs=4, duration_s=0.1)
    lease = leases_in(tmp_path).acquire(1, launch.isolation, timeout_s=30)
    died = Supervisor(launch, host_of(servers, leases_in(tmp_path)))
    died.start(lease)
    next(e for e in events_of(died) if isinstance(e, Update) and e.report.epoch >= 2)
    newest_process().kill()  # as its fork server does when its supervisor has gone
    lease.release()

    course = course_of(replace(launch, failed_attempts=1), servers, tmp_path)

    assert course.result.state is TrialState.COMPLETED, course.result.reason
    assert course.result.tags["attempts"] == "2"
    (start,) = course.starts
    assert start.restored_epochs in (1, 2)
    assert course.reports == list(range(start.restored_epochs + 1, 5))
    died.close()


def test_a_retry_that_ends_without_figures_is_announced_with_its_row(
    servers: ForkServers, tmp_path: Path
) -> None:
    launch = launch_of(tmp_path, act="spawn", duration_s=0.01, retries=1)
    course = course_of(launch, servers, tmp_path)
    assert course.result.state is TrialState.FAILED
    assert [start.restored_epochs for start in course.starts] == [0, 0]
    assert len(course.notes) == 1


def test_an_infeasible_trial_is_not_retried(servers: ForkServers, tmp_path: Path) -> None:
    course = course_of(launch_of(tmp_path, act="refused", retries=1), servers, tmp_path)
    assert course.result.state is TrialState.INFEASIBLE
    assert course.result.reason.startswith("out of memory at step 4: MemoryError")
    assert course.result.tags["attempts"] == "1"


# -- rerun


def test_a_contaminated_trial_is_run_again_once(
    servers: ForkServers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    contaminate(monkeypatch, num_attempts=2)
    course = course_of(launch_of(tmp_path), servers, tmp_path)
    assert course.result.state is TrialState.COMPLETED
    assert len(course.starts) == 2, "again once, although it was contaminated again"
    assert course.reports == [1, 1], "from its beginning"
    assert course.result.tags["contaminated"] == LOAD
    assert course.result.tags["rerun"] == f"contaminated: {LOAD}"
    assert course.result.tags["attempts"] == "2"
    assert course.notes == [f"trial trial is run again, since other load contaminated it: {LOAD}"]


def test_the_first_run_counts_if_the_second_does_not_complete(
    servers: ForkServers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    contaminate(monkeypatch, num_attempts=2)
    course = run(
        launch_of(tmp_path, duration_s=0.5),
        servers,
        leases_in(tmp_path),
        on_restart=lambda: newest_process().kill(),
    )
    assert course.result.state is TrialState.COMPLETED
    assert course.result.metrics["val_acc"] == 0.5
    assert course.result.tags["contaminated"] == LOAD
    assert "; the second run was failed: the training process was" in course.result.tags["rerun"]
    assert course.result.tags["attempts"] == "2"


def paused_launch(folder: Path) -> Launch:
    """Make the second piece of a curve, which ends at a pause as well."""
    launch = launch_of(folder, duration_s=0.01)
    budget = Budget(epochs=4, pause_after=2)
    launch = replace(launch, trial=replace(launch.trial, budget=budget, curve="curve"))
    (launch.curves / "curve-1").mkdir(parents=True)
    return launch


@pytest.mark.parametrize(
    ("function", "what"),
    [
        ("copytree", "trained from the beginning, since its curve's checkpoint cannot be read"),
        ("move", "paused without a checkpoint, since it cannot be kept"),
    ],
)
def test_a_pause_without_its_checkpoint_is_reported(
    servers: ForkServers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function: str, what: str
) -> None:
    def full(_source: Path, _target: Path) -> None:
        raise OSError("no room")

    monkeypatch.setattr(f"shutil.{function}", full)
    course = course_of(paused_launch(tmp_path), servers, tmp_path)
    assert (course.result.state, course.reports[-1]) == (TrialState.STOPPED, 2)
    assert [note for note in course.notes if "checkpoint" in note] == [
        f"trial trial is {what}: no room"
    ]
