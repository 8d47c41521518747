"""The lines that stay: what they name, and figures and configs as text."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from orchestrator.storage.history import read_history
from orchestrator.tracking.console.log import Lines, differing, named_figure, printable
from orchestrator.trial import TrialState
from tests.orchestrator.tracking.journals import Scribe, events_of, make_trial


@pytest.fixture
def scribe(tmp_path: Path) -> Scribe:
    scribe = Scribe(tmp_path)
    scribe.sweep()
    return scribe


def parts_of(scribe: Scribe, number: int, *, starts: bool = False) -> list[str]:
    """Return the parts of the lines of the last event, which is of a trial."""
    *_, last = events = events_of(scribe.run_dir)
    history = read_history(events)
    lines = Lines(io.StringIO(), starts=starts)
    trial = history.trials[make_trial(number).id]
    return [part for line in lines.lines_of(last, trial, history) for part in line.parts]


@pytest.mark.parametrize(
    ("state", "reason", "shown"),
    [
        (TrialState.FAILED, "bad\tluck\nits traceback", "failed: bad luck"),
        (TrialState.NOT_RUN, "the time budget had ended", "not run: the time budget had ended"),
    ],
)
def test_a_reason_is_its_first_line_and_moves_no_cursor(
    scribe: Scribe, state: TrialState, reason: str, shown: str
) -> None:
    scribe.finished(scribe.asked(make_trial(0)), state, reason=reason)
    assert parts_of(scribe, 0)[-1] == shown


def test_starts_have_lines_where_nothing_else_shows_them(scribe: Scribe) -> None:
    scribe.started(scribe.asked(make_trial(1)))
    assert parts_of(scribe, 1) == []
    words = ["start", make_trial(1).id[:6], "num_workers=3"]
    assert parts_of(scribe, 1, starts=True) == words


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("samples_per_s", 41_234, "41.2k samples/s"), ("samples_per_s", 41.234, "41.2 samples/s"),
        ("val_acc", 0.86667, "val_acc 0.8667"), ("step_ms", 12.34567, "step_ms 12.35 ms"),
        ("my_own", 0.123456, "my_own 0.1235"),
    ],
)  # fmt: skip
def test_a_figure_has_its_name_or_its_unit(name: str, value: float, text: str) -> None:
    assert named_figure(name, value) == text


def test_a_config_is_named_by_what_differs_from_the_baseline() -> None:
    baseline = {"lr": 0.003, "fanouts": [10, 25], "pin": False, "amp": "off"}
    same = {"lr": 0.003, "fanouts": (10, 25), "pin": False, "amp": "bf16"}
    varied = ["pin", "fanouts", "lr"]
    assert differing(same, baseline, varied) == ["baseline"]
    other = same | {"lr": 0.0200001, "pin": True, "fanouts": (5, 5)}
    assert differing(other, baseline, varied) == ["pin=on", "fanouts=5,5", "lr=0.02"]


def test_what_others_have_written_moves_no_cursor() -> None:
    written = "\x1b[31mred\x1b[0m\tand\r\nmore\x07 \x1b]0;title\x07text"
    assert printable(written) == "red and more text"
