"""Nodes made of Linux namespaces: each has a network address, a host name, processes and /tmp.

They share the processors and the installed environment. Whatever a test puts in the folder that
``shared`` names is on all of them, as on shared storage. They end with the tests, however those
end, by the kernel.
"""

import os
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.conftest import ROOT
from tests.helping import awaited, ran

WITH_TESTS = ("setpriv", "--pdeathsig", "KILL")
"""Begins a command that the kernel kills when the tests end, however they end."""

NEEDS = ("setpriv", "unshare", "nsenter", "ip", "mount", "hostname")
NETWORK = "10.77.0"
"""Network within the namespaces only."""

_HOLD = """
hostname {name} && mount -t tmpfs none /tmp && mount -t tmpfs none /dev/shm &&
mkdir /tmp/home && ip link set lo up && {{ sleep infinity & }} && touch {ready} && wait
"""
"""The first process of a node: it waits for all that loses its parent, and ends with its child."""


def missing() -> str:
    """Return why no nodes can be made here, or an empty string."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    if absent := [name for name in NEEDS if shutil.which(name) is None]:
        return f"not installed: {', '.join(absent)}"
    if ROOT.is_relative_to("/tmp"):
        return "the checkout lies in /tmp, of which each node has its own"
    probe = ran(
        "unshare", "--net", "--mount", "--uts", "--pid", "--fork", "--mount-proc", "true",
        code=None,
    )  # fmt: skip
    return f"namespaces cannot be made: {probe.stderr.strip()}" if probe.returncode else ""


@dataclass(kw_only=True)
class MadeNode:
    """A node."""

    name: str  # its host name
    address: str  # its IP address
    port: str  # name of its port at the bridge
    holder: subprocess.Popen[bytes]
    pid: int
    environment: dict[str, str] = field(default_factory=dict)  # variables of all that runs on it

    @property
    def root(self) -> Path:
        """Its file system, as the test sees it."""
        return Path(f"/proc/{self.pid}/root")

    def command(self, words: Sequence[str | Path], cwd: Path) -> list[str]:
        """Return the command that runs ``words`` on the node."""
        variables = {
            "HOME": "/tmp/home", "PATH": f"{ROOT}/.venv/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "PYTHONUNBUFFERED": "1", "LANG": "C.UTF-8", **_passed_on(), **self.environment,
        }  # fmt: skip
        enter = ["nsenter", f"--target={self.pid}", "--net", "--mount", "--uts", "--pid"]
        settings = [f"{name}={value}" for name, value in variables.items()]
        inside = ["sh", "-c", 'cd "$0" && exec "$@"', str(cwd)]
        return [*enter, "--", "env", "-i", *settings, *inside, *map(str, words)]

    def start(self, *words: str | Path, cwd: Path = Path("/tmp")) -> subprocess.Popen[str]:
        """Start a command on the node."""
        return subprocess.Popen(
            self.command(words, cwd), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip

    def run(
        self, *words: str | Path, cwd: Path = Path("/tmp"), timeout_s: float = 100
    ) -> subprocess.CompletedProcess[str]:
        """Run a command on the node to its end; it is killed where that takes too long."""
        process = self.start(*words, cwd=cwd)
        try:
            out, err = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
            raise AssertionError(f"{words} took over {timeout_s} s:\n{out}\n{err}") from None
        return subprocess.CompletedProcess(words, process.returncode, out, err)

    def end(self) -> None:
        """End all that runs on the node."""
        if self.holder.poll() is None:
            self.holder.kill()  # its child, the first process of the namespace, ends with it
        self.holder.wait()


class MadeNetwork:
    """Nodes on one bridge in a separate network namespace."""

    def __init__(self, shared: Path) -> None:
        """Make the bridge; ``shared`` is a folder that every node sees."""
        self.shared = shared
        self.nodes: dict[str, MadeNode] = {}
        self._bridge = subprocess.Popen([*WITH_TESTS, "unshare", "--net", "sleep", "infinity"])
        _await_namespace(self._bridge.pid)
        self._on_bridge("ip link add bridge type bridge && ip link set bridge up")

    def add(self, name: str, **environment: str) -> MadeNode:
        """Make a node and plug it in."""
        ready = self.shared / f".{name}-is-ready"
        hold = _HOLD.format(name=name, ready=shlex.quote(str(ready)))
        holder = subprocess.Popen(
            [*WITH_TESTS, "unshare", "--net", "--mount", "--uts", "--pid", "--fork",
             "--kill-child", "--mount-proc", "sh", "-c", hold]
        )  # fmt: skip
        _await_file(ready, holder)
        pid = int(Path(f"/proc/{holder.pid}/task/{holder.pid}/children").read_text().split()[0])
        number = len(self.nodes) + 1
        node = MadeNode(
            name=name, address=f"{NETWORK}.{number}", port=f"port{number}", holder=holder,
            pid=pid, environment=environment,
        )  # fmt: skip
        self.nodes[name] = node
        self._on_bridge(
            f"ip link add port{number} type veth peer name eth0 netns {pid}"
            f" && ip link set port{number} master bridge up"
        )
        plugged = node.run(
            "sh", "-c",
            f"ip address add {node.address}/24 dev eth0 && ip link set eth0 up"
            f" && ip route add default dev eth0",
        )  # fmt: skip
        assert plugged.returncode == 0, plugged.stderr
        return node

    def lose(self, name: str) -> None:
        """Lose a node as when its power fails: the network gets no message."""
        node = self.nodes[name]
        self._on_bridge(f"ip link set {node.port} down")
        node.end()

    def close(self) -> None:
        """End everything."""
        for node in self.nodes.values():
            node.end()
        self._bridge.kill()
        self._bridge.wait()

    def _on_bridge(self, script: str) -> None:
        enter = ["nsenter", f"--target={self._bridge.pid}", "--net", "sh", "-c", script]
        subprocess.run(enter, check=True, capture_output=True)


@contextmanager
def made_network() -> Iterator[MadeNetwork]:
    """Make a network, with shared storage outside the /tmp that every node has for itself."""
    with tempfile.TemporaryDirectory(prefix="sweep-nodes-", dir="/var/tmp") as shared:
        network = MadeNetwork(Path(shared))
        try:
            yield network
        finally:
            network.close()


def _passed_on() -> Mapping[str, str]:
    """Return the variables of the tests that nodes have, too."""
    names = ("SWEEP_TESTS", "OMP_WAIT_POLICY", "OPENBLAS_CORETYPE", "DGLBACKEND")
    return {name: os.environ[name] for name in names if name in os.environ}


def _await_namespace(pid: int) -> None:
    """Wait until the process has left the network namespace of the tests."""
    ours, its = (Path(f"/proc/{process}/ns/net") for process in ("self", pid))
    awaited(lambda: its.readlink() != ours.readlink(), "the bridge's namespace")


def _await_file(path: Path, holder: subprocess.Popen[bytes]) -> None:
    awaited(lambda: path.exists() or holder.poll() is not None, f"{path}")
    assert path.exists(), f"the node ended with {holder.returncode}"
