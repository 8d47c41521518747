"""Ray itself: its start in a thread, what is not there, and leaving it."""

from __future__ import annotations

import ctypes
import signal
import socket
import threading
from pathlib import Path

import pytest
import ray

from orchestrator.execution.ray import connection
from orchestrator.execution.ray.connection import init_in_thread, private_to_driver
from tests.conftest import RunCli

WORKLOAD = Path(__file__).parents[1] / "workload.py"


def test_the_command_line_names_an_address_without_a_cluster(
    run_cli: RunCli, tmp_path: Path
) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    done = run_cli(WORKLOAD, "--address", address, "--no-mlflow", "--out", tmp_path / "run")
    assert done.returncode == 2
    assert f"--address {address}: no Ray cluster answers there: Connection refused" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_signal_and_a_command_line_are_not_rays_to_take() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with private_to_driver():
        assert ray._private.utils.get_entrypoint_name() == "python -m orchestrator"
        ray._private.utils.set_sigterm_handler(lambda *_: None)
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.parametrize("raised", [ValueError("no"), SystemExit("no")])
def test_what_it_raises_is_raised_here(raised: BaseException) -> None:
    def init() -> None:
        raise raised

    with pytest.raises(Exception, match=r"^no$"):
        init_in_thread(init)


def test_it_is_given_up_for_a_reason_and_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    stuck = threading.Event()
    try:
        with pytest.raises(TimeoutError, match="it has died"):
            init_in_thread(stuck.wait, lambda: "it has died")  # type: ignore[arg-type]
        monkeypatch.setattr(connection, "START_LIMIT_S", 0.1)
        with pytest.raises(TimeoutError, match="timed out"):
            init_in_thread(stuck.wait)  # type: ignore[arg-type]
    finally:
        stuck.set()


def test_a_handler_that_is_replaced_meanwhile_is_set_again() -> None:
    """A thread cannot set one from Python: C++ code can."""
    before = signal.getsignal(signal.SIGTERM)
    threads: list[threading.Thread] = []

    def init() -> None:
        threads.append(threading.current_thread())
        ctypes.CDLL(None).signal(int(signal.SIGTERM), None)

    heard: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: heard.append(number))
    try:
        end = init_in_thread(init)
        assert threads[0].is_alive(), "the kernel ends Ray's processes with it"
        end()
        assert not threads[0].is_alive()
        signal.raise_signal(signal.SIGTERM)
        assert heard == [signal.SIGTERM]
    finally:
        signal.signal(signal.SIGTERM, before)
