from __future__ import annotations

import pytest

from orchestrator.execution.ray.message import Message, Start
from orchestrator.trial import Report, TrialResult, TrialState

REPORT = Report(step=3, epoch=1, samples=24, elapsed_s=0.5, metrics={"loss": 1.0}, blocks=[[1, 0]])
RESULT = TrialResult(
    state=TrialState.FAILED, reason="ValueError: no", metrics={"epochs": 1.0}, blocks=[]
)


@pytest.mark.parametrize(
    "message",
    [
        pytest.param(Message(), id="nothing"),
        pytest.param(Message(reports=(("a", REPORT), ("b", REPORT)), so_far=RESULT), id="reports"),
        pytest.param(Message(trial_id="a", start=Start(node="n", restored_epochs=2)), id="start"),
        pytest.param(Message(trial_id="a", result=RESULT, notes=("a note",)), id="end"),
        pytest.param(Message(waiting="2 cores"), id="waiting"),
    ],
)
def test_a_message_arrives_as_it_was_sent(message: Message) -> None:
    assert Message.from_tune(message.to_tune()) == message


def test_a_result_that_tune_has_made_itself_holds_no_message() -> None:
    assert Message.from_tune({"done": True, "trial_id": "of Tune"}) == Message()
