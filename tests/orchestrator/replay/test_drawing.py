"""Which recorded run a trial is given."""

from dataclasses import replace

import pytest

from orchestrator.replay.drawing import Drawing, config_key
from orchestrator.replay.recorded import Recording, ReplayError
from orchestrator.trial import Budget, Stage, TrialState
from tests.orchestrator.replay.made_runs import made_run, made_trial


def recorded(num: int = 3, *, epochs: int = 3, **fields: object) -> list[Recording]:
    """Return recordings of one config with the seeds and repeats of a sweep of seed 0."""
    return [
        Recording(
            trial=made_trial(seed=repeat, repeat=repeat, **fields),
            run=made_run(epochs, reason=f"{fields.get('stage', Stage.TRAIN)} {repeat}"),
        )
        for repeat in range(num)
    ]


def drawn(drawing: Drawing, *trials: object, **fields: object) -> list[str]:
    """Return the recorded reasons, which name the runs, of trials with these repeats."""
    return [
        drawing.draw(made_trial(seed=repeat, repeat=repeat, **fields)).reason
        for repeat in trials
        if isinstance(repeat, int)
    ]


def test_the_very_run_comes_first() -> None:
    assert drawn(Drawing(recorded(), seed=5), 2, 0, 1) == ["train 2", "train 0", "train 1"]


def test_other_seeds_draw_each_run_once_in_another_order() -> None:
    def order(seed: int) -> list[str]:
        drawing = Drawing(recorded(6), seed=seed)
        trials = [made_trial(seed=100 + seed, repeat=repeat) for repeat in range(6)]
        return [drawing.draw(trial).reason for trial in trials]

    assert order(1) == order(1)
    assert sorted(order(1)) == [f"train {repeat}" for repeat in range(6)]
    assert len({tuple(order(seed)) for seed in range(5)}) > 1


def test_a_confirm_run_is_one_of_its_stage_then_one_to_train_that_is_left() -> None:
    drawing = Drawing([*recorded(2), *recorded(1, stage=Stage.CONFIRM)])
    assert drawn(drawing, 0) == ["train 0"]
    assert drawn(drawing, 0, 1, stage=Stage.CONFIRM) == ["confirm 0", "train 1"]
    with pytest.raises(ReplayError, match="has 3 runs to draw for stage confirm of name=a"):
        drawn(drawing, 2, stage=Stage.CONFIRM)


def test_runs_are_drawn_again_only_where_that_is_allowed() -> None:
    with pytest.raises(ReplayError, match="has 1 run to draw") as error:
        drawn(Drawing(recorded(1)), 0, 1)
    assert "replay.reuse_repeats=true" in error.value.hint
    assert drawn(Drawing(recorded(2), reuse=True), 0, 1, 2, 3).count("train 0") == 2


def test_what_was_not_recorded_is_refused() -> None:
    drawing = Drawing(recorded(), source="--table t")
    with pytest.raises(ReplayError, match=r"^--table t: has no run of name=b\n"):
        drawing.draw(made_trial("b"))
    with pytest.raises(ReplayError, match="for 3 epochs, and 9 are asked for"):
        drawing.draw(made_trial(budget=Budget(epochs=9)))
    with pytest.raises(ReplayError, match="for stage train, only for confirm"):
        drawn(Drawing(recorded(1, stage=Stage.CONFIRM)), 0)


def test_a_run_that_was_stopped_is_drawn_by_trainings_after_those_that_are_whole() -> None:
    (stopped,) = recorded(1, epochs=1)
    stopped = replace(stopped, run=replace(stopped.run, state=TrialState.STOPPED))
    runs = [stopped, recorded(2)[1]]
    trials = [made_trial(seed=repeat, repeat=repeat) for repeat in range(2)]
    drawing = Drawing(runs)
    assert [drawing.draw(trial).num_epochs for trial in trials] == [1, 3], "the very runs"
    assert Drawing(runs).draw(made_trial(seed=7, repeat=7)).num_epochs == 3
    confirming = Drawing(runs)
    assert confirming.draw(made_trial(stage=Stage.CONFIRM)).num_epochs == 3
    with pytest.raises(ReplayError, match="has 1 run to draw"):
        confirming.draw(made_trial(stage=Stage.CONFIRM, repeat=1))


def test_a_config_from_a_journal_is_the_same_config() -> None:
    assert config_key({"fanout": (15, 10), "lr": 0.1}) == config_key(
        {"lr": 0.1, "fanout": [15, 10]}
    )


def test_fingerprints_are_those_of_one_seed_alone() -> None:
    run = made_run(tags={"batches": "f00d", "cpu_model": "made"})
    drawing = Drawing([Recording(trial=made_trial(seed=4), run=run)], reuse=True)
    same, other = drawing.draw(made_trial(seed=4)), drawing.draw(made_trial(seed=5))
    assert (same.tags["batches"], same.metrics["first_loss"]) == ("f00d", 2.5)
    assert other.tags == {"cpu_model": "made"}
    assert "first_loss" not in other.metrics
    assert all("first_loss" not in report.metrics for report in other.reports)
