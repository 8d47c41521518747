"""A server in front of MLflow's own: it hands requests on, or fails in one of several ways."""

from __future__ import annotations

import http.client
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final

WELL: Final = "well"
DOWN: Final = "down"
SLOW_S: Final = 5.0
_PAGE: Final = b"<!doctype html><title>Sign in</title><p>Sign in to go on</p>"


def make_certificate(path: Path) -> None:
    """Make a certificate for this machine that it has signed itself, and its key."""
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
         "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1",
         "-keyout", str(path), "-out", str(path)],
        check=True, capture_output=True,
    )  # fmt: skip


class Proxy:
    """A server that listens on a port of its own, in one mode at a time.

    Attributes:
        mode: What it does, one of :data:`FAULTS`, :data:`WELL` or :data:`DOWN`.
        num_runs: Runs that were created through it.
        num_bad: Requests that met a fault.
        since: When it took on its mode, as the monotonic clock has it.
        has_failed: True once it has been in another mode than :data:`WELL`.
    """

    def __init__(self, backend: str, certificate: Path | None = None) -> None:
        """Listen nowhere yet.

        Args:
            backend: Host and port of MLflow's server.
            certificate: Certificate and key, for TLS.
        """
        self.backend = backend
        self._certificate = certificate
        self.mode = WELL
        self.num_runs = 0
        self.num_bad = 0
        self.since = 0.0
        self.has_failed = False
        self.ended = threading.Event()
        self._server: ThreadingHTTPServer | None = None
        with socket.create_server(("127.0.0.1", 0)) as probe:
            self.port: int = probe.getsockname()[1]

    def become(self, mode: str) -> None:
        """Change the mode; while it is down nothing listens."""
        self.mode, self.since = mode, time.monotonic()
        self.has_failed = self.has_failed or mode != WELL
        if mode == DOWN and self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None
        elif mode != DOWN and self._server is None:
            handler = type("Handler", (_Handler,), {"proxy": self})
            self._server = ThreadingHTTPServer(("127.0.0.1", self.port), handler)
            self._server.daemon_threads = True
            if self._certificate is not None:
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                context.load_cert_chain(self._certificate)
                self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
            threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @contextmanager
    def listening(self) -> Iterator[None]:
        """End whatever it does at the end."""
        try:
            yield
        finally:
            self.ended.set()
            self.become(DOWN)


class _Handler(BaseHTTPRequestHandler):
    """One request."""

    proxy: Proxy
    protocol_version = "HTTP/1.1"

    def handle_one_request(self) -> None:
        """Answer, or close at once where that is the fault."""
        if self.proxy.mode == "closes at once":
            self.proxy.num_bad += 1
            self.close_connection = True
            return
        with suppress(ConnectionError):
            super().handle_one_request()

    def answer(self) -> None:
        """Do what the mode says."""
        mode = self.proxy.mode
        if mode != WELL:
            self.proxy.num_bad += 1
        FAULTS.get(mode, _Handler.hand_on)(self)

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = do_HEAD = answer

    def hand_on(self) -> None:
        """Hand the request on to MLflow's server, and its answer back."""
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        connection = http.client.HTTPConnection(self.proxy.backend, timeout=120)
        connection.request(self.command, self.path, body, dict(self.headers))
        answer = connection.getresponse()
        content = answer.read()
        if self.path.endswith("runs/create") and answer.status == http.HTTPStatus.OK:
            self.proxy.num_runs += 1
        self.send(answer.status, content, answer.getheader("Content-Type") or "application/json")
        connection.close()

    def send(self, status: int, content: bytes, kind: str = "text/html", **headers: str) -> None:
        """Send an answer."""
        self.send_response(status)
        for name, text in {"Content-Type": kind, **headers}.items():
            self.send_header(name, text)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def hang(self) -> None:
        """Answer nothing."""
        self.proxy.ended.wait()
        self.close_connection = True

    def drip(self) -> None:
        """Begin an answer that never comes to its end."""
        self.send_response(http.HTTPStatus.OK)
        self.send_header("Content-Length", "1000000")
        self.end_headers()
        while not self.proxy.ended.wait(1.0):
            self.wfile.write(b" ")
            self.wfile.flush()

    def redirect(self) -> None:
        """Redirect to a page to sign in."""
        if self.path == "/login":
            self.send(http.HTTPStatus.OK, _PAGE)
        else:
            self.send(http.HTTPStatus.FOUND, b"", Location="/login")

    def go_round(self) -> None:
        """Redirect to the same address."""
        self.send(http.HTTPStatus.TEMPORARY_REDIRECT, b"", Location=self.path)

    def be_slow(self) -> None:
        """Answer as MLflow does, some seconds later."""
        time.sleep(SLOW_S)
        self.hand_on()

    def log_message(self, *_: object) -> None:
        """Write no log."""


FAULTS: Final[dict[str, Callable[[_Handler], None]]] = {
    "answers 500": lambda handler: handler.send(500, b"Internal Server Error"),
    "answers 503 for ever": lambda handler: handler.send(503, _PAGE, **{"Retry-After": "3600"}),
    "answers 429": lambda handler: handler.send(429, b"{}", "application/json"),
    "answers 200 with HTML": lambda handler: handler.send(200, _PAGE),
    "answers 200 with {}": lambda handler: handler.send(200, b"{}", "application/json"),
    "answers 200 with nothing": lambda handler: handler.send(200, b"", "application/json"),
    "answers 200 with a list": lambda handler: handler.send(200, b"[1]", "application/json"),
    "answers 401": lambda handler: handler.send(401, _PAGE),
    "hangs": _Handler.hang,
    "never ends its answer": _Handler.drip,
    "closes at once": _Handler.hang,  # before a request is read
    "redirects to a page": _Handler.redirect,
    "redirects to itself": _Handler.go_round,
    "takes 5 s for each answer": _Handler.be_slow,
}
"""What a server does instead, by name; :data:`DOWN` is one more."""
