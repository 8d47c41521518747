"""The view fits its width; the least important comes last; phases, and the remaining time."""

import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console, Group

from orchestrator.storage.history import read_history
from orchestrator.tracking.console.view import Progress, block
from orchestrator.tracking.console.words import phase_of_trial
from orchestrator.trial import Budget, Stage, Trial
from tests.orchestrator.tracking.journals import Scribe, events_of, make_record, make_trial


@pytest.fixture
def scribe(tmp_path: Path) -> Scribe:
    return Scribe(tmp_path / "run")


def progress(scribe: Scribe, most_running: int = 1) -> Progress:
    history = read_history(events_of(scribe.run_dir))
    return Progress(history, history.last_at or 0.0, most_running=most_running)


def lines_of(scribe: Scribe, *, best: str = "", width: int = 80) -> list[str]:
    now = progress(scribe)
    console = Console(file=io.StringIO(), width=width, highlight=False)
    with console.capture() as written:
        console.print(Group(*block(now, best, elapsed_s=42.0, width=width)))
    return [line.rstrip() for line in written.get().splitlines()]


def full_lines(scribe: Scribe, width: int = 80) -> list[str]:
    scribe.sweep(num_planned=9)
    for number in range(2, 8):
        scribe.started(scribe.asked(make_trial(number)))
    waits = scribe.asked(make_trial(8))
    scribe.record("waiting", trial_id=waits.id, seconds=30.0, what="2 cores of another sweep")
    return lines_of(scribe, best="best so far: num_workers=3  15,000 samples/s", width=width)


@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_it_is_never_wider_than_terminal_and_nothing_is_lost(scribe: Scribe, width: int) -> None:
    lines = full_lines(scribe, width)
    assert max(map(len, lines)) <= width
    text = "".join("".join(lines).split())
    parts = ["0of9done", "6running", "haswaited0:30for2coresofanothersweep"]
    if width >= 80:
        parts += ["bestsofar:num_workers=315,000samples/s", make_trial(2).id[:6]]
    places = [text.index(part) for part in parts]
    assert places == sorted(places), "what matters least comes last"


def test_interleaved_trials_are_named(scribe: Scribe) -> None:
    scribe.sweep(num_planned=9)
    for repeat in range(3):
        trial = make_trial(0, stage=Stage.CONFIRM, repeat=repeat)
        scribe.started(scribe.asked(replace(trial, interleaved=True)))
    text = "\n".join(lines_of(scribe))
    assert "loading, first epoch, in time slices" in text


def test_a_running_trial_shows_what_it_does(scribe: Scribe) -> None:
    scribe.sweep(num_planned=9)
    trial = replace(make_trial(0), budget=Budget(epochs=4, steps=400))
    scribe.started(scribe.asked(trial))
    activities = []
    for epoch in (0, 1, 4):
        if epoch:
            scribe.reported(trial, epoch)  # of 100 steps each
        activities.append(lines_of(scribe)[3].split("  ")[2])
    assert activities == ["loading, first epoch", "100 of 400 steps", "all epochs done, ending"]


# -- progress


@pytest.mark.parametrize(
    ("planned", "most_running", "known"),
    [
        (4, 1, (1, 3, 4.5)), (4, 3, (1, 3, 1.5)), (4, 9, (1, 3, 0.5)),
        (None, 1, (None, 3, None)), (2, 1, (0, 3, None)),
    ],
)  # fmt: skip
def test_the_rest_is_known_where_it_is_planned_and_takes_as_long_as_the_trials_so_far(
    scribe: Scribe, planned: int | None, most_running: int, known: tuple[int | float | None, ...]
) -> None:
    scribe.sweep(num_planned=planned)
    for number in range(3):
        scribe.whole(make_trial(number))
    now = progress(scribe, most_running)
    left_s = None if now.left_s is None else pytest.approx(3 * now.left_s)
    assert (now.num_waiting, now.num_done, left_s) == known


def test_a_trial_takes_as_long_as_it_keeps_others_from_its_cores(scribe: Scribe) -> None:
    scribe.sweep(num_planned=2)
    scribe.whole(make_trial(0))
    events = events_of(scribe.run_dir)
    # 1.5 s of training, then its loader and its model separately.
    events[-1] = replace(events[-1], at=events[-1].at + 4.0)
    now = Progress(read_history(events), events[-1].at)
    assert now.left_s == pytest.approx(4.0, abs=0.5)


# -- the phase


def test_the_time_between_trials_has_a_name(scribe: Scribe) -> None:
    scribe.sweep(num_planned=2)
    assert progress(scribe).phase == "starting the next trial"
    scribe.started(scribe.asked(make_trial(0)))
    assert progress(scribe).phase == "search"
    scribe.finished(make_trial(0))
    scribe.whole(make_trial(1))
    assert progress(scribe).phase == "analysing: which configs come next"
    confirming = scribe.asked(make_trial(0, stage=Stage.CONFIRM))
    scribe.record("waiting", trial_id=confirming.id, seconds=3.0, what="2 cores")
    assert progress(scribe).phase == "confirm stage"


@pytest.mark.parametrize(
    ("trial", "search", "words"),
    [
        (make_trial(0), "Grid()", "search"),
        (make_trial(0, repeat=1), "Grid()", "repeats of the best"),
        (make_trial(0, stage=Stage.PROBE), "Grid()", "interference check"),
        (make_trial(0, stage=Stage.PROBE), "Factored()", "probes of speed"),
        (make_trial(0), "Factored()", "learning curves"),
        (make_trial(0, repeat=1), "Factored()", "further seeds"),
        (make_trial(0, stage=Stage.CONFIRM, repeat=2), "Grid()", "confirm stage"),
        (
            replace(make_trial(0, stage=Stage.CONFIRM), evaluate_test=True),
            "Grid()",
            "test run of the recommended config",
        ),
    ],
)
def test_a_trial_is_for_something(trial: Trial, search: str, words: str) -> None:
    assert phase_of_trial(trial, make_record(search=search)) == words
