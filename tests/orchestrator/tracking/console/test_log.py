"""The lines that stay: what they name, and what is said once."""

from __future__ import annotations

from pathlib import Path

from orchestrator.storage.history import read_history
from orchestrator.tracking.console.log import NOTE, Log, note
from orchestrator.trial import TrialState
from tests.orchestrator.tracking.journals import Scribe, events_of, make_trial


def parts_of(scribe: Scribe, number: int, *, starts: bool = False) -> list[str]:
    """Return the parts of the lines of the last event, which is of a trial."""
    *_, last = events = events_of(scribe.run_dir)
    history = read_history(events)
    trial = history.trials[make_trial(number).id]
    return [
        part for line in Log(starts=starts).happened(last, trial, history) for part in line.parts
    ]


def test_a_reason_is_its_first_line_and_moves_no_cursor(tmp_path: Path) -> None:
    scribe = Scribe(tmp_path)
    scribe.sweep()
    trial = scribe.asked(make_trial(0))
    scribe.finished(trial, TrialState.FAILED, reason="\x1b[31mbad\x1b[0m\rluck\nits traceback")
    reason = parts_of(scribe, 0)[-1]
    assert reason.startswith("failed: ")
    assert reason.isprintable()
    assert "traceback" not in reason


def test_what_a_budget_has_left_out_is_said_in_words(tmp_path: Path) -> None:
    scribe = Scribe(tmp_path)
    scribe.sweep()
    trial = scribe.asked(make_trial(0))
    scribe.finished(trial, TrialState.NOT_RUN, reason="the time budget of 60 s had ended")
    assert parts_of(scribe, 0)[-1] == "not run: the time budget of 60 s had ended"


def test_starts_have_lines_where_nothing_else_tells_of_them(tmp_path: Path) -> None:
    scribe = Scribe(tmp_path)
    scribe.sweep()
    scribe.started(scribe.asked(make_trial(1)))
    assert parts_of(scribe, 1) == []
    assert parts_of(scribe, 1, starts=True) == [
        "start", make_trial(1).id[:6], "num_workers=3"
    ]  # fmt: skip


def test_a_trial_that_is_begun_again_says_so(tmp_path: Path) -> None:
    scribe = Scribe(tmp_path)
    scribe.sweep()
    scribe.started(scribe.asked(make_trial(1)))
    *_, last = events = events_of(scribe.run_dir)
    log, history = Log(starts=True), read_history(events)
    trial = history.trials[make_trial(1).id]
    first, second = (next(log.happened(last, trial, history)) for _ in range(2))
    assert second.parts == (*first.parts, "again")


def test_a_note_can_be_searched_for() -> None:
    line = note("the disk\tis full")
    assert (line.parts, line.style) == (("! the disk is full",), NOTE)
