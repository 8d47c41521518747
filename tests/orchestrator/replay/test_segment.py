"""The part of a recorded run that a trial plays, by its budget."""

from dataclasses import replace

import pytest

from orchestrator.replay.recorded import ReplayError
from orchestrator.replay.segment import segment_of, shortfall, stopped_at
from orchestrator.trial import Budget, TrialState
from tests.orchestrator.replay.made_runs import (
    EVAL_S,
    PROCESS_S,
    SET_UP_S,
    STEPS,
    TRAIN_S,
    failed_run,
    made_run,
)

EACH_S = TRAIN_S + EVAL_S


def test_the_recorded_budget_is_the_whole_run() -> None:
    run = made_run()
    segment = segment_of(run, Budget(epochs=3))
    assert list(segment.reports) == list(run.reports)
    assert (segment.wall_s, segment.taken_s) == (run.wall_s, run.taken_s)
    assert segment.metrics == run.metrics
    assert segment.state is TrialState.COMPLETED


def test_fewer_epochs_end_at_their_report_and_know_nothing_later() -> None:
    segment = segment_of(made_run(), Budget(epochs=2))
    assert [report.epoch for report in segment.reports] == [1, 2]
    assert segment.state is TrialState.COMPLETED
    assert segment.wall_s == SET_UP_S + 2 * EACH_S + PROCESS_S
    assert segment.metrics["val_acc"] == 0.2
    assert segment.metrics["peak_rss_gib"] == 2.0, "the telemetry's are of the whole run"
    assert "headroom" not in segment.metrics, "ceilings are measured after the last epoch"


def test_a_pause_ends_stopped_at_its_epoch() -> None:
    segment = segment_of(made_run(), Budget(epochs=3, pause_after=1))
    assert segment.state is TrialState.STOPPED
    assert segment.reason == "paused after 1 of 3 epochs"
    assert len(segment.reports) == 1


def test_going_on_from_a_pause_plays_the_rest_only() -> None:
    segment = segment_of(made_run(), Budget(epochs=3), begun=1)
    assert [report.epoch for report in segment.reports] == [2, 3]
    assert [report.restored_epochs for report in segment.reports] == [1, 1]
    assert segment.reports[0].elapsed_s == SET_UP_S + EACH_S, "it is set up again"
    assert segment.wall_s == SET_UP_S + 2 * EACH_S + PROCESS_S
    assert segment.metrics["val_acc"] == pytest.approx(0.3)


@pytest.mark.parametrize("budget", [Budget(epochs=3), Budget(epochs=3, pause_after=1)])
@pytest.mark.parametrize("state", [TrialState.FAILED, TrialState.INFEASIBLE])
def test_what_ended_by_itself_ends_at_its_second(budget: Budget, state: TrialState) -> None:
    segment = segment_of(failed_run(7.0, state), budget)
    assert (segment.wall_s, segment.taken_s) == (7.0, 7.0)
    assert (segment.state, segment.reason) == (state, "it broke")


def test_a_failure_behind_the_pause_has_not_happened_yet() -> None:
    run = made_run(2, state=TrialState.FAILED, reason="it broke", wall_s=99.0)
    assert segment_of(run, Budget(epochs=3, pause_after=1)).state is TrialState.STOPPED
    rest = segment_of(run, Budget(epochs=3), begun=1)
    assert rest.state is TrialState.FAILED
    assert rest.wall_s == 99.0 - EACH_S


def test_without_evaluation_neither_its_time_nor_what_it_found() -> None:
    segment = segment_of(made_run(), Budget(epochs=2, evaluated=False))
    assert segment.wall_s == pytest.approx(SET_UP_S + 2 * TRAIN_S + PROCESS_S)
    for metrics in (segment.metrics, segment.reports[-1].metrics):
        assert "val_acc" not in metrics
        assert "eval_s" not in metrics
        assert metrics["first_loss"] == 2.5
        assert metrics["samples_per_s"] == 802.0


def test_a_trial_of_speed_alone_has_no_ceilings_of_a_run_that_was_evaluated() -> None:
    whole = Budget(epochs=3, evaluated=False)
    run = made_run(tags={"cpu_model": "made", "bound": "loader"})
    segment = segment_of(run, whole)
    assert segment.ceilings_s == 0
    assert "headroom" not in segment.metrics
    assert segment.tags == {"cpu_model": "made"}
    probe = segment_of(made_run(budget=whole), whole)
    assert probe.ceilings_s > 0, "one of speed alone had none to measure"


def test_the_figures_of_a_stopped_trial_are_those_of_its_report() -> None:
    segment = segment_of(made_run(), Budget(epochs=3))
    stopped = stopped_at(segment, segment.reports[0])
    assert stopped.metrics["val_acc"] == 0.1
    assert stopped.metrics["peak_rss_gib"] == 2.0
    assert "headroom" not in stopped.metrics
    assert stopped.tags == {"cpu_model": "made", "bound": "loader"}


def test_only_a_trial_that_may_look_at_the_test_split_sees_its_figures() -> None:
    run = made_run()
    run = replace(run, metrics={**run.metrics, "test_acc": 0.4})
    assert segment_of(run, Budget(epochs=3)).metrics["test_acc"] == 0.4
    assert "test_acc" not in segment_of(run, Budget(epochs=3), evaluate_test=False).metrics


def test_a_longer_budget_was_not_recorded() -> None:
    with pytest.raises(ReplayError, match="recorded for 3 epochs, and 5 are asked for"):
        segment_of(made_run(3), Budget(epochs=5))


def test_a_run_that_ended_within_an_epoch_is_no_whole_training() -> None:
    probe = made_run(1, budget=Budget(epochs=1, half_width=0.03))
    assert shortfall(probe, Budget(epochs=1)) == "it was recorded with half_width=0.03 only"
    assert shortfall(probe, Budget(epochs=1, half_width=0.03)) == ""


def test_a_run_that_a_search_stopped_is_played_up_to_there_and_known_to_be_too_short() -> None:
    stopped = made_run(2, state=TrialState.STOPPED, budget=Budget(epochs=3))
    segment = segment_of(stopped, Budget(epochs=3))
    assert [report.epoch for report in segment.reports] == [1, 2]
    short = shortfall(stopped, Budget(epochs=3))
    assert short == "it was recorded for 2 epochs, and 3 are asked for"


def test_a_run_that_a_search_stopped_before_its_last_step_is_too_short() -> None:
    budget = Budget(epochs=9, steps=2500)
    stopped = made_run(2, state=TrialState.STOPPED, budget=budget)
    assert shortfall(stopped, budget)
    assert not shortfall(stopped, Budget(epochs=9, steps=1500))


# -- an end within an epoch


@pytest.mark.parametrize("evaluated", [True, False])
def test_an_end_in_a_later_epoch_has_the_reports_before_it(evaluated: bool) -> None:
    budget = Budget(epochs=3, steps=STEPS + 250, evaluated=evaluated)
    segment = segment_of(made_run(), budget)
    assert [(report.epoch, report.step) for report in segment.reports] == [(1, 1000), (2, 1250)]
    expected_s = SET_UP_S + TRAIN_S * 1.25 + EVAL_S * evaluated
    assert segment.reports[-1].elapsed_s == pytest.approx(expected_s)
    assert segment.state is TrialState.COMPLETED
    assert segment.metrics["samples_per_s"] == 802.0
    assert "val_acc" not in segment.metrics


def test_a_run_with_fewer_steps_ends_by_itself() -> None:
    whole = segment_of(made_run(1), Budget(epochs=1, steps=5000))
    assert whole.reports[-1].step == STEPS
