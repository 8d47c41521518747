"""Events are read back as they were written, and lines of wrong types are refused."""

from __future__ import annotations

import json

import pytest

from orchestrator.kernel.events import (
    Asked,
    Continued,
    Cut,
    Ended,
    Event,
    Finished,
    Merged,
    Noted,
    Opened,
    Reported,
    Resumed,
    Started,
    Timed,
    Waiting,
    decode,
    encode,
)
from orchestrator.trial import Budget, Report, Stage, Trial, TrialResult, TrialState

TRIAL = Trial(
    id="a",
    stage=Stage.TRAIN,
    config={"lr": 0.1, "fanouts": (1, 2), "amp": None},
    budget=Budget(epochs=1),
    seed=0,
)
REPORT = Report(step=1, epoch=1, samples=8, elapsed_s=0.5, metrics={"loss": float("inf")})
ONE_OF_EACH: tuple[Event, ...] = (
    Opened(sweep={"name": "s"}), Resumed(sweep={}), Asked(trial=TRIAL), Merged(trial=TRIAL),
    Started(trial_id="a", node="n", cores=2, restored_epochs=1),
    Reported(trial_id="a", report=REPORT), Waiting(trial_id="a", seconds=1.0, what="cores"),
    Finished(trial_id="a", result=TrialResult(state=TrialState.NOT_RUN)),
    Cut(part="search", by="b", limits={"time_s": 1.5, "max_cost": None}, text="t"),
    Continued(trials=None), Noted(text="t"), Ended(exit_code=0),
    Timed(trial_id="a", blocks=[(0, 0, 8, 80, 0.5, 0)]),
)  # fmt: skip


def line(event: str, **content: object) -> bytes:
    return json.dumps({"at": 1.5, "event": event, **content}).encode()


@pytest.mark.parametrize("event", ONE_OF_EACH, ids=lambda event: type(event).__name__)
def test_an_event_is_read_back_as_it_was_written(event: Event) -> None:
    timed = type(event)(**{**vars(event), "at": 1.5})
    assert decode(encode(timed)) == timed


def test_blocks_and_output_are_not_in_the_journal() -> None:
    result = TrialResult(state=TrialState.COMPLETED, blocks=[[0, 0, 8, 80, 0.5, 0]], output="text")
    written = json.loads(encode(Finished(at=1.0, trial_id="a", result=result)))
    assert not {"blocks", "output"} & set(written["result"])
    assert list(written) == ["at", "event", "trial_id", "result"]


def test_a_kind_of_a_later_version_is_none() -> None:
    assert decode(line("of a later version", more=[1])) is None
