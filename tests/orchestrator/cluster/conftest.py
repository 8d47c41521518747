"""A Ray cluster on nodes made of namespaces, started as in docs/clusters.md."""

import re
import shutil
from collections.abc import Iterator

import pytest

from tests.conftest import ROOT
from tests.leaks import guarding
from tests.orchestrator.cluster.made_nodes import MadeNetwork, MadeNode, made_network, missing

PAGE = ROOT / "docs/clusters.md"
SMALL = "--num-cpus=1 --object-store-memory=80000000 --disable-usage-stats"
"""Limits of a Ray node on a machine that is several nodes."""

NOTICED = {
    "RAY_health_check_initial_delay_ms": "2000",
    "RAY_health_check_period_ms": "1000",
    "RAY_health_check_timeout_ms": "5000",
    "RAY_health_check_failure_threshold": "3",
}
"""A node that is lost is noticed in seconds, not in Ray's half a minute."""

PATIENT = {
    "RAY_gcs_server_port_wait_time_s": "200",
    "RAY_raylet_start_wait_time_s": "200",
    "RAY_agent_register_timeout_ms": "200000",
}
"""Nodes that share two cores, perhaps with others, take longer to start than Ray would wait."""


def commands(heading: str) -> str:
    """Return the indented lines of a section of docs/clusters.md."""
    section = PAGE.read_text().partition(f"## {heading}\n")[2].partition("\n## ")[0]
    assert section, f"{PAGE.name} has no section {heading!r}"
    return "\n".join(re.findall(r"^    (.*)$", section, re.MULTILINE))


class Cluster:
    """A cluster of a head and others."""

    def __init__(self, network: MadeNetwork) -> None:
        """Start the head."""
        self.network = network  # its nodes
        self.head = network.add("head", **PATIENT, **NOTICED)  # the head
        self.address = f"{self.head.address}:6379"  # what ``--address`` takes
        self._start(self.head, commands("On the head"))

    def join(self, name: str) -> MadeNode:
        """Have another node join."""
        node = self.network.add(name, **PATIENT)
        script = commands("On each other node")
        copying = re.search(r"^scp .*$", script, re.MULTILINE)
        assert copying is not None, "a node needs the head's token"
        (node.root / "tmp/home/.ray").mkdir(mode=0o700)
        # There is no SSH between these nodes.
        token = "tmp/home/.ray/auth_token"
        shutil.copyfile(self.head.root / token, node.root / token)
        self._start(node, script.replace(copying[0], "").replace("HEAD:6379", self.address))
        return node

    def _start(self, node: MadeNode, script: str) -> None:
        script = f"{commands('Networks')}\n{script}"
        script = script.replace("ray start", f"ray start {SMALL}")
        script = script.replace("--head", "--head --include-dashboard=false")
        # Not into a pipe, which Ray's processes would keep open.
        done = node.run("bash", "-ec", f"( {script}\n ) > /tmp/start.log 2>&1", timeout_s=240)
        log = (node.root / "tmp/start.log").read_text()
        assert done.returncode == 0, log


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """A head and a node."""
    if reason := missing():
        pytest.skip(f"no nodes can be made: {reason}")
    with guarding(ROOT, fail=pytest.fail), made_network() as network:
        cluster = Cluster(network)
        cluster.join("one")
        yield cluster
