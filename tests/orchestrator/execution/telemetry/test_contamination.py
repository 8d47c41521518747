"""Who else ran on a trial's cores: counted right, said, and the trial run again once."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from orchestrator.execution.leases import CoreLeases
from orchestrator.execution.process.fork_client import ForkServers
from orchestrator.execution.telemetry.contamination import (
    SHARE,
    Contamination,
    CoreTimes,
    CounterSample,
    read_core_times,
)
from orchestrator.system.processes import ProcessTree, TreeSample
from orchestrator.trial import Isolation, TrialState
from tests.orchestrator.execution.supervised import Course, launch_of, run


def moment(at: float, **seconds: float) -> CounterSample:
    known = {"busy": 0.0, "nice": 0.0, "stolen": 0.0, "own": 0.0, "waited": 0.0, **seconds}
    cores = CoreTimes(busy=known["busy"], nice=known["nice"], stolen=known["stolen"])
    return CounterSample(at=at, cores=cores, own=known["own"], waited=known["waited"])


def after(num_cores: int = 2, seconds: float = 10.0, **spent: float) -> Contamination:
    """What is known after so many seconds in which so much was spent."""
    contamination = Contamination(num_cores)
    contamination.add(moment(100.0))
    contamination.add(moment(100.0 + seconds, **spent))
    return contamination


@pytest.mark.parametrize(
    ("spent", "findings"),
    [
        ({"busy": 20.0, "own": 19.9}, []),
        ({"busy": 20.0, "own": 17.6}, ["12 % of its cores' time went to other processes"]),
        ({"busy": 5.0, "own": 2.0}, ["15 % of its cores' time went to other processes"]),
        ({"busy": 19.0, "own": 20.0}, []),
        (
            {"busy": 10.0, "own": 10.0, "stolen": 2.0},
            ["10 % of its cores' time was the hypervisor"],
        ),
        ({"busy": 10.0, "own": 7.0, "nice": 3.0}, []),
        ({"busy": 20.0, "own": 15.0, "nice": 5.0, "waited": 5.0}, ["25 % of its cores' time went"]),
    ],
)
def test_what_is_found(spent: dict[str, float], findings: list[str]) -> None:
    found = after(**spent).findings()
    assert found is not None
    assert len(found) == len(findings)
    for text, expected in zip(found, findings, strict=True):
        assert text.startswith(expected)


@pytest.mark.parametrize("num_cores", [1, 2, 8, 16, 32, 64])
def test_a_neighbour_that_owns_one_core_of_many_is_found(num_cores: int) -> None:
    found = after(num_cores, busy=10.0 * num_cores, own=10.0 * (num_cores - 1)).findings()
    assert found is not None
    assert len(found) == 1


@pytest.mark.parametrize(
    ("num_cores", "is_found"), [(8, True), (16, True), (32, True), (64, False)]
)
def test_a_fair_half_of_one_core_is_found_where_it_is_no_noise(
    num_cores: int, is_found: bool
) -> None:
    found = after(num_cores, busy=10.0 * num_cores, own=10.0 * num_cores - 5.0).findings()
    assert (found != []) is is_found


@pytest.mark.parametrize("num_cores", [1, 8, 64])
def test_what_the_kernel_does_for_the_trial_is_no_disturbance(num_cores: int) -> None:
    assert after(num_cores, busy=10.0 * num_cores, own=9.9 * num_cores).findings() == []


def test_a_few_ticks_say_nothing() -> None:
    assert after(num_cores=1, seconds=0.5, busy=0.5, own=0.3).findings() == []
    assert after(num_cores=1, seconds=0.2, busy=0.2, own=0.0).findings() is None


def test_nothing_is_known_without_cores_of_its_own() -> None:
    assert Contamination(0).findings() is None
    assert Contamination(0).figures() == {}


def test_where_waiting_is_not_known_its_share_is_empty_and_others_count_in_full() -> None:
    """A kernel without statistics of its scheduler."""
    spent = {"busy": 20.0, "own": 15.0, "nice": 5.0}
    contamination = Contamination(2)
    for at, seconds in ((100.0, {}), (110.0, spent)):
        contamination.add(replace(moment(at, **seconds), waited=None))
    assert "run_queue_share" not in contamination.figures()
    assert contamination.figures()["foreign_share"] == pytest.approx(0.25)
    assert contamination.findings() == ["25 % of its cores' time went to other processes"]
    assert after(**spent).findings() == [], "nobody has waited for what took idle time"


def test_reads_the_cores_that_it_is_asked_for(tmp_path: Path) -> None:
    stat = tmp_path / "stat"
    lines = [
        "cpu  999 999 999 999 999 999 999 999 0 0",
        "cpu0 100 50 30 1000 7 3 2 20 9 9",
        "cpu1 1 1 1 1 1 1 1 1 1 1",
        "cpu10 200 0 20 1000 0 0 0 0 0 0",
        "intr 1 2 3",
    ]
    stat.write_text("\n".join(lines))
    tick_s = 1 / os.sysconf("SC_CLK_TCK")
    assert read_core_times([0, 10], stat) == CoreTimes(
        busy=pytest.approx(400 * tick_s),
        nice=pytest.approx(50 * tick_s),
        stolen=pytest.approx(20 * tick_s),
    )
    assert read_core_times([0, 11], stat) is None, "never a part for the whole"
    assert read_core_times([], stat) is None
    assert read_core_times([0], tmp_path / "absent") is None


# -- planted


@contextmanager
def burning(core: int) -> Iterator[subprocess.Popen[bytes]]:
    """A neighbour that burns CPU on a core."""
    command = f"import os\nos.sched_setaffinity(0, [{core}])\nwhile True: pass"
    burner = subprocess.Popen([sys.executable, "-c", command])
    try:
        yield burner
    finally:
        with suppress(ProcessLookupError):
            burner.kill()
        burner.wait()


def core_of_this_test() -> int:
    return min(os.sched_getaffinity(0))


def leases(tmp_path: Path) -> CoreLeases:
    return CoreLeases(tmp_path / "locks", [core_of_this_test()])


def test_a_neighbour_on_the_leased_core_is_named_and_the_trial_run_again(
    servers: ForkServers, tmp_path: Path
) -> None:
    with burning(core_of_this_test()):
        course = run(launch_of(tmp_path, duration_s=1.5), servers, leases(tmp_path))
    assert course.result.state is TrialState.COMPLETED
    assert course.num_restarts == 1, "once, although it was disturbed again"
    assert course.num_reports == 1
    tags, metrics = course.result.tags, course.result.metrics
    assert "of its cores' time went to other processes" in tags["contaminated"]
    assert tags["rerun"].startswith("contaminated: ")
    assert tags["attempts"] == "2"
    (note,) = course.notes
    assert "is run again, since other load disturbed it: " in note
    assert 0.3 < metrics["foreign_share"] < 0.8
    assert metrics["run_queue_share"] > 0.2


def test_a_neighbour_is_found_beside_epochs_of_a_moment(
    servers: ForkServers, tmp_path: Path
) -> None:
    """Between two reports there is less than a look takes its time for."""
    with burning(core_of_this_test()):
        launch = launch_of(tmp_path, duration_s=0.02, epochs=60)
        course = run(launch, servers, leases(tmp_path))
    assert course.result.metrics["epochs"] == 60
    assert "of its cores' time went to other processes" in course.result.tags["contaminated"]


def test_many_reports_make_no_more_looks(
    servers: ForkServers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[float] = []
    read = ProcessTree.read

    def counted(tree: ProcessTree, pids: Sequence[int]) -> TreeSample:
        looks.append(time.monotonic())
        return read(tree, pids)

    monkeypatch.setattr(ProcessTree, "read", counted)
    course = run(launch_of(tmp_path, duration_s=0.06, epochs=30), servers, leases(tmp_path))
    assert course.num_reports == 30
    assert len(looks) <= 4 * (looks[-1] - looks[0]) + 3, "not one a report"
    assert len(looks) >= 4


def test_the_second_run_stands_when_the_neighbour_has_gone(
    servers: ForkServers, tmp_path: Path
) -> None:
    for _ in range(3):  # others may be on this core for a moment
        with burning(core_of_this_test()) as burner:
            launch = launch_of(tmp_path, duration_s=1.5)
            course = run(launch, servers, leases(tmp_path), on_restart=burner.kill)
        assert course.num_restarts == 1
        assert course.result.tags["rerun"].startswith("contaminated: ")
        if course.result.tags["contaminated"] == "false":
            return
    pytest.fail(course.result.tags["contaminated"])


def test_the_first_run_stands_where_the_second_does_not_complete(
    servers: ForkServers, tmp_path: Path
) -> None:
    """The neighbour that disturbed it may be what ends the second one, too."""

    def kill_the_trial() -> None:
        others = psutil.Process().children(recursive=True)
        max(others, key=psutil.Process.create_time).kill()

    with burning(core_of_this_test()):
        launch = launch_of(tmp_path, duration_s=1.5)
        course = run(launch, servers, leases(tmp_path), on_restart=kill_the_trial)
    assert course.num_restarts == 1
    assert course.result.state is TrialState.COMPLETED
    assert course.result.metrics["val_acc"] == 0.5
    assert "of its cores' time went to other processes" in course.result.tags["contaminated"]
    assert "; the second run was failed: the training process was" in course.result.tags["rerun"]
    assert course.result.tags["attempts"] == "2"


def test_the_first_run_stands_where_the_second_cannot_start(
    servers: ForkServers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*_: object) -> Path:
        raise OSError("the folder has gone")

    with burning(core_of_this_test()):
        course = run(
            launch_of(tmp_path, duration_s=1.5),
            servers,
            leases(tmp_path),
            on_report=lambda: monkeypatch.setattr(servers, "socket_for", gone),
        )
    monkeypatch.undo()
    assert course.result.state is TrialState.COMPLETED
    assert course.num_restarts == 0
    assert "of its cores' time went to other processes" in course.result.tags["contaminated"]


def test_a_trial_alone_on_its_core_is_not_contaminated(
    servers: ForkServers, tmp_path: Path
) -> None:
    courses: list[Course] = []
    for _ in range(3):  # others may be on this core for a moment
        courses.append(run(launch_of(tmp_path, duration_s=1.0), servers, leases(tmp_path)))
        if courses[-1].num_restarts == 0:
            break
    result = courses[-1].result
    assert result.tags["contaminated"] == "false"
    assert "rerun" not in result.tags
    assert result.tags["attempts"] == "1"
    assert result.metrics["foreign_share"] < SHARE
    assert result.metrics["busy_cores"] == pytest.approx(1, abs=0.15)
    assert result.metrics["others_cores"] == 0


def test_a_trial_under_half_a_second_says_nothing_of_others(
    servers: ForkServers, tmp_path: Path
) -> None:
    course = run(launch_of(tmp_path, duration_s=0.1), servers, leases(tmp_path))
    assert course.result.state is TrialState.COMPLETED
    assert "others_cores" not in course.result.metrics


def test_without_cores_of_its_own_nothing_is_claimed(servers: ForkServers, tmp_path: Path) -> None:
    launch = launch_of(tmp_path, duration_s=0.6, isolation=Isolation.SHARED)
    with burning(core_of_this_test()):
        course = run(launch, servers, leases(tmp_path))
    assert "contaminated" not in course.result.tags
    assert "foreign_share" not in course.result.metrics
    assert "others_cores" not in course.result.metrics
    assert course.result.isolation == "shared"
