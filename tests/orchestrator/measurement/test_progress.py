"""Progress of a trial through its budget."""

from __future__ import annotations

import pytest

from orchestrator.measurement.progress import Counts, Progress
from orchestrator.trial import Budget


def stepped(progress: Progress, num_steps: int) -> None:
    for _ in range(num_steps):
        progress.count_step(4)


def test_epochs_end_with_the_budget_of_epochs_or_of_steps() -> None:
    assert list(Progress(Budget(epochs=3)).epochs()) == [0, 1, 2]
    progress = Progress(Budget(epochs=3, steps=15))
    done = []
    for epoch in progress.epochs():
        stepped(progress, 10)
        done.append(epoch)
    assert done == [0, 1]


def test_epochs_end_at_a_pause_before_the_budget_does() -> None:
    progress = Progress(Budget(epochs=9, pause_after=3))
    lasts = [progress.is_last_epoch for _ in progress.epochs()]
    assert lasts == [False, False, True]
    assert progress.is_paused
    assert progress.pause_reason == "paused after 3 of 9 epochs"
    assert progress.fraction(0.0) == 1


@pytest.mark.parametrize("pause_after", [None, 3, 4])
def test_a_budget_that_ends_first_has_no_pause(pause_after: int | None) -> None:
    progress = Progress(Budget(epochs=3, pause_after=pause_after))
    assert list(progress.epochs()) == [0, 1, 2]
    assert not progress.is_paused


def test_a_training_that_has_taken_its_last_step_is_not_paused() -> None:
    progress = Progress(Budget(epochs=9, steps=4, pause_after=1))
    for _ in progress.epochs():
        stepped(progress, 4)
    assert not progress.is_paused


def test_an_epoch_may_be_the_last_by_epochs_or_by_steps() -> None:
    progress = Progress(Budget(epochs=3, steps=15))
    for epoch in progress.epochs():
        assert progress.is_last_epoch == (epoch == 2)
        stepped(progress, 10)
        assert progress.is_last_epoch == (progress.steps >= 15)


def test_a_budget_may_end_early() -> None:
    progress = Progress(Budget(epochs=100))
    for _ in progress.epochs():
        stepped(progress, 10)
        progress.end_here()
        assert progress.is_last_epoch
    assert (progress.steps, progress.samples) == (10, 40)
    assert progress.fraction(0.0) == 1


def test_the_fraction_is_that_of_the_limit_that_is_reached_first() -> None:
    progress = Progress(Budget(epochs=10, steps=40))
    progress.count_epoch()
    stepped(progress, 10)
    assert progress.fraction(0.5) == pytest.approx(0.25), "a quarter of the steps"
    assert progress.fraction(5.0) == pytest.approx(0.6), "six tenths of the epochs"


def test_a_checkpoint_counts_the_epoch_that_it_ends() -> None:
    progress = Progress(Budget(epochs=5))
    for epoch in progress.epochs():
        stepped(progress, 3)
        if epoch == 1:
            break
    assert progress.counts() == Counts(epochs=2, steps=6, samples=24)

    later = Progress(Budget(epochs=5))
    later.restore(progress.counts())
    assert (later.restored_epochs, later.steps, later.samples) == (2, 6, 24)
    assert later.counts() == progress.counts(), "before it trains another one, and if it does not"
    assert list(later.epochs()) == [2, 3, 4]
