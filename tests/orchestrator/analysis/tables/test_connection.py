from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from orchestrator.analysis.tables.connection import connected
from orchestrator.errors import RunDirectoryError


@pytest.fixture
def silent_port() -> Iterator[int]:
    """A port that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture
def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
    return port


def test_a_server_that_is_not_there_is_asked_once(
    closed_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "7")
    with pytest.raises(RunDirectoryError, match=rf"127.0.0.1:{closed_port}: .*refused.*\n  is it"):
        connected(f"http://127.0.0.1:{closed_port}")
    assert os.environ["MLFLOW_HTTP_REQUEST_MAX_RETRIES"] == "7"
    assert "MLFLOW_HTTP_REQUEST_TIMEOUT" not in os.environ


def test_a_server_that_does_not_answer_is_not_waited_for(
    silent_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "1")
    with pytest.raises(RunDirectoryError, match=r"MLflow cannot be read: .*Read timed out"):
        connected(f"http://127.0.0.1:{silent_port}")


class Other(BaseHTTPRequestHandler):
    """A server that is not MLflow's."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(self.path.rpartition("/says/")[2].partition("/")[0].encode())

    do_POST = do_GET

    def log_message(self, *_: object) -> None: ...


def test_a_server_that_is_not_mlflows_is_one_message() -> None:
    with HTTPServer(("127.0.0.1", 0), Other) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        for said in ("<html>", "[1]", "3", "null", "", '{"experiments":3}'):
            with pytest.raises(RunDirectoryError, match=r"MLflow cannot be read: .*\n  is it"):
                connected(f"http://127.0.0.1:{server.server_address[1]}/says/{said}")
        server.shutdown()


def test_a_database_server_that_takes_no_connection_is_said_without_its_password(
    closed_port: int,
) -> None:
    with pytest.raises(RunDirectoryError, match="Connection refused") as refusal:
        connected(f"postgresql://me:secret@127.0.0.1:{closed_port}/mlflow")
    assert "secret" not in str(refusal.value)


def test_a_file_that_is_no_database_is_left_as_it_is(tmp_path: Path) -> None:
    text = tmp_path / "notes.db"
    text.write_text("not a database " * 500)
    with pytest.raises(RunDirectoryError, match="file is not a database"):
        connected(f"sqlite:///{text}")
    text.write_text("")
    with pytest.raises(RunDirectoryError, match=r"notes\.db: is empty"):
        connected(f"sqlite:///{text}")
    assert text.read_text() == ""
