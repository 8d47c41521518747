"""Load of others on a trial's cores: counted right, from made-up counters and from real ones."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from orchestrator.execution.process.fork_servers import ForkServers
from orchestrator.execution.telemetry.contamination import SHARE, Contamination, read_core_times
from orchestrator.trial import Isolation, TrialState
from tests.orchestrator.execution.supervised import core_of_this_test, launch_of, leases_in, run

NOTHING = {"busy": 0.0, "nice": 0.0, "stolen": 0.0, "own": 0.0, "waited": 0.0, "overhead": 0.0}


def after(num_cores: int = 2, **spent: float) -> Contamination:
    """Contamination after ten seconds in which so much was spent."""
    return Contamination(num_cores, {**NOTHING, "at": 10.0, **spent})


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
def test_findings(spent: dict[str, float], findings: list[str]) -> None:
    texts = after(**spent).findings()
    for text, expected in zip(texts, findings, strict=True):
        assert text.startswith(expected)


@pytest.mark.parametrize(
    ("num_cores", "of_a_core", "is_found"),
    [(1, 1.0, True), (64, 1.0, True), (8, 0.5, True), (32, 0.5, True), (64, 0.5, False)],
)
def test_a_neighbour_on_one_core_of_many_is_found_where_it_is_no_noise(
    num_cores: int, of_a_core: float, is_found: bool
) -> None:
    found = after(num_cores, busy=10.0 * num_cores, own=10.0 * (num_cores - of_a_core)).findings()
    assert (found != []) is is_found


def test_nothing_is_known_without_its_own_cores() -> None:
    nothing = Contamination(0, {"at": 10.0, "own": 5.0})
    assert (nothing.findings(), nothing.figures()) == (None, {})


def test_where_waiting_is_not_known_its_share_is_empty_and_others_count_in_full() -> None:
    """A kernel without statistics of its scheduler."""
    spent = {"busy": 20.0, "own": 15.0, "nice": 5.0}
    known = {name: seconds for name, seconds in NOTHING.items() if name != "waited"}
    contamination = Contamination(2, {**known, "at": 10.0, **spent})
    assert contamination.figures() == {"foreign_share": 0.25, "steal_share": 0.0}
    assert contamination.findings() == ["25 % of its cores' time went to other processes"]
    assert after(**spent).findings() == [], "no thread has waited for what took idle time"


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
    assert read_core_times([0, 10], stat) == pytest.approx(
        {"busy": 400 * tick_s, "nice": 50 * tick_s, "stolen": 20 * tick_s}
    )
    assert read_core_times([0, 11], stat) is None, "never a part for the whole"
    assert read_core_times([], stat) is None
    assert read_core_times([0], tmp_path / "absent") is None


# -- real load, for which the machine has to be quiet


@contextmanager
def burning(core: int) -> Iterator[None]:
    """Another user's process that burns CPU time on a core."""
    command = f"import os\nos.sched_setaffinity(0, [{core}])\nwhile True: pass"
    burner = subprocess.Popen([sys.executable, "-c", command])
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            burner.kill()
        burner.wait()


@pytest.mark.slow
def test_a_process_on_the_leased_core_contaminates(servers: ForkServers, tmp_path: Path) -> None:
    launch = launch_of(tmp_path, duration_s=1.0, isolation=Isolation.LEASED)
    with burning(core_of_this_test()):
        course = run(launch, servers, leases_in(tmp_path))
    tags, metrics = course.result.tags, course.result.metrics
    assert course.result.state is TrialState.COMPLETED
    assert len(course.starts) == 2, "it was run again"
    assert "of its cores' time went to other processes" in tags["contaminated"]
    assert 0.3 < metrics["foreign_share"] < 0.8
    assert metrics["run_queue_share"] > 0.2


@pytest.mark.slow
def test_trial_alone_on_its_core_is_not_contaminated(servers: ForkServers, tmp_path: Path) -> None:
    for _ in range(3):  # others may be on this core for a moment
        launch = launch_of(tmp_path, duration_s=1.0, isolation=Isolation.LEASED)
        course = run(launch, servers, leases_in(tmp_path))
        if len(course.starts) == 1:
            break
    result = course.result
    assert result.tags["contaminated"] == "false"
    assert "rerun" not in result.tags
    assert result.metrics["foreign_share"] < SHARE
    assert result.metrics["busy_cores"] == pytest.approx(1, abs=0.15)
    assert result.metrics["others_cores"] == 0
