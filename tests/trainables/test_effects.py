"""The knobs that several trainables share have their effects, in each of them."""

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import psutil
import pytest
import torch
from torch.utils.data import DataLoader

from orchestrator.measurement.run import Channel, Context, Run
from orchestrator.space.configs import canonical, knobs_of, replaced
from orchestrator.space.knob import Role
from tests.trainables.contract import CASES, Case, is_a_test
from tests.trainables.running import Reports, context, operations, train_once
from trainables.loading import moved


def name_of(case: Case) -> str:
    return case.trainable.name


EVERY_CASE = pytest.mark.parametrize("case", CASES, ids=name_of)
WITH_PREFETCH = pytest.mark.parametrize(
    "case", [case for case in CASES if "prefetch" in knobs_of(case.quick)], ids=name_of
)


def with_knobs(case: Case, **knobs: object) -> Any:  # noqa: ANN401 - the case's config
    return canonical(replaced(case.quick, knobs))


class WatchingRun(Run):
    """Run that calls ``look`` in each step, with the index of its epoch."""

    look: Callable[[int], None]
    in_step = False  # true while a step is being worked on: not fetched, not evaluated after

    def epochs(self) -> Iterator[int]:
        for self.epoch in super().epochs():
            yield self.epoch

    def batches(self, loader: Iterable[Any], *, samples: Callable[[Any], int]) -> Iterator[Any]:
        for batch in super().batches(loader, samples=samples):
            self.look(self.epoch)
            self.in_step = True
            yield batch
            self.in_step = False


def watched(
    case: Case,
    config: object,
    look: Callable[[int], None],
    *,
    epochs: int = 1,
    steps: int | None = None,
    num_cores: int = 1,
    runs: list[WatchingRun] | None = None,
) -> Reports:
    def make_run(where: Context, channel: Channel) -> Run:
        run = WatchingRun(where, channel)
        run.look = look
        if runs is not None:
            runs.append(run)
        return run

    where = context(case.data, epochs=epochs, steps=steps, num_cores=num_cores)
    return train_once(case.trainable, config, where, make_run=make_run)


@EVERY_CASE
def test_threads_are_torch_s_own(case: Case) -> None:
    def threads(count: int) -> set[int]:
        found: set[int] = set()
        config = with_knobs(case, threads=count)
        watched(case, config, lambda _: found.add(torch.get_num_threads()), steps=2)
        return found

    assert threads(2) == {2}
    assert threads(0) == {1}  # the rank's cores


@EVERY_CASE
def test_bf16_multiplies_in_bf16(case: Case) -> None:
    def dtypes(amp: str) -> set[torch.dtype]:
        found: set[torch.dtype] = set()
        runs: list[WatchingRun] = []

        def note(module: torch.nn.Module, _: object, output: torch.Tensor) -> None:
            if isinstance(module, torch.nn.Linear) and runs and runs[0].in_step:
                found.add(output.dtype)

        with torch.nn.modules.module.register_module_forward_hook(note):
            watched(case, with_knobs(case, amp=amp), lambda _: None, steps=2, runs=runs)
        return found

    assert dtypes("off") == {torch.float32}
    assert dtypes("bf16") == {torch.bfloat16}


@EVERY_CASE
def test_nothing_is_read_back_within_a_step_unless_asked_for(
    case: Case, capsys: pytest.CaptureFixture[str]
) -> None:
    def read_backs(log_every: int) -> int:
        steps = operations(case.trainable, with_knobs(case, log_every=log_every), where)
        assert len(steps) == 4
        return sum(name == "aten._local_scalar_dense" for step in steps for name, _ in step)

    where = context(case.data, steps=4)
    unasked = read_backs(0)
    assert unasked == 0
    assert capsys.readouterr().out == ""
    assert read_backs(2) == 2
    printed = [line.split(":")[0] for line in capsys.readouterr().out.splitlines()]
    assert printed == ["step 2", "step 4"]


@EVERY_CASE
def test_it_is_evaluated_every_so_often_and_after_the_last_epoch(case: Case) -> None:
    accuracy = case.trainable.reports[0].metric
    config = canonical(replaced(case.large_batches(), {"eval_every": 2}))
    reports = train_once(case.trainable, config, context(case.data, epochs=5))
    evaluated = [report.epoch for report in reports.kept if accuracy in report.metrics]
    assert evaluated == [2, 4, 5]
    assert [report.epoch for report in reports.kept] == [1, 2, 3, 4, 5]
    assert ["eval_s" in report.metrics for report in reports.kept] == [False, *[True] * 4]


@EVERY_CASE
def test_workers_are_processes_and_may_be_kept(case: Case) -> None:
    def workers(**knobs: object) -> list[set[int]]:
        before = {child.pid for child in psutil.Process().children()}
        seen: list[set[int]] = [set(), set()]
        watched(
            case,
            canonical(replaced(case.large_batches(), knobs)),
            lambda epoch: seen[epoch].update(c.pid for c in psutil.Process().children()),
            epochs=2,
        )
        return [pids - before for pids in seen]

    assert workers() == [set(), set()]
    first, second = workers(num_workers=2)
    assert len(first) == len(second) == 2
    assert not first & second
    first, second = workers(num_workers=1, persistent_workers=True)
    assert len(first) == 1
    assert first == second


@EVERY_CASE
def test_workers_have_the_cores_that_the_threads_leave(case: Case) -> None:
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) == 1:
        pytest.skip("there is one core")

    def seen(loader_cores: int, num_cores: int) -> tuple[set[int], set[int]]:
        before = {child.pid for child in psutil.Process().children()}
        threads, bound = set[int](), set[int]()

        def look(_: int) -> None:
            threads.add(torch.get_num_threads())
            workers = {child.pid for child in psutil.Process().children()} - before
            bound.update(*(os.sched_getaffinity(worker) for worker in workers))

        knobs = {"num_workers": 1, "loader_cores": loader_cores, "threads": 0}
        config = canonical(replaced(case.large_batches(), knobs))
        watched(case, config, look, num_cores=num_cores)
        return threads, bound

    assert seen(0, len(cores)) == ({len(cores)}, set(cores))
    assert seen(1, len(cores)) == ({len(cores) - 1}, {cores[-1]})
    # The cores of a trial that is not bound to them are not known.
    assert seen(1, len(cores) + 1) == ({len(cores)}, set(cores))


@EVERY_CASE
@pytest.mark.parametrize(
    ("knobs", "handed"),
    [
        (
            {"num_workers": 1, "prefetch_factor": 5},
            {"num_workers": 1, "prefetch_factor": 5, "pin_memory": False},
        ),
        pytest.param({"pin_memory": True}, {"pin_memory": True}, marks=pytest.mark.gpu),
    ],
)
def test_loaders_are_made_as_asked(
    case: Case,
    knobs: Mapping[str, object],
    handed: Mapping[str, object],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[Mapping[str, object]] = []
    make = DataLoader.__init__

    def noted(self: DataLoader[Any], *args: Any, **given: Any) -> None:  # noqa: ANN401
        made.append(given)
        make(self, *args, **given)

    monkeypatch.setattr(DataLoader, "__init__", noted)
    device = "cuda:0" if "pin_memory" in knobs else "cpu"
    train_once(
        case.trainable, with_knobs(case, **knobs), context(case.data, steps=2, device=device)
    )
    assert any(handed.items() <= given.items() for given in made)


@WITH_PREFETCH
def test_the_next_batch_is_fetched_in_a_thread(case: Case) -> None:
    def fetching_threads(prefetch: str) -> int:
        found: set[str] = set()
        watched(
            case,
            with_knobs(case, prefetch=prefetch),
            lambda _: found.update(thread.name for thread in threading.enumerate()),
            steps=2,
        )
        return sum(name.startswith("prefetch") for name in found)

    assert fetching_threads("off") == 0
    assert fetching_threads("thread") == 1


@EVERY_CASE
def test_batches_are_copied_with_or_without_waiting(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    def asked_for(non_blocking: bool) -> set[bool]:
        found: set[bool] = set()

        def noted(batch: Any, device: torch.device, *, non_blocking: bool = False) -> Any:  # noqa: ANN401
            found.add(non_blocking)
            return moved(batch, device, non_blocking=non_blocking)

        monkeypatch.setattr("trainables.loading.prefetch.moved", noted)
        # Not canonical, for that takes page-locked memory, and so a GPU.
        config = replaced(case.quick, {"non_blocking": non_blocking})
        train_once(case.trainable, config, context(case.data, steps=2))
        return found

    assert asked_for(non_blocking=False) == {False}
    assert asked_for(non_blocking=True) == {True}


@EVERY_CASE
def test_drop_last_leaves_out_the_smaller_batch(case: Case) -> None:
    def steps(drop_last: bool) -> int:
        config = canonical(replaced(case.large_batches(), {"drop_last": drop_last}))
        return train_once(case.trainable, config, context(case.data)).kept[-1].step

    assert steps(drop_last=True) == steps(drop_last=False) - 1


@EVERY_CASE
def test_drop_last_that_leaves_nothing_to_train_on_is_refused(case: Case) -> None:
    config = with_knobs(case, drop_last=True, batch_size=5000)
    with pytest.raises(ValueError, match=r"drop_last leaves no batch of \d+ samples .*=5000"):
        train_once(case.trainable, config, context(case.data))


SHARED = {
    "threads": test_threads_are_torch_s_own,
    "amp": test_bf16_multiplies_in_bf16,
    "log_every": test_nothing_is_read_back_within_a_step_unless_asked_for,
    "eval_every": test_it_is_evaluated_every_so_often_and_after_the_last_epoch,
    "num_workers": test_workers_are_processes_and_may_be_kept,
    "persistent_workers": test_workers_are_processes_and_may_be_kept,
    "prefetch_factor": test_loaders_are_made_as_asked,
    "pin_memory": test_loaders_are_made_as_asked,
    "prefetch": test_the_next_batch_is_fetched_in_a_thread,
    "non_blocking": test_batches_are_copied_with_or_without_waiting,
    "drop_last": test_drop_last_leaves_out_the_smaller_batch,
}
ELSEWHERE = {
    "device": "test_workers_and_gpus_are_asked_for",
    "allocator": "test_the_allocator_is_part_of_the_demand",
}


@EVERY_CASE
def test_the_effect_of_every_systems_knob_is_seen_somewhere(case: Case) -> None:
    """The effect of a ``learning`` knob, and of a ``both`` knob, is seen in the loss."""
    seen = {**ELSEWHERE, **case.elsewhere, **case.effects}
    systems = {name for name, knob in knobs_of(case.quick).items() if knob.role is Role.SYSTEMS}
    assert systems <= set(SHARED) | set(seen)
    assert all(map(is_a_test, seen.values()))
