import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from unittest.mock import patch

import psutil
import pytest

from orchestrator.execution.process import fork_client
from orchestrator.execution.process.fork_client import NotForked, ServerError
from orchestrator.execution.process.fork_servers import ForkServers, server_key
from orchestrator.system.import_path import make_importable
from tests.leaks import alive_after
from tests.orchestrator.execution.supervised import (
    PRELOAD,
    forked,
    server_of,
    wait_for,
    wait_for_end,
)


@pytest.fixture
def own_servers() -> Iterator[ForkServers]:
    """Servers that the test may kill."""
    with closing(ForkServers()) as made:
        yield made


def test_one_server_an_allocator_and_list_of_modules(servers: ForkServers) -> None:
    first = servers.socket_for("tuned", PRELOAD)
    assert servers.socket_for("tuned", PRELOAD) == first
    assert first.name == server_key("tuned", PRELOAD)
    assert server_key("tuned", PRELOAD) != server_key("default", PRELOAD)


IMPORTED = {
    "leaving": "import os, signal\nsignal.signal(signal.SIGALRM, lambda *_: os._exit(1))\n",
    "broken": "import nothing_that_exists\n",
}


@contextmanager
def servers_with(module: str, folder: Path) -> Iterator[ForkServers]:
    (folder / f"{module}.py").write_text(IMPORTED[module])
    with patch.object(sys, "path", [str(folder), *sys.path]), closing(ForkServers()) as servers:
        yield servers


@pytest.mark.usefixtures("quick_servers")
def test_a_server_that_ends_while_it_imports_is_named_with_its_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fork_client, "LISTENS_WITHIN_S", 3.0)
    with (
        servers_with("broken", tmp_path) as servers,
        pytest.raises(ServerError) as refused,
        forked(servers.socket_for("tuned", ("broken",)), tmp_path),
    ):
        pass
    first, *rest = str(refused.value).splitlines()
    why = "ModuleNotFoundError: No module named 'nothing_that_exists'"
    assert first == f"the fork server did not start: {why}"
    assert rest[-1] == why, "the traceback is below"


@pytest.mark.usefixtures("quick_servers")
def test_a_server_that_dies_ends_its_children_and_the_next_one_serves(
    own_servers: ForkServers, tmp_path: Path
) -> None:
    path = own_servers.socket_for("tuned", ())
    with forked(path, tmp_path, "first") as first:
        server, child = server_of(first), psutil.Process(first.pid)
        server.suspend()
        wait_for(server, psutil.STATUS_STOPPED)
        killing = threading.Timer(0.2, server.kill)
        killing.start()
        with (
            pytest.raises(NotForked, match="the fork server ended"),
            forked(path, tmp_path, "second"),
        ):
            pass
        killing.join()
        assert psutil.wait_procs([child], timeout=10)[1] == []
        assert first.poll(10.0) == -9
        wait_for_end(own_servers)  # its sockets are closed a moment before
    with forked(own_servers.socket_for("tuned", ()), tmp_path, "third") as third:
        assert third.poll() is None


@pytest.mark.usefixtures("quick_servers")
def test_closing_ends_servers_and_children_and_removes_their_folder(
    own_servers: ForkServers, tmp_path: Path
) -> None:
    path = own_servers.socket_for("tuned", ())
    with forked(path, tmp_path) as process:
        child = psutil.Process(process.pid)
        own_servers.close()
        assert psutil.wait_procs([child], timeout=10)[1] == []
        assert process.poll(10.0) == -9
    assert not path.parent.exists()


@pytest.mark.usefixtures("quick_servers")
def test_a_server_that_has_served_is_started_again(tmp_path: Path) -> None:
    with servers_with("leaving", tmp_path) as servers:
        path = servers.socket_for("tuned", ("leaving",))
        for end in (signal.SIGKILL, signal.SIGALRM):
            with forked(path, tmp_path, end.name) as process:
                server = server_of(process)
                servers.keep_up()  # nothing is wrong with it
                assert server_of(process) == server
                server.send_signal(end)
                wait_for_end(servers)
            servers.keep_up()
        with forked(path, tmp_path, "last") as process:
            assert process.poll() is None


IMPORTED["full"] = """
import errno
import os
from pathlib import Path

fork = os.fork


def fork_where_there_is_room():
    if Path(__file__).with_name("full").exists():
        raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))
    return fork()


os.fork = fork_where_there_is_room
"""


@pytest.mark.usefixtures("quick_servers")
def test_a_fork_that_fails_costs_one_process(tmp_path: Path) -> None:
    with servers_with("full", tmp_path) as servers:
        path = servers.socket_for("tuned", ("full",))
        with forked(path, tmp_path, "first") as first:
            (tmp_path / "full").touch()
            with (
                pytest.raises(ServerError, match="no process could be forked: Cannot allocate"),
                forked(path, tmp_path, "second"),
            ):
                pass
            (tmp_path / "full").unlink()
            with forked(path, tmp_path, "third") as third:
                assert server_of(third) == server_of(first)
                assert first.poll() is None


OWNER = """
import os, subprocess, sys, time
from orchestrator.execution.process.fork_servers import ForkServers

servers = ForkServers()
servers.warm([("tuned", ())])
mark = {"SWEEP_FORK_SERVER": str(servers.socket_for("tuned", ()).parent)}
sleep = dict(args=["sleep", "600"], process_group=0, stdout=subprocess.DEVNULL)
print(subprocess.Popen(**sleep, env={**os.environ, **mark}).pid, flush=True)
sys.stdin.read()
servers.close()
"""


@pytest.mark.parametrize("is_killed", [True, False])
def test_marked_processes_end_with_the_owner(is_killed: bool) -> None:
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    pids = [int(pid) for pid in owner.stdout.readline().split()]
    if is_killed:
        owner.kill()
    owner.communicate()  # closes its standard input
    assert alive_after(pids, within_s=30) == []


WRITES_ITS_PATH = "from pathlib import Path\nPath({target!r}).write_text(__file__)\n"


def test_a_server_imports_from_the_root_first_and_the_sweeps_own_folder_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, own, paths = tmp_path / "root", tmp_path / "root/sweeps", tmp_path / "paths"
    own.mkdir(parents=True)
    (root / ".git").touch()
    paths.mkdir()
    # One at the root, one in a package called like ours, and two in the sweep's folder, one of
    # them called like an installed module.
    (root / "trainables").mkdir()
    (root / "trainables/__init__.py").touch()
    for place in ("at_root", "trainables/in_folder", "sweeps/beside_it", "sweeps/optuna"):
        file = root / f"{place}.py"
        file.parent.mkdir(exist_ok=True)
        file.write_text(WRITES_ITS_PATH.format(target=str(paths / file.stem)))
    monkeypatch.setattr("sys.path", list(sys.path))
    make_importable(own / "question.py")
    modules = ("at_root", "trainables.in_folder", "beside_it", "optuna.distributions")
    with (
        closing(ForkServers()) as servers,
        forked(servers.socket_for("tuned", modules), tmp_path) as process,
    ):
        assert process.pid
    assert {path.name: path.read_text() for path in paths.iterdir()} == {
        "at_root": str(root / "at_root.py"),
        "in_folder": str(root / "trainables/in_folder.py"),
        "beside_it": str(own / "beside_it.py"),
    }
