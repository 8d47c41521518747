"""A launch that runs in a replay: its times and its rows."""

from __future__ import annotations

from orchestrator.machine import Machine, Node
from orchestrator.replay.nodes import Nodes
from orchestrator.replay.playing import Group, Play, stopped_result, whole_result
from orchestrator.replay.segment import segment_of
from orchestrator.trial import Budget, TrialState
from tests.orchestrator.replay.made_runs import made_launch, made_run, made_trial


def playing(*, held_s: float, begun: int = 0) -> Play:
    """Return a play of a made run that began at 100 and shares ``held_s`` with others."""
    launch, run = made_launch(made_trial()), made_run()
    place = Nodes(Machine(nodes=(Node(name="n0", cpus=2),))).place(launch)
    assert place is not None
    group = Group(launch=launch, place=place, began_at=100.0, held_s=held_s, num_left=1)
    segment = segment_of(run, Budget(epochs=3), begun=begun)
    return Play(group=group, trial=launch.trial, segment=segment, run=run)


def test_by_itself_a_trial_is_at_its_own_seconds() -> None:
    play = playing(held_s=40.5)
    assert play.segment.held_s == 40.5
    assert play.at(13.0) == 113.0


def test_among_interleaved_ones_it_advances_as_far_as_they_do() -> None:
    assert playing(held_s=81.0).at(13.0) == 126.0


def test_reports_of_earlier_pieces_count_as_played() -> None:
    play = playing(held_s=40.5, begun=1)
    play.num_reported = 1
    assert play.num_played == 2


def test_rows_name_the_node_and_say_what_was_played() -> None:
    play = playing(held_s=40.5)
    whole, stopped = whole_result(play), stopped_result(play, play.segment.reports[0])
    assert (whole.state, whole.wall_s) == (TrialState.COMPLETED, 37.5)
    assert (stopped.state, stopped.wall_s) == (TrialState.STOPPED, 13.0)
    assert {whole.node, stopped.node} == {"n0"}
    assert stopped.metrics["val_acc"] == 0.1
    assert whole.metrics["headroom"] == 1.2
