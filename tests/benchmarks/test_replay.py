"""The benchmark of replays, at a size that takes no time."""

from __future__ import annotations

from benchmarks.replay import NUM_REPORTS, Generated, measure, table_lines, verdict
from orchestrator.trial import Budget, Stage, Trial


def test_it_replays_as_many_trials_as_it_says() -> None:
    row = measure(30)
    assert row["trials"] == 30
    assert 20 < row["simulated_s"] < 70, "they run at the same time"
    assert "| 30 |" in list(table_lines([row]))[-1]
    # The memory is that of this process, in which other tests ran before.
    assert verdict([{**row, "peak_gib": 0.1}])[1]


def test_a_trial_has_the_same_run_whenever_it_is_drawn() -> None:
    config = {"index": 5, "workers": 1}
    trial = Trial(id="a", stage=Stage.TRAIN, config=config, budget=Budget(epochs=5), seed=0)
    run = Generated().draw(trial)
    assert run == Generated().draw(trial)
    assert run.num_epochs == NUM_REPORTS


def test_a_promise_that_is_not_kept_is_said() -> None:
    slow = {"trials": 10_000, "played_s": 61.0, "cpu_s": 61.0, "peak_gib": 0.2}
    assert verdict([slow]) == (
        "10,000 trials in 61.0 s and 0.20 GiB, promised 60 s and 2 GiB",
        False,
    )
