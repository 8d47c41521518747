"""The block fits its width and height; what matters least goes first."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console, Group

from orchestrator.storage.history import read_history
from orchestrator.tracking.console.block import block
from orchestrator.tracking.console.progress import Best, BestSoFar, GpuLoad, Load, progress_of
from orchestrator.trial import Budget, Stage
from tests.orchestrator.tracking.journals import Scribe, config, events_of, make_trial

FIGURES = {"samples_per_s": 1.5e4, "val_acc": 0.8667}
NONE = BestSoFar()
LOAD = Load(num_cores=2, own=1.9, others=0.1)


@pytest.fixture
def scribe(tmp_path: Path) -> Scribe:
    scribe = Scribe(tmp_path)
    scribe.sweep(num_planned=9)
    return scribe


def lines_of(
    scribe: Scribe, *, best: BestSoFar = NONE, load: Load | None = None, width: int = 80
) -> list[str]:
    history = read_history(events_of(scribe.run_dir))
    now = progress_of(history, most_running=1, now=history.last_at or 0.0)
    console = Console(file=io.StringIO(), width=width, highlight=False)
    with console.capture() as written:
        console.print(Group(*block(now, best, elapsed_s=42.0, width=width, load=load)))
    return [line.rstrip() for line in written.get().splitlines()]


def full_lines(scribe: Scribe, width: int = 80) -> list[str]:
    for number in range(2, 8):
        scribe.started(scribe.asked(make_trial(number)))
    waits = scribe.asked(make_trial(8))
    scribe.record("waiting", trial_id=waits.id, seconds=30.0, what="2 cores of another sweep")
    titles = ("recommended", "fastest", "most accurate")
    leaders = [Best(title=t, config=config(6 + n), figures=FIGURES) for n, t in enumerate(titles)]
    best = BestSoFar(leaders=leaders, baseline=1e4)
    return lines_of(scribe, best=best, load=LOAD, width=width)


@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_it_is_never_wider_than_the_terminal_and_nothing_is_lost(
    scribe: Scribe, width: int
) -> None:
    lines = full_lines(scribe, width)
    assert max(map(len, lines)) <= width
    text = "".join("".join(lines).split())
    for part in ("0of9done", "haswaited0:30for2coresofanothersweep", "thissweepuses1.9"):
        assert part in text


def test_what_matters_least_comes_last(scribe: Scribe) -> None:
    text = "\n".join(full_lines(scribe))
    first = ("0 of 9 done", "6 running", "has waited", "cores: ", "recommended", "most accurate")
    places = [text.index(part) for part in (*first, make_trial(2).id[:6])]
    assert places == sorted(places)


def test_the_load_of_cores_and_gpus_is_told(scribe: Scribe) -> None:
    scribe.started(scribe.asked(make_trial(0)))
    gpu = GpuLoad(busy_share=0.87, used_gib=10.2, total_gib=79.2)
    silent = replace(gpu, busy_share=None)
    lines = lines_of(scribe, load=replace(LOAD, gpus=(gpu, silent)))
    assert " ".join(" ".join(lines[2:4]).split()) == (
        "cores: 2 of 2 held by trials this sweep uses 1.9 other processes use 0.1 "
        "GPU 0: 87 % busy, 10.2 of 79 GiB GPU 1: 10.2 of 79 GiB"
    )


def test_interleaved_trials_hold_the_same_cores(scribe: Scribe) -> None:
    for repeat in range(3):
        trial = make_trial(0, stage=Stage.CONFIRM, repeat=repeat)
        scribe.started(scribe.asked(replace(trial, interleaved=True)))
    text = "\n".join(lines_of(scribe))
    assert "cores: 2 held by trials" in text
    assert "loading, first epoch, in time slices" in text


def test_a_running_trial_says_what_it_does(scribe: Scribe) -> None:
    trial = replace(make_trial(0), budget=Budget(epochs=4, steps=400))
    scribe.started(scribe.asked(trial))
    activities = []
    for epoch in (0, 1, 4):
        if epoch:
            scribe.reported(trial, epoch)  # of 100 steps each
        activities.append(lines_of(scribe)[4].split("  ")[2])
    assert activities == ["loading, first epoch", "100 of 400 steps", "all epochs done, ending"]
