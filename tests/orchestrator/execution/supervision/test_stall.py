"""A trial that says nothing: stuck if it does nothing, else given its time."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from orchestrator.execution.leases import CoreLeases
from orchestrator.execution.process.fork_client import ForkServers
from orchestrator.execution.supervision import stall as stall
from orchestrator.execution.supervision.stall import STALL_LIMIT_S, StallDetector
from orchestrator.trial import TrialState
from tests.orchestrator.execution.supervised import launch_of, run


@pytest.mark.parametrize(
    ("act", "state"), [("wait", TrialState.FAILED), ("burn", TrialState.COMPLETED)]
)
def test_an_epoch_may_take_longer_than_the_limit_as_long_as_it_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, act: str, state: TrialState
) -> None:
    monkeypatch.setattr(stall, "STALL_LIMIT_S", 1.5)
    with closing(ForkServers()) as servers:
        result = run(launch_of(tmp_path, act=act, duration_s=5.0), servers, CoreLeases()).result

    assert result.state is state, result.reason
    assert ("used under 1% of a core" in result.reason) == (state is TrialState.FAILED)


def test_work_counts_anew_in_every_hour() -> None:
    now = 0.0
    watch = StallDetector(lambda: now)
    watch.update(cpu_s=1000.0)
    now = STALL_LIMIT_S + 1
    assert not watch.reason()
    now *= 1.9
    assert not watch.reason()
    now = 2 * STALL_LIMIT_S + 3
    assert watch.reason()
