"""Time slices: a trial's clock stands still during the slices of the others."""

from collections.abc import Iterable

import pytest

from orchestrator.measurement.blocks import Block, Dropped
from orchestrator.measurement.run import Run
from orchestrator.measurement.time_slices import MIN_ROUNDS, TimeSlices
from orchestrator.trial import Budget, Report
from tests.orchestrator.measurement.fakes import FakeClock, Listener, context

OTHERS_S = 0.2
SLICE_S = 0.1
STEP_S = 0.004


class Waiting:
    """Time slices of the others, and the trial's progress before each of them."""

    def __init__(self, clock: FakeClock) -> None:
        self.progress: list[float] = []
        self._clock = clock

    def __call__(self, progress: float) -> None:
        self.progress.append(progress)
        self._clock.sleep(OTHERS_S)


def trained(
    budget: Budget,
    loader: Iterable[int],
    *,
    burst: int = 1,
    eval_s: float = 0.0,
    slice_s: float = SLICE_S,
) -> tuple[list[Block], Report, list[float]]:
    """Train in slices; return the blocks, the last report and the progress at ends of slices."""
    clock, listener = FakeClock(), Listener()
    waiting = Waiting(clock)
    slices = TimeSlices(waiting, slice_s=slice_s, clock=clock)
    run = Run(context(budget=budget, burst=burst), listener, slices)
    for _ in run.epochs():
        for _ in run.batches(loader, samples=lambda _: 10):
            clock.sleep(STEP_S)
        with run.evaluating():
            clock.sleep(eval_s)
        run.report()
    return list(run.recording().blocks), listener.reports[-1], waiting.progress


def test_no_time_of_others_is_in_any_figure() -> None:
    blocks, last, progress = trained(Budget(epochs=3), range(100), eval_s=0.05)

    assert len(progress) >= 6
    own_s, figures = 300 * STEP_S, last.metrics
    assert figures["train_s"] == pytest.approx(own_s)
    assert figures["epoch_s"] == pytest.approx(own_s / 3)
    assert figures["samples_per_s"] == pytest.approx(10 / STEP_S)
    assert figures["step_ms"] == pytest.approx(1000 * STEP_S)
    assert figures["wait_ms"] == pytest.approx(0)
    assert figures["eval_s"] == pytest.approx(0.15)
    assert last.elapsed_s == pytest.approx(own_s + 0.15)
    assert sum(block.num_steps for block in blocks) == 300


@pytest.mark.parametrize("burst", [1, 4])
def test_the_first_round_of_a_slice_is_no_steady_state(burst: int) -> None:
    blocks, _, progress = trained(Budget(epochs=1), range(200), burst=burst)

    begins = [block for block in blocks if block.end is Dropped.SLICE_START]
    assert len(begins) >= len(progress) - 1 >= 3
    assert {block.num_steps for block in begins[:-1]} == {burst}
    assert begins[0].first_step >= MIN_ROUNDS * burst, "several rounds of the loader"
    assert [block.end for block in blocks].count(Dropped.EPOCH_START) == 1
    assert [Block.from_row(block.to_row()).end for block in blocks] == [b.end for b in blocks]


def test_no_slice_begins_in_the_last_round_of_an_epoch() -> None:
    """In it the loader makes no more batches: it would be taken for the steady state."""
    blocks, _, _ = trained(Budget(epochs=2), range(24 + 3), burst=4, slice_s=0.0)

    last = [block for block in blocks if block.first_step + block.num_steps == 27]
    assert [(block.num_steps, block.end) for block in last] == [(4, Dropped.EPOCH_END)] * 2


def test_short_epochs_are_whole_and_slices_end_between_them() -> None:
    blocks, last, progress = trained(Budget(epochs=20), range(10), burst=8)

    assert len(progress) >= 3
    assert last.tags["rate"] == "epochs"
    assert [block.num_steps for block in blocks] == [10] * 20
    assert [round(20 * share, 6) % 1 for share in progress] == [0] * len(progress)
