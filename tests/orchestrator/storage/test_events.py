"""An event is held against what a reader of it relies on."""

from __future__ import annotations

import json

import pytest

from orchestrator.storage.events import OF_A_DAMAGED_LINE, EventReader
from orchestrator.trial import Budget, Stage, Trial, TrialResult, TrialState

TRIAL = Trial(
    id="a",
    stage=Stage.TRAIN,
    config={"lr": 0.1, "fanouts": (1, 2)},
    budget=Budget(epochs=1),
    seed=0,
)


def line(event: str, **content: object) -> bytes:
    return json.dumps({"at": 1.5, "event": event, **content}).encode()


def test_events_of_a_run_are_read() -> None:
    reader, result = EventReader(), TrialResult(state=TrialState.NOT_RUN).to_json()
    done = TrialResult(state=TrialState.COMPLETED, started_at=1.7e9, wall_s=2).to_json()
    for event in (
        line("asked", trial=TRIAL.to_json()), line("merged", trial=TRIAL.to_json()),
        line("started", trial_id="a", node="n", cores=2),
        line("waiting", trial_id="a", seconds=1, what=""),
        line("finished", trial_id="a", result=result), line("finished", trial_id="a", result=done),
        line("cut", part="search", by="b", limits={"time_s": 1.5, "max_cost": None}, text="t"),
        line("of a later version", more=[1]), line("went_on", trials=None),
    ):  # fmt: skip
        assert reader.read(event, of_trials=True) == json.loads(event)


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (line("started", trial_id="a"), "was never asked for"),
        (line("asked", trial=TRIAL.to_json() | {"repeat": "0"}), "repeat = '0'"),
        (line("asked", trial=TRIAL.to_json() | {"config": {"lr": [[1]]}}), "'lr' of the config"),
        (line("note"), "text"),
        (line("cut", part="search", by="b", text="t"), "limits"),
        (line("cut", part="search", by="b", limits={"time_s": "1"}, text="t"), "limits"),
        (line("cut", part="search", by="b", limits={}), "text"),
        (line("note", text=3), "text is not a str"),
        (line("blocks", trial_id="a", blocks=[[0, 0, 8, 80, 0.5]]), r"blocks\[0\] is not 6 values"),
    ],
)
def test_an_event_of_wrong_types_is_refused(event: bytes, said: str) -> None:
    with pytest.raises(OF_A_DAMAGED_LINE, match=said):
        EventReader().read(event, of_trials=True)


def test_a_start_without_its_cores_is_refused_in_the_journal_alone() -> None:
    reader = EventReader()
    reader.read(line("asked", trial=TRIAL.to_json()), of_trials=True)
    started = line("started", trial_id="a", node="n")
    with pytest.raises(OF_A_DAMAGED_LINE, match="cores"):
        reader.read(started, of_trials=True)
    assert EventReader().read(started, of_trials=False)["trial_id"] == "a"


def test_of_the_times_of_steps_trials_need_not_be_asked_for() -> None:
    blocks = line("blocks", trial_id="a", blocks=[[0, 0, 8, 80, 0.5, 0]])
    assert EventReader().read(blocks, of_trials=False)["trial_id"] == "a"
