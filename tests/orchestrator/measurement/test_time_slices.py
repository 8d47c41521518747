"""A run that takes turns with others: its clock stands still in theirs."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator

import pytest

from orchestrator.measurement import time_slices as turns
from orchestrator.measurement.blocks import Block, Dropped
from orchestrator.measurement.run import Context, Run
from orchestrator.measurement.time_slices import TimeSlices
from orchestrator.trial import Budget, Report

OTHERS_S = 0.2
SLICE_S = 0.1
STEP_S = 0.004


class Listener:
    def __init__(self) -> None:
        self.reports: list[Report] = []

    def report(self, report: Report) -> bool:
        self.reports.append(report)
        return False


class Unsized:
    """A loader that does not say how many batches there are."""

    def __iter__(self) -> Iterator[int]:
        return iter(range(100))


class Waiting:
    """Others' turns, and how far the trial was before each of them."""

    def __init__(self) -> None:
        self.progress: list[float] = []

    def __call__(self, progress: float) -> None:
        self.progress.append(progress)
        time.sleep(OTHERS_S)


def trained(
    budget: Budget,
    loader: Iterable[int],
    *,
    burst: int = 1,
    evaluates: bool = False,
    slice_s: float = SLICE_S,
) -> tuple[Run, Report, Waiting]:
    waiting, listener = Waiting(), Listener()
    context = Context(seed=0, budget=budget, burst=burst)
    run = Run(context, listener, TimeSlices(waiting, burst=burst, slice_s=slice_s))
    for _ in run.epochs():
        for _ in run.batches(loader, samples=lambda _: 10):
            time.sleep(STEP_S)
        if evaluates:
            with run.evaluating():
                time.sleep(0.05)
        run.report()
    return run, listener.reports[-1], waiting


def blocks_of(run: Run) -> list[Block]:
    return list(run.recording().blocks)


def test_no_time_of_others_is_in_any_figure() -> None:
    run, last, waiting = trained(Budget(epochs=3), range(100), evaluates=True)

    assert len(waiting.progress) >= 6
    # a busy machine lengthens a step by some per cent; the others' turns would double it
    own_s, figures = 300 * STEP_S, last.metrics
    assert figures["train_s"] == pytest.approx(own_s, rel=0.25)
    assert figures["epoch_s"] == pytest.approx(own_s / 3, rel=0.25)
    assert figures["samples_per_s"] == pytest.approx(10 / STEP_S, rel=0.25)
    assert figures["step_ms"] == pytest.approx(1000 * STEP_S, rel=0.25)
    assert figures["eval_s"] == pytest.approx(0.15, rel=0.25)
    assert last.elapsed_s == pytest.approx(own_s + 0.15, rel=0.25)
    assert sum(block.num_steps for block in blocks_of(run)) == 300


def test_it_says_how_far_it_is() -> None:
    _, _, waiting = trained(Budget(epochs=3), range(100))
    assert waiting.progress == sorted(waiting.progress)
    assert 0 < waiting.progress[0] < 1 / 3
    assert len(set(waiting.progress)) == len(waiting.progress)
    assert waiting.progress[-1] > 0.9

    _, _, unsized = trained(Budget(epochs=3), Unsized())
    assert unsized.progress[0] == 0, "an epoch of unknown length counts once it is done"

    _, _, by_steps = trained(Budget(epochs=100, steps=100), range(200))
    assert by_steps.progress[0] == pytest.approx(0.25, abs=0.1)


@pytest.mark.parametrize("burst", [1, 4])
def test_the_first_round_of_a_turn_is_no_steady_state(burst: int) -> None:
    run, _, waiting = trained(Budget(epochs=1), range(200), burst=burst)

    begins = [block for block in blocks_of(run) if block.end is Dropped.SLICE_START]
    assert len(begins) >= len(waiting.progress) - 1 >= 3
    assert {block.num_steps for block in begins[:-1]} == {burst}
    ends = [block.end for block in blocks_of(run)]
    assert ends.count(Dropped.EPOCH_START) == 1
    steps = [(block.first_step, block.num_steps) for block in blocks_of(run)]
    assert [first for first, _ in steps[1:]] == [first + num for first, num in steps[:-1]]
    rows = [Block.from_row(block.to_row()).end for block in blocks_of(run)]
    assert rows == ends, "they are told as they are"


def test_no_turn_begins_in_the_last_round_of_an_epoch() -> None:
    """In which the loader makes nothing any more: it would be taken for the steady state."""
    run, _, _ = trained(Budget(epochs=2), range(24 + 3), burst=4, slice_s=0.0)

    last = [block for block in blocks_of(run) if block.first_step + block.num_steps == 27]
    assert [(block.num_steps, block.end) for block in last] == [(4, Dropped.EPOCH_END)] * 2


@pytest.mark.parametrize("error", [TypeError, ValueError, AttributeError, NotImplementedError])
def test_a_loader_may_refuse_to_say_how_long_it_is(error: type[Exception]) -> None:
    class Refusing(Unsized):
        def __len__(self) -> int:
            raise error("it depends")

    _, _, waiting = trained(Budget(epochs=1), Refusing())
    assert waiting.progress[0] == 0


def test_a_turn_holds_several_rounds_of_the_loader() -> None:
    run, _, waiting = trained(Budget(epochs=1), range(200), burst=16)

    begins = [b.first_step for b in blocks_of(run) if b.end is Dropped.SLICE_START]
    assert len(waiting.progress) >= 1
    assert begins[0] >= turns.ROUNDS * 16


def test_short_epochs_are_whole_and_turns_end_between_them() -> None:
    run, last, waiting = trained(Budget(epochs=20), range(10), burst=8)

    assert len(waiting.progress) >= 3
    assert last.tags["rate"] == "epochs"
    assert [block.num_steps for block in blocks_of(run)] == [10] * 20
    assert [round(20 * share, 6) % 1 for share in waiting.progress] == [0] * len(waiting.progress)


def test_turns_grow_with_what_a_trial_has_had(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(turns.time, "perf_counter", lambda: now[0])
    ended = []
    own = TimeSlices(lambda _: ended.append(now[0]), slice_s=SLICE_S)
    while now[0] < 10_000:
        now[0] += 0.01
        if own.may_end_after_step():
            own.wait(0.0)
    assert ended[0] == pytest.approx(0.1, abs=0.02)
    assert len(ended) < 1000
    assert ended[-1] - ended[-2] == pytest.approx(100, rel=0.05)
