"""The replay executor: one clock, room as for real, the same journal for the same seed."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from orchestrator.kernel.events import Started
from orchestrator.kernel.executor import Deadline, Launch
from orchestrator.kernel.search import Pause
from orchestrator.machine import Machine, Node
from orchestrator.replay.drawing import Drawing
from orchestrator.replay.executor import ReplayExecutor
from orchestrator.replay.recorded import RecordedRun, Recording, ReplayError
from orchestrator.trainable import Demand
from orchestrator.trial import Budget, Isolation, Report, Trial, TrialResult, TrialState
from tests.orchestrator.replay.made_runs import made_launch, made_run, made_trial

BEGAN = 1000.0


@dataclass
class Loop:
    """A conductor that hands out launches, and keeps each call that it receives with its time."""

    launches: list[Launch | Pause]
    stops: Callable[[Trial, Report], bool] = lambda _trial, _report: False
    events: list[tuple[float, str, str]] = field(default_factory=list)
    results: dict[str, TrialResult] = field(default_factory=dict)
    interrupted: bool = False
    executor: ReplayExecutor | None = None

    def next_launch(self) -> Launch | Pause | None:
        if not self.launches:
            return None
        return self.launches.pop(0)

    def started(self, start: Started) -> None:
        self.note(f"start on {start.node}", start.trial_id)

    def reported(self, trial: Trial, report: Report) -> bool:
        self.note(f"epoch {report.epoch}", trial.id)
        return self.stops(trial, report)

    def finished(self, trial: Trial, result: TrialResult) -> None:
        self.results[trial.id] = result
        self.note("end", trial.id)

    def waiting(self, trial: Trial, seconds: float, what: str) -> None:
        raise AssertionError

    def note(self, text: str, trial_id: str = "") -> None:
        self.events.append((self.executor.now() - BEGAN, text, trial_id))

    def tick(self) -> None:
        pass

    def when(self, text: str) -> list[tuple[float, str]]:
        return [(at, trial_id) for at, what, trial_id in self.events if what.startswith(text)]


def played(
    loop: Loop,
    *runs: tuple[str, RecordedRun],
    cpus: int = 2,
    nodes: int = 1,
    gpus: int = 0,
    most: int | None = None,
) -> Loop:
    """Play the launches on runs of these configs."""
    recordings = [Recording(trial=made_trial(name), run=run) for name, run in runs]
    made = [Node(name=f"n{index}", cpus=cpus, gpus=gpus) for index in range(nodes)]
    machine = Machine(nodes=tuple(made))
    loop.executor = ReplayExecutor(
        Drawing(recordings).draw, machine, began_at=BEGAN, max_concurrent=most
    )
    loop.executor.run(loop)
    return loop


def launches(*names: str) -> list[Launch | Pause]:
    return [made_launch(made_trial(name)) for name in names]


def seconds(wall_s: float) -> RecordedRun:
    """Return a run of one epoch that is reported after half of its time."""
    report = Report(step=1, epoch=3, samples=8, elapsed_s=wall_s / 2, metrics={"val_acc": wall_s})
    return RecordedRun(
        reports=[report], wall_s=wall_s, metrics=report.metrics, budget=Budget(epochs=3)
    )


def test_reports_and_end_come_at_their_recorded_seconds() -> None:
    loop = played(Loop(launches("a")), ("a", made_run(2, budget=Budget(epochs=3))))
    assert loop.when("epoch") == [(13.0, "a-0"), (25.0, "a-0")]
    result = loop.results["a-0"]
    assert loop.when("end") == [(28.5, "a-0")], "its ceilings were measured until then"
    assert (result.started_at, result.wall_s) == (BEGAN, 25.5)
    assert (result.node, result.cores, result.isolation) == ("n0", 2, "leased")


def test_an_isolated_trial_waits_and_delays_those_after_it() -> None:
    alone = made_launch(made_trial("b"), isolation=Isolation.EXCLUSIVE)
    queue = [*launches("a"), alone, *launches("c")]
    loop = played(Loop(queue), ("a", seconds(10)), ("b", seconds(4)), ("c", seconds(1)), cpus=4)
    assert loop.when("start") == [(0.0, "a-0"), (10.0, "b-0"), (14.0, "c-0")]


def test_interleaved_trials_advance_together_and_take_the_sum_of_their_times() -> None:
    first, second = (made_launch(made_trial(name), in_slices=True) for name in "ab")
    launch = made_launch(first.trial, others=(second,), in_slices=True)
    loop = played(Loop([launch]), ("a", seconds(10)), ("b", seconds(4)))
    assert loop.when("epoch") == [(7.0, "a-0"), (7.0, "b-0")]
    assert loop.when("end") == [(14.0, "a-0"), (14.0, "b-0")]
    assert [loop.results[name].wall_s for name in ("a-0", "b-0")] == [10.0, 4.0]


def test_a_stopped_trial_ends_at_that_report_and_frees_its_cores() -> None:
    loop = Loop(launches("a", "b"), stops=lambda trial, _: trial.id == "a-0")
    played(loop, ("a", seconds(10)), ("b", seconds(4)))
    assert loop.results["a-0"].state is TrialState.STOPPED
    assert loop.results["a-0"].wall_s == 5.0
    assert loop.when("end") == [(5.0, "a-0"), (9.0, "b-0")]
    assert loop.executor.core_s == 2 * 9


def test_a_paused_curve_continues_with_the_same_run() -> None:
    paused = made_trial("a", budget=Budget(epochs=3, pause_after=1))
    rest = made_trial("a", id="a-1")
    loop = played(Loop([made_launch(paused), made_launch(rest)]), ("a", made_run()))
    assert [text for _, text, _ in loop.events if text.startswith("epoch")] == [
        "epoch 1", "epoch 2", "epoch 3",
    ]  # fmt: skip
    assert loop.results["a-0"].reason == "paused after 1 of 3 epochs"


def test_a_trial_that_continues_past_its_stopped_run_is_an_error() -> None:
    stopped = made_run(1, state=TrialState.STOPPED, budget=Budget(epochs=3))
    paused = made_trial("a", budget=Budget(epochs=3, pause_after=1))
    rest = made_trial("a", id="a-1", budget=Budget(epochs=3, pause_after=2))
    loop = Loop([made_launch(paused), made_launch(rest)])
    with pytest.raises(ReplayError, match=r"run of trial a-1 was stopped too early: .* 1 epoch,"):
        played(loop, ("a", stopped))
    assert [text for _, text, _ in loop.events] == ["start on n0", "epoch 1", "end"]


@pytest.mark.parametrize("stops", [True, False])
def test_a_trial_must_be_stopped_where_its_run_was(stops: bool) -> None:
    stopped = made_run(1, state=TrialState.STOPPED, budget=Budget(epochs=3))
    loop = Loop(launches("a"), stops=lambda _trial, _report: stops)
    if stops:
        assert played(loop, ("a", stopped)).results["a-0"].state == "stopped"
    else:
        with pytest.raises(ReplayError, match="was stopped too early"):
            played(loop, ("a", stopped))


def test_a_deadline_is_of_the_simulated_clock() -> None:
    deadline = Deadline(at=BEGAN + 5, reason="late")
    late = [made_launch(made_trial(name), deadline=deadline) for name in "ab"]
    loop = played(Loop(list(late)), ("a", seconds(10)), ("b", seconds(4)))
    assert loop.results["b-0"].state is TrialState.NOT_RUN


def test_what_fits_on_no_node_ends_the_replay() -> None:
    needy = made_launch(made_trial("a"), demand=Demand(gpus=1))
    with pytest.raises(ReplayError, match="2 cores and 1 GPUs fit on no node"):
        played(Loop([needy]), ("a", seconds(1)))


def test_events_of_one_moment_come_reports_first_then_by_id() -> None:
    runs = [("c", seconds(4)), ("b", seconds(8)), ("a", seconds(4))]
    loop = played(Loop(launches("c", "b", "a")), *runs, cpus=6)
    at_4 = [(text, trial_id) for at, text, trial_id in loop.events if at == 4.0]
    assert at_4 == [("epoch 3", "b-0"), ("end", "a-0"), ("end", "c-0")]


@pytest.mark.parametrize("seed", range(5))
def test_the_clock_is_that_of_a_plain_list_schedule(seed: int) -> None:
    rng = random.Random(seed)
    num_slots = rng.randint(1, 5)
    walls = {f"t{index}": float(rng.randint(1, 9)) for index in range(30)}
    loop = played(
        Loop(launches(*walls)),
        *((name, seconds(wall_s)) for name, wall_s in walls.items()),
        cpus=2 * num_slots,
    )
    free_at, expected = [0.0] * num_slots, []
    for name, wall_s in walls.items():
        slot = free_at.index(min(free_at))
        free_at[slot] += wall_s
        expected.append((free_at[slot], f"{name}-0"))
    assert loop.when("end") == sorted(expected)


def test_gpus_and_the_most_at_the_same_time_are_limits_too() -> None:
    on_gpu = [made_launch(made_trial(name), demand=Demand(gpus=1)) for name in "ab"]
    runs = [("a", seconds(10)), ("b", seconds(4))]
    loop = played(Loop([*on_gpu]), *runs, cpus=8, gpus=1)
    assert loop.when("start") == [(0.0, "a-0"), (10.0, "b-0")]
    loop = played(Loop(launches("a", "b")), *runs, cpus=8, most=1)
    assert loop.when("start") == [(0.0, "a-0"), (10.0, "b-0")]
