"""A recorded run says how far it came and whether it ended by itself."""

from __future__ import annotations

import pytest

from orchestrator.replay.recorded import RecordedRun
from orchestrator.trial import TrialState
from tests.orchestrator.replay.made_runs import failed_run, made_run


@pytest.mark.parametrize("state", [state for state in TrialState if state != "not_run"])
def test_failed_and_infeasible_runs_ended_by_themselves(state: TrialState) -> None:
    ended = {TrialState.FAILED, TrialState.INFEASIBLE}
    assert RecordedRun(wall_s=1.0, state=state).ended_by_itself is (state in ended)


def test_a_run_is_as_long_as_its_last_report() -> None:
    assert made_run(4).num_epochs == 4
    assert failed_run().num_epochs == 0
