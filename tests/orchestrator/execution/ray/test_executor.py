"""An existing Ray cluster, which outlives the sweep; and resources that trials leave occupied."""

import os
import platform
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
import ray
from ray.util import placement_group_table

from orchestrator.data import DataFolders
from orchestrator.execution.ray.executor import RayExecutor
from orchestrator.execution.ray.nodes import _problem, node_servers, problems_of_nodes
from orchestrator.kernel.executor import Needs, Source
from orchestrator.trial import Report, Trial, TrialState
from tests.conftest import ROOT, RunCli
from tests.helping import awaited
from tests.leaks import guarding
from tests.orchestrator.execution.conftest import LaunchOf, Recorder
from tests.orchestrator.helpers.in_process import importing_nothing_for_good
from tests.orchestrator.helpers.sweep_files import HEADER, written

FILE = Path(__file__).parents[1] / "workload.py"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a cluster whose processes cannot import this checkout."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = str(Path(sys.executable).with_name("ray"))
    bare = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    start = [command, "start", "--head", "--block", f"--port={port}", "--num-cpus=2",
             "--include-dashboard=false", "--disable-usage-stats"]  # fmt: skip
    with guarding(ROOT, fail=pytest.fail):
        head = subprocess.Popen(
            start, cwd=tmp_path_factory.mktemp("of the cluster"), env=bare, text=True,
            start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )  # fmt: skip
        _await_start(head)
        yield f"127.0.0.1:{port}"
        assert head.poll() is None, "it outlives the sweeps that have run on it"
        head.terminate()
        head.communicate(timeout=30)


def _await_start(head: subprocess.Popen[str]) -> None:
    for line in head.stdout:
        if "--block" in line or "Ray runtime started" in line:
            return
    pytest.fail("the cluster did not start")


@pytest.mark.cluster
@pytest.mark.slow
def test_runs_on_an_existing_cluster_with_all_that_the_sweep_imports(
    cluster: str, run_cli: RunCli, tmp_path: Path
) -> None:
    """The layout of docs/own-trainable.md, with its two files of one name."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/steps.py").write_text("STEPS = (1.0, 2.0)\n")
    (tmp_path / "my_workload.py").write_text(
        FILE.read_text().partition("SWEEP = ")[0]
        + "\ndef late():\n    from mine.steps import STEPS\n    return STEPS\n"
    )
    (tmp_path / "sweeps").mkdir()
    (tmp_path / "sweeps/of_all.py").write_text("ALONE = 0\n")
    (tmp_path / "of_mine.py").write_text("ALONE = 0\n")
    (tmp_path / "sweeps/my_workload.py").write_text(
        "from my_workload import Config, late, workload\n"
        "from of_all import ALONE\n"
        "import of_mine\n"
        "from orchestrator import Rigor, Sweep, choice\n"
        "SWEEP = Sweep(workload, question='?', space=Config(step_ms=choice(*late())),\n"
        "              cores_per_trial=1,\n"
        "              rigor=Rigor(confirm=0, max_repeats=1, check_isolated=ALONE))\n"
    )

    run_cli(
        "sweeps/my_workload.py", "--address", cluster, "--out", "run", "--no-mlflow",
        "--isolation", "shared",
        env={"RAY_ADDRESS": None},
    )  # fmt: skip

    trials = pd.read_parquet(tmp_path / "run/trials.parquet")
    assert set(trials["state"]) == {"completed"}, trials["reason"].tolist()


@pytest.mark.slow
@pytest.mark.alone
def test_nothing_stays_taken_however_a_trial_ended(
    ray_executor: RayExecutor, launch_of: LaunchOf
) -> None:
    before = ray.cluster_resources()

    def stop(trial: Trial, report: Report) -> bool:
        return trial.id.startswith("stopped") and report.epoch == 2

    conductor = Recorder(
        [
            launch_of("stopped", epochs=1000, step_ms=10),
            launch_of("stopped ranks", act="ranks", ranks=2, num_cores=2, epochs=1000),
            launch_of("killed", act="segfault"),
            launch_of("past its limit", act="sleep", time_limit_s=1.0),
        ],
        stop_when=stop,
    )
    ray_executor.run(conductor)

    states = {trial: result.state for trial, result in conductor.results.items()}
    assert states == {
        "stopped": TrialState.STOPPED,
        "stopped ranks": TrialState.STOPPED,
        "killed": TrialState.FAILED,
        "past its limit": TrialState.INFEASIBLE,
    }
    awaited(lambda: not _taken(before), "nothing is taken", within_s=5)
    groups = placement_group_table().values()
    assert {group["state"] for group in groups} == {"REMOVED"}


def _taken(everything: dict[str, float]) -> dict[str, float]:
    """Return the CPUs and GPUs that are not free."""
    free = ray.available_resources()
    return {
        name: amount - free.get(name, 0)
        for name, amount in everything.items()
        if name in ("CPU", "GPU") and free.get(name, 0) != amount
    }


# -- a node's fork servers, and what it lacks


def test_what_trials_left_on_a_node_goes_with_its_servers(
    ray_executor: RayExecutor, tmp_path: Path
) -> None:
    folder = tmp_path / "sweep-of-a-driver-elsewhere"
    servers = node_servers("a session", ray.get_runtime_context().get_node_id(), str(folder))
    ray.get(servers.socket_for.remote("default", ()))
    log = folder / "scratch/logs/trial.log"
    log.parent.mkdir(parents=True)
    log.write_text("its output")
    ray.get(servers.close.remote())
    assert not folder.exists()
    ray.kill(servers)


def needs_of(folder: Path, *, header: str = HEADER, data: str = "") -> Needs:
    """Needs of a sweep file on a node that has no data."""
    return Needs(
        source=Source(file=str(written(folder, header=header))),
        data=data,
        folders=DataFolders(root=folder / "data", cache=folder / "cache"),
        fingerprint="",
    )


def test_what_a_node_lacks_is_named_with_node(ray_executor: RayExecutor, tmp_path: Path) -> None:
    needs = needs_of(tmp_path, data="mnist")
    (problem,) = problems_of_nodes(needs)
    assert problem.startswith(f"{platform.node()}: ")
    assert "mnist" in problem


@pytest.mark.parametrize(
    ("needs", "lacks"),
    [({"data": "digits"}, ""), ({"header": "import not_on_this_node\n"}, "not_on_this")],
)
def test_a_node_lacks_what_its_own_process_cannot_find(
    tmp_path: Path, needs: dict[str, str], lacks: str
) -> None:
    with importing_nothing_for_good():
        problem = _problem._function(needs_of(tmp_path, **needs))
    assert bool(problem) == bool(lacks)
    assert lacks in problem


QUARTERS = """
import ray, sys
from dataclasses import replace
from pathlib import Path
from orchestrator.execution.ray.executor import _bundles
from orchestrator.trainable import Demand
from tests.orchestrator.execution.supervised import launch_of

ray.init(address="local", num_cpus=5, num_gpus=1, include_dashboard=False)
launch = launch_of(Path(sys.argv[1]), "shared", demand=Demand(gpus=0.25))
groups = [_bundles(launch)() for _ in range(5)]
ready, waiting = ray.wait([group.ready() for group in groups], num_returns=4, timeout=60)
print(len(ready), len(waiting), len(ray.wait(waiting, timeout=1)[0]))
"""


@pytest.mark.slow
def test_four_quarters_of_a_gpu_run_at_a_time(tmp_path: Path) -> None:
    """By Ray's own count, without a card."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", QUARTERS, tmp_path], cwd=ROOT, check=True,
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.stdout.split()[-3:] == ["4", "1", "0"]
