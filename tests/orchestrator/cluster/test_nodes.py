"""Sweeps on several nodes by the real command line; docs/clusters.md is what starts them."""

import os
import re
import shutil
import signal
from pathlib import Path

import pandas as pd
import pytest

from tests.conftest import ROOT
from tests.orchestrator.cluster.conftest import Cluster, commands
from tests.orchestrator.cluster.reading import Event, await_in, events, running_on
from tests.orchestrator.cluster.toy_project import write_project

pytestmark = [pytest.mark.cluster, pytest.mark.slow, pytest.mark.timeout(600)]


def words(*arguments: str | Path) -> list[str | Path]:
    return ["env", f"PYTHONPATH={ROOT}", "python", "-m", "orchestrator", *arguments, "--no-mlflow"]


def numbers_of(events: list[Event]) -> dict[str, int]:
    """Return the number of each trial."""
    asked = [event["trial"] for event in events if event["event"] == "asked"]
    return {trial["id"]: trial["config"]["number"] for trial in asked}


def finished(events: list[Event]) -> list[str]:
    return [str(event["trial_id"]) for event in events if event["event"] == "finished"]


def test_a_sweep_of_a_project_elsewhere_uses_every_node(cluster: Cluster) -> None:
    """The project is on the head only, and so are the data at first."""
    head, ended, run = cluster.head, cluster.network.shared / "first", Path("/tmp/run")
    write_project(head.root / "tmp/project", ended=ended, num_trials=4, steps=5)
    (head.root / "tmp/data").mkdir()
    (head.root / "tmp/data/numbers.txt").write_text("1 2 3\n")
    asked = words(
        "toy_sweep.py", "--address", cluster.address, "--data-root", "/tmp/data", "--out", run,
    )  # fmt: skip

    refused = head.run(*asked, cwd=Path("/tmp/project"), timeout_s=200)

    assert refused.returncode == 2, refused.stdout + refused.stderr
    assert "Traceback" not in refused.stderr
    assert "one: numbers is not under /tmp/data" in refused.stderr
    assert not ended.exists(), "no trial has run"

    copy = cluster.network.nodes["one"].root / "tmp/data"
    shutil.copytree(head.root / "tmp/data", copy, dirs_exist_ok=True)
    hold = ended.with_suffix(".hold")
    hold.touch()
    driver = head.start(*asked, cwd=Path("/tmp/project"))
    await_in(head.root / "tmp/run", lambda past: len(running_on(past)) == 2, "one on each node")
    hold.unlink()
    out, err = driver.communicate(timeout=200)

    assert driver.returncode == 0, out + err
    trials = pd.read_parquet(head.root / "tmp/run/trials.parquet")
    assert set(trials["state"]) == {"completed"}, trials["reason"].tolist()
    assert set(trials["node"]) == {"head", "one"}
    assert sorted(ended.read_text().split()[::2]) == sorted(map(str, range(4)))


def test_a_node_listens_at_the_ports_that_the_page_names(cluster: Cluster) -> None:
    fixed = [int(port) for port in re.findall(r"-port (\d+)", commands("Networks"))]
    least, most = fixed[-2:]
    allowed = {*fixed, *range(least, most + 1), 6379, 10001}
    for name in ("head", "one"):
        listening = cluster.network.nodes[name].run("ss", "--listening", "--tcp", "-n", "-H").stdout
        local = [line.split()[3].rpartition(":") for line in listening.splitlines()]
        ports = {int(port) for host, _, port in local if not host.startswith(("127.", "[::1"))}
        assert ports, listening
        assert ports <= allowed, listening


def test_ranks_on_two_nodes_train_together(cluster: Cluster) -> None:
    shared = cluster.network.shared
    one, ended, run = cluster.network.nodes["one"], shared / "third", shared / "run-of-ranks"
    folder = shared / "project-of-ranks"
    write_project(folder, ended=ended, num_trials=2, steps=5, nodes=2)
    (folder / "data").mkdir()
    (folder / "data/numbers.txt").write_text("1 2 3\n")

    done = one.run(
        *words("toy_sweep.py", "--address", cluster.address, "--out", run),
        cwd=folder, timeout_s=300,
    )  # fmt: skip

    assert done.returncode == 0, done.stdout + done.stderr
    trials = pd.read_parquet(run / "trials.parquet")
    assert set(trials["state"]) == {"completed"}, trials["reason"].tolist()
    assert set(trials["metrics.together"]) == {2.0}
    assert trials["node"].str.count(r"\+").tolist() == [1, 1]
    by_trial = [line.split() for line in ended.read_text().splitlines()]
    for number in ("0", "1"):
        assert len({node for trial, node in by_trial if trial == number}) == 2


def test_lost_nodes_and_drivers_cost_no_trial(cluster: Cluster) -> None:
    """A node joins, another is lost, then the driver; another node continues with the rest."""
    network, shared = cluster.network, cluster.network.shared
    folder, ended, run = shared / "project", shared / "second", shared / "run"
    write_project(folder, ended=ended, num_trials=6, steps=5)
    (folder / "data").mkdir()
    (folder / "data/numbers.txt").write_text("1 2 3\n")
    hold = ended.with_suffix(".hold")
    hold.touch()
    driver = cluster.head.start(
        *words("toy_sweep.py", "--address", cluster.address, "--out", run), cwd=folder
    )
    try:
        await_in(run, lambda past: len(running_on(past)) == 2, "a trial on each node")
        cluster.join("two")
        await_in(run, lambda past: "two" in running_on(past).values(), "one on a node that joined")
        (lost,) = [trial for trial, node in running_on(events(run)).items() if node == "one"]
        network.lose("one")
        # One trial continues until the driver is killed. All others have the other node.
        numbers = numbers_of(events(run))
        busy = {number for trial, number in numbers.items() if trial in running_on(events(run))}
        hold.write_text(str(min(set(range(6)) - busy)))
        await_in(run, lambda past: len(finished(past)) == 5, "all but one have ended")
        before = finished(events(run))
        assert lost in before
    finally:
        os.killpg(driver.pid, signal.SIGKILL)
        driver.communicate()
        hold.unlink(missing_ok=True)

    done = network.nodes["two"].run(
        *words("--resume", run, "--address", cluster.address), cwd=folder, timeout_s=300
    )
    network.lose("two")  # what a test starts ends with it

    assert done.returncode == 0, done.stdout + done.stderr
    trials = pd.read_parquet(run / "trials.parquet").set_index("trial_id")
    assert trials["state"].tolist() == ["completed"] * 6, trials["reason"].tolist()
    assert sorted(trials["params.number"]) == list(range(6))
    assert sorted(finished(events(run))) == sorted(trials.index), "none twice"
    assert trials.loc[lost, "node"] != "one"
    assert "two" in set(trials["node"])
