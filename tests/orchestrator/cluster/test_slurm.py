"""docs/recipes/sweep.sbatch under a Slurm of two nodes, which the test makes."""

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd
import pytest

from tests.conftest import ROOT
from tests.helping import awaited
from tests.leaks import guarding
from tests.orchestrator.cluster.made_nodes import MadeNode, made_network, missing
from tests.orchestrator.cluster.reading import await_in, events, running_on
from tests.orchestrator.cluster.toy_project import write_project

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

DAEMONS = ("munged", "slurmctld", "slurmd")
STATE_S = 200.0

CONF = """
ClusterName=recipe
SlurmctldHost=slurm
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=/tmp/munge/socket
StateSaveLocation=/tmp/slurm/state
SlurmdSpoolDir=/tmp/slurm/spool
SlurmctldPidFile=/tmp/slurm/slurmctld.pid
SlurmdPidFile=/tmp/slurm/slurmd.pid
SlurmctldLogFile=/tmp/slurm/slurmctld.log
SlurmdLogFile=/tmp/slurm/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=1,bf_interval=1,batch_sched_delay=1
MailProg=/bin/true
JobRequeue=1
KillWait=3
ReturnToService=1
NodeName=slurm,other CPUs=2 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""

START = """
mkdir -p /tmp/munge /tmp/slurm/state /tmp/slurm/spool && chmod 755 /tmp/munge
mount --bind {shared}/hosts /etc/hosts
cp {shared}/key /tmp/munge/key && chmod 400 /tmp/munge/key
munged --force --key-file=/tmp/munge/key --socket=/tmp/munge/socket \
    --pid-file=/tmp/munge/pid --log-file=/tmp/munge/log --seed-file=/tmp/munge/seed
[ "$(hostname)" = other ] || slurmctld -f $SLURM_CONF
slurmd -f $SLURM_CONF
"""


@pytest.fixture(scope="module")
def slurm() -> Iterator[tuple[MadeNode, Path]]:
    """The first of two nodes with Slurm, and a folder on storage that outlives them."""
    if reason := missing():
        pytest.skip(f"no node can be made: {reason}")
    if absent := [
        name for name in DAEMONS if shutil.which(name, path="/usr/sbin:/usr/bin") is None
    ]:
        pytest.skip(f"not installed: {', '.join(absent)}")
    with guarding(ROOT, fail=pytest.fail), made_network() as network:
        conf = network.shared / "slurm.conf"
        conf.write_text(CONF)
        (network.shared / "key").write_bytes(os.urandom(128))
        nodes = [network.add(name, SLURM_CONF=str(conf)) for name in ("slurm", "other")]
        lines = ["127.0.0.1 localhost", *(f"{node.address} {node.name}" for node in nodes)]
        (network.shared / "hosts").write_text("\n".join(lines) + "\n")
        for node in nodes:
            script = START.format(shared=network.shared)
            done = node.run("bash", "-ec", f"( {script} ) > /tmp/start.log 2>&1")
            assert done.returncode == 0, (node.root / "tmp/start.log").read_text()
        yield nodes[0], network.shared


def submitted(
    slurm: tuple[MadeNode, Path], name: str, num_trials: int, nodes: int = 1
) -> tuple[str, Path]:
    """Submit a sweep as the recipe has it; return the job's number and its run directory.

    On one node without Ray, which takes longer to start than these trials do.
    """
    node, shared = slurm
    folder = shared / name
    write_project(folder, ended=shared / f"{name}-ended", num_trials=num_trials, steps=10)
    (folder / "data").mkdir()
    (folder / "data/numbers.txt").write_text("1 2 3\n")
    options = "--no-mlflow" if nodes > 1 else "--no-mlflow --executor inline"
    variables = f"SWEEP=toy_sweep.py,PYTHON={sys.executable},PYTHONPATH={ROOT},OPTIONS={options}"
    done = node.run(
        "sbatch", "--parsable", f"--export=ALL,{variables}", f"--nodes={nodes}",
        ROOT / "docs/recipes/sweep.sbatch", cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    number = done.stdout.strip()
    return number, folder / f"runs/slurm-{number}"


def await_state(node: MadeNode, job: str, found: Callable[[str], bool]) -> str:
    deadline = time.monotonic() + STATE_S
    while True:
        shown = node.run("scontrol", "show", "job", job).stdout
        if found(shown):
            return shown
        assert time.monotonic() < deadline, shown
        time.sleep(0.3)


def finished(run: Path) -> list[object]:
    return [event["trial_id"] for event in events(run) if event["event"] == "finished"]


def test_a_job_past_its_time_limit_is_requeued_and_resumes(slurm: tuple[MadeNode, Path]) -> None:
    node, _ = slurm
    job, run = submitted(slurm, "requeued", num_trials=6)
    awaited(lambda: len(finished(run)) > 1, f"two trials in {run}", within_s=STATE_S)
    before = finished(run)
    # Slurm sends this signal three minutes before the limit.
    assert node.run("scancel", "--batch", "--signal=USR1", job).returncode == 0
    await_state(node, job, lambda text: "Restarts=1" in text and "JobState=PENDING" in text)
    assert {"trials.csv", "report.html"} <= {path.name for path in run.iterdir()}
    # Slurm waits two minutes before it starts a requeued job. Within a second it would refuse.
    node.run("scontrol", "update", f"JobId={job}", "StartTime=now+5")

    shown = await_state(node, job, lambda text: "JobState=COMPLETED" in text)

    assert "ExitCode=0:0" in shown
    trials = pd.read_parquet(run / "trials.parquet")
    assert trials["state"].tolist() == ["completed"] * 6
    after = finished(run)
    assert len(after) == len(set(after)), "none twice"
    assert set(before) <= set(after)


def test_a_job_of_two_nodes_trains_on_both(slurm: tuple[MadeNode, Path]) -> None:
    node, shared = slurm
    hold = shared / "two-ended.hold"
    hold.touch()
    job, run = submitted(slurm, "two", num_trials=4, nodes=2)
    await_in(run, lambda past: set(running_on(past).values()) == {"slurm", "other"}, "both")
    hold.unlink()
    await_state(node, job, lambda text: "JobState=COMPLETED" in text and "ExitCode=0:0" in text)
    trials = pd.read_parquet(run / "trials.parquet")
    assert trials["state"].tolist() == ["completed"] * 4
    assert set(trials["node"]) == {"slurm", "other"}
