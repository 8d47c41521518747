"""Launches between the control loop and Tune, with neither Ray nor a trial running."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import ray

from orchestrator.execution import in_flight as deliveries
from orchestrator.execution.in_flight import FIRST_REPORT_S, WAIT_REPORT_S, Message
from orchestrator.execution.ray import in_flight
from orchestrator.execution.ray.in_flight import LaunchesInFlight, cause, repeated
from orchestrator.execution.ray.watchdog import Abandoned
from orchestrator.kernel.events import Started
from orchestrator.kernel.executor import Launch, Update
from orchestrator.trial import Budget, Report, Stage, Trial, TrialResult, TrialState
from tests.orchestrator.execution.conftest import LaunchOf, Recorder

COMPLETED = TrialResult(state=TrialState.COMPLETED)
SO_FAR = TrialResult(state=TrialState.STOPPED, reason="enough was seen")


@dataclass
class Tune:
    """Tune's side: a clock, and an actor for each launch that was handed out."""

    conductor: Recorder
    launches: LaunchesInFlight
    error_file: Path
    now: float = 100.0
    halted: list[str] = field(default_factory=list)
    killed: list[str] = field(default_factory=list)

    def ask(self, ray_id: str) -> bool:
        """Return True if a launch was handed out."""
        return isinstance(self.launches.suggest(ray_id), dict)

    def trial(self, ray_id: str) -> Any:  # noqa: ANN401 - what is used of Tune's class
        halt = SimpleNamespace(remote=lambda: self.halted.append(ray_id))
        actor = SimpleNamespace(halt=halt, ray_id=ray_id)
        return SimpleNamespace(
            trial_id=ray_id,
            temporary_state=SimpleNamespace(ray_actor=actor),
            error_file=str(self.error_file),
        )

    def send(self, ray_id: str, **fields: Any) -> bool:  # noqa: ANN401 - fields of a message
        """Pass a message on; return True if the trial is to stop."""
        return self.launches.take(self.trial(ray_id), Message(**fields))

    def start(self, ray_id: str, trial_id: str) -> None:
        start = Started(trial_id=trial_id, node="here", cores=1)
        self.send(ray_id, updates=((trial_called(trial_id), start),))


def launches_of(
    conductor: Recorder, is_over: Callable[[], bool] = lambda: False
) -> LaunchesInFlight:
    """Launches on a cluster of two cores."""
    return LaunchesInFlight(conductor, {"CPU": 2.0}, lambda launch: launch, is_over)


StartTune = Callable[..., Tune]


@pytest.fixture
def tune_of(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> StartTune:
    """Make Tune's side for these launches."""

    def make(*launches: Launch, **options: Any) -> Tune:  # noqa: ANN401 - of the conductor
        conductor = Recorder(list(launches), **options)
        error_file = tmp_path / "error.txt"
        error_file.write_text("first line\nthe actor died\n")
        tune = Tune(conductor, launches_of(conductor), error_file)
        for module in (in_flight, deliveries):
            monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: tune.now))
        monkeypatch.setattr(ray, "kill", lambda actor: tune.killed.append(actor.ray_id))
        monkeypatch.setattr(ray, "available_resources", lambda: {"CPU": 1.0})
        return tune

    return make


def trial_called(name: str) -> Trial:
    return Trial(id=name, stage=Stage.TRAIN, config={}, budget=Budget(epochs=1), seed=0)


END = (trial_called("a"), COMPLETED)


def news(*epochs: int) -> tuple[tuple[Trial, Update], ...]:
    """Make reports of trial "a"."""
    reports = (
        Report(step=epoch, epoch=epoch, samples=8 * epoch, elapsed_s=1.0, metrics={})
        for epoch in epochs
    )
    return tuple((trial_called("a"), Update(report=each, so_far=SO_FAR)) for each in reports)


# -- how many are asked for ahead


def test_two_launches_wait_with_no_room_for_them(tune_of: StartTune, launch_of: LaunchOf) -> None:
    names = ["a", "b", "c", "d", "e"]
    tune = tune_of(*map(launch_of, names))
    for ray_id, name in zip("12", names, strict=False):
        tune.ask(ray_id)
        tune.start(ray_id, name)
    assert [tune.ask(ray_id) for ray_id in "345"] == [True, True, False]


# -- messages


def test_the_control_loop_receives_updates_in_the_order_of_a_message(
    tune_of: StartTune, launch_of: LaunchOf
) -> None:
    tune = tune_of(launch_of("a"))
    tune.ask("1")
    tune.start("1", "a")
    assert not tune.send("1", updates=news(1, 2), notes=("n",))
    tune.send("1", updates=(*news(3), END))

    assert [each.epoch for each in tune.conductor.reports["a"]] == [1, 2, 3]
    assert tune.conductor.results == {"a": COMPLETED}
    assert tune.conductor.notes == ["n"]


def test_a_stop_ends_the_trial_and_keeps_its_actor(tune_of: StartTune, launch_of: LaunchOf) -> None:
    tune = tune_of(launch_of("a"), stop_when=lambda _trial, report: report.epoch == 1)
    tune.ask("1")
    tune.start("1", "a")
    assert tune.send("1", updates=news(1, 2))

    assert tune.halted == ["1"]
    assert tune.killed == []
    assert tune.conductor.results == {"a": SO_FAR}
    assert len(tune.conductor.reports["a"]) == 2, "those that came with the one before the stop"


def test_what_a_supervisors_death_has_ended_is_tried_again(
    tune_of: StartTune, launch_of: LaunchOf
) -> None:
    tune = tune_of(launch_of("a", retries=1))
    tune.ask("1")
    tune.start("1", "a")
    tune.launches.fail(tune.trial("1"))
    assert tune.conductor.results == {}
    reason = "the trial's supervisor on here died: the actor died"
    assert tune.conductor.notes == [f"trial a is tried again, since it failed: {reason}"]

    again = tune.launches.suggest("2")["launch"]
    assert (again.trial.id, again.failed_attempts) == ("a", 1)
    tune.start("2", "a")
    tune.launches.fail(tune.trial("2"))
    assert tune.conductor.results["a"].reason == reason
    assert tune.launches.suggest("3") == LaunchesInFlight.FINISHED


def test_a_ray_that_has_died_has_no_rows(tune_of: StartTune, launch_of: LaunchOf) -> None:
    """Its workers die with it, and would otherwise be failed trials."""
    conductor = tune_of(launch_of("a")).conductor
    is_over: list[bool] = []
    launches = launches_of(conductor, lambda: bool(is_over))
    tune = Tune(conductor, launches, Path())
    tune.ask("1")
    is_over.append(True)
    calls: list[Callable[[], object]] = [
        lambda: tune.ask("2"),
        lambda: tune.send("1", updates=news(1)),
        lambda: launches.fail(tune.trial("1")),
        launches.stop_all,
    ]
    for call in calls:
        with pytest.raises(Abandoned):
            call()
    assert conductor.results == {}


def test_the_cause_is_one_line_without_advice(tmp_path: Path) -> None:
    advice = "There are some potential root causes. (1) The process is killed by SIGKILL"
    (tmp_path / "error.txt").write_text(f"The actor died.\nIts worker has died. {advice}\n")
    assert cause(str(tmp_path / "error.txt")) == "Its worker has died."
    assert cause(str(tmp_path / "absent")) == "unknown"


def test_what_has_not_ended_is_repeated_with_an_attempt_less(launch_of: LaunchOf) -> None:
    first, second, third = (launch_of(name, retries=1) for name in "abc")
    again = repeated(replace(first, others=(second, third)), {"b", "c"})
    assert [trial.id for trial in again.trials] == ["b", "c"]
    assert [(each.retries, each.failed_attempts) for each in again.each()] == [(0, 1)] * 2
    assert repeated(again, {"c"}) is None


# -- interrupted


def test_an_interrupted_sweep_kills_its_actors_and_has_no_rows(
    tune_of: StartTune, launch_of: LaunchOf
) -> None:
    tune = tune_of(launch_of("a"))
    tune.ask("1")
    tune.start("1", "a")
    assert not tune.launches.stop_all()
    tune.conductor.interrupted = True
    assert tune.launches.stop_all()
    tune.launches.fail(tune.trial("1"))
    assert tune.killed == ["1"]
    assert tune.conductor.results == {}


# -- waiting


def test_a_launch_that_is_not_placed_is_reported_now_and_then(
    tune_of: StartTune, launch_of: LaunchOf
) -> None:
    tune = tune_of(launch_of("a"))
    tune.ask("1")
    for _ in range(5):
        tune.now += WAIT_REPORT_S / 2
        tune.launches.stop_all()
    assert (
        tune.conductor.waited
        == ["1 CPU and 0 GPU on one node of the Ray cluster, of which 1 CPU and 0 GPU are free"] * 2
    )


def test_a_launch_that_waits_for_leased_cores_is_reported_with_them(
    tune_of: StartTune, launch_of: LaunchOf
) -> None:
    tune = tune_of(launch_of("a"))
    tune.ask("1")
    tune.now += FIRST_REPORT_S
    tune.send("1", waiting="cores")
    tune.send("1", waiting="cores")
    assert tune.conductor.waited == ["cores"], "soon, then now and then"
    tune.now += WAIT_REPORT_S
    tune.send("1", waiting="cores")
    tune.launches.stop_all()
    assert tune.conductor.waited == ["cores"] * 2
