"""The server in MLflow's place does what its mode says."""

from __future__ import annotations

import http.client
from contextlib import closing

import pytest

from benchmarks.reliability.mlflow_servers.proxy import DOWN, FAULTS, WELL, Proxy


def asked(proxy: Proxy) -> tuple[int, bytes]:
    """Return status and body of an answer."""
    connection = http.client.HTTPConnection("127.0.0.1", proxy.port, timeout=0.3)
    with closing(connection):
        connection.request("GET", "/api")
        answer = connection.getresponse()
        return answer.status, answer.read()


def test_it_fails_in_each_way() -> None:
    backend = Proxy("nothing")
    proxy = Proxy(f"127.0.0.1:{backend.port}")
    with backend.listening(), proxy.listening():
        backend.become("answers 401")
        for mode, status in (
            (WELL, 401),
            ("answers 500", 500),
            ("answers 200 with HTML", 200),
            ("redirects to a page", 302),
            ("redirects to itself", 307),
        ):
            proxy.become(mode)
            assert asked(proxy)[0] == status, mode
        for mode in ("hangs", "never ends its answer", "closes at once", DOWN):
            proxy.become(mode)
            with pytest.raises((OSError, http.client.HTTPException)):
                asked(proxy)
        assert proxy.num_bad == 7
        assert {"takes 5 s for each answer", "answers 200 with {}"} <= FAULTS.keys()
        proxy.become(WELL)
        assert asked(proxy)[0] == 401, "it listens again"
