"""A run of every trainable: seed, end, checkpoint, pause, held-out data, fingerprints."""

import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from orchestrator import DataFolders
from orchestrator.measurement import run as measurement
from orchestrator.measurement.run import Context, Run, TrialStopped
from orchestrator.space.configs import canonical, knobs_of, replaced
from orchestrator.trainable import IF_POSSIBLE
from orchestrator.trial import Budget, Stage
from tests.conftest import ROOT
from tests.helping import ran
from tests.trainables.contract import CASES, Case
from tests.trainables.running import Reports, batches_seen, context, train_once
from trainables import rgat
from trainables.checkpoints import Progress
from trainables.precision import Precision

BY_NAME = {case.trainable.name: case for case in CASES}
EVERY_CASE = pytest.mark.parametrize("case", CASES, ids=BY_NAME)


def shortened(case: Case, knobs: Mapping[str, object] | None = None) -> Any:  # noqa: ANN401
    """Return the case's config with epochs of two steps."""
    return canonical(replaced(case.large_batches(), knobs or {}))


@EVERY_CASE
def test_the_seed_decides_what_is_learned(case: Case) -> None:
    def losses(seed: int) -> list[float]:
        where = context(case.data, seed=seed, steps=2)
        return train_once(case.trainable, case.quick, where).metric("train_loss")

    assert losses(1) == losses(1) != losses(2)


@pytest.mark.parametrize(
    ("name", "lr"),
    [("lenet", 1e9), ("mlp", 1e9), ("graphsage", 1e30), ("rgat", 1e38), ("node_embedding", 1e38)],
)
def test_training_that_diverges_names_the_step(name: str, lr: float) -> None:
    case = BY_NAME[name]
    config = replaced(case.quick, {"lr": lr})
    with pytest.raises(FloatingPointError, match=r"loss is not finite since step \d+ of \d+"):
        train_once(case.trainable, config, context(case.data, epochs=3))


@pytest.mark.parametrize("num_workers", [0, 2])
@EVERY_CASE
def test_a_trial_that_is_stopped_leaves_after_its_report(case: Case, num_workers: int) -> None:
    reports = Reports(stop_after=2)
    config = shortened(case, {"num_workers": num_workers})
    with pytest.raises(TrialStopped):
        train_once(case.trainable, config, context(case.data, epochs=9), reports=reports)
    assert len(reports.kept) == 2


@pytest.mark.parametrize(
    ("name", "knobs"),
    [
        *((name, {}) for name in BY_NAME),
        ("rgat", {"lr_step": 1}),
        ("node_embedding", {"embedding": "sparse"}),
    ],
    ids=str,
)
def test_a_restored_run_continues_as_if_nothing_had_happened(
    name: str, knobs: dict[str, object], tmp_path: Path
) -> None:
    case = BY_NAME[name]
    config, score = shortened(case, knobs), case.trainable.reports[0].metric

    def trained(epochs: int, checkpoint_dir: Path | None) -> Reports:
        where = context(
            case.data, epochs=epochs, evaluate_test=epochs == 3, checkpoint_dir=checkpoint_dir
        )
        return train_once(case.trainable, config, where)

    whole = trained(3, None)
    trained(2, tmp_path)
    rest = trained(3, tmp_path)
    assert [report.epoch for report in rest.kept] == [3]
    for metric in ("train_loss", score, score.replace("val", "test")):
        assert rest.metric(metric) == whole.metric(metric)[-1:] != []


@EVERY_CASE
def test_the_test_split_is_kept_back_unless_it_is_asked_for_and_then_seen_once(case: Case) -> None:
    def in_reports(*, evaluate_test: bool) -> list[bool]:
        where = context(case.data, epochs=3, evaluate_test=evaluate_test)
        reports = train_once(case.trainable, shortened(case), where)
        return [metric in report.metrics for report in reports.kept]

    metric = case.trainable.reports[0].metric.replace("val", "test")
    assert in_reports(evaluate_test=False) == [False, False, False]
    assert in_reports(evaluate_test=True) == [False, False, True]


OF_NODES = pytest.mark.parametrize(
    "case",
    [case for case in CASES if case.trainable.name in ("graphsage", "rgat")],
    ids=lambda case: case.trainable.name,
)


@EVERY_CASE
def test_without_it_nothing_is_reported_of_validation(case: Case) -> None:
    assert "hold_out" in knobs_of(case.trainable.config)
    config = replaced(case.quick, {"hold_out": False})
    reports = train_once(case.trainable, config, context(case.data, evaluate_test=True))
    [report] = reports.kept
    assert not [name for name in report.metrics if name.startswith("val_")]
    assert [name for name in report.metrics if name.startswith("test_")], "tested all the same"


@OF_NODES
def test_without_it_validation_nodes_are_trained_on(case: Case) -> None:
    facts = case.data.prepare(DataFolders.default(Path("nowhere"))).facts
    seeds = {}
    for hold_out in (True, False):
        config = replaced(case.quick, {"hold_out": hold_out, "drop_last": False})
        batches = batches_seen(case.trainable, config, context(case.data))
        seeds[hold_out] = sum(parts[0].total for parts in batches)
    assert seeds == {True: facts["train"], False: facts["train"] + facts["val"]}


IMPORTED = """
import importlib, json, os, sys

def import_and_count(modules):
    for module in modules:
        importlib.import_module(module)
    return len(os.listdir("/proc/self/task"))

others, own = json.loads(sys.argv[1])
before = import_and_count(others)  # the pools of numpy's and scipy's OpenBLAS, which survive a fork
after = import_and_count(own)
import torch
print(after - before, torch.cuda.is_initialized())
"""


@pytest.mark.slow
def test_importing_them_starts_no_thread_and_touches_no_gpu() -> None:
    trainables = [case.trainable for case in CASES]
    assert all(trainable.warm for trainable in trainables)
    imports = {name for trainable in trainables for name in trainable.imports}
    own = sorted(name for name in imports if name.startswith(IF_POSSIBLE))
    assert len(own) == len(trainables)
    others = ["orchestrator.execution.process.child", *sorted(imports - {*own})]
    asked = json.dumps([others, [name.removeprefix(IF_POSSIBLE) for name in own]])
    command = [sys.executable, "-c", IMPORTED, asked]
    done = ran(*command, cwd=ROOT)
    assert done.stdout.split() == ["0", "False"]


def progress(device: str = "cpu") -> Progress:
    network = nn.Embedding(3, 2).to(device)
    optimizer = torch.optim.Adam(network.parameters(), 0.1, fused=True)
    return Progress(
        network=network, optimizer=optimizer, precision=Precision("off", torch.device(device))
    )


def stepped(there: Progress, device: str = "cpu") -> torch.Tensor:
    assert isinstance(there.network, nn.Embedding)
    assert isinstance(there.optimizer, torch.optim.Optimizer)
    there.network(torch.arange(2, device=device)).sum().backward()
    there.optimizer.step()
    there.optimizer.zero_grad()
    return there.network.weight.detach().clone()


def run(tmp_path: Path, device: str) -> Run:
    where = Context(seed=0, budget=Budget(epochs=1), device=device, checkpoint_dir=tmp_path)
    return Run(where, Reports())


def test_tables_on_the_cpu_are_restored_without_the_run_s_own_device(tmp_path: Path) -> None:
    """A device without storage replaces a GPU with too little memory."""
    there, again = progress(), progress()
    stepped(there)
    there.keep(run(tmp_path, "meta"))
    again.restore(run(tmp_path, "meta"))
    assert torch.equal(stepped(again), stepped(there))


@pytest.mark.gpu
def test_what_is_on_the_gpu_is_restored_there(tmp_path: Path) -> None:
    there, again = progress("cuda:0"), progress("cuda:0")
    stepped(there, "cuda:0")
    there.keep(run(tmp_path, "cuda:0"))
    again.restore(run(tmp_path, "cuda:0"))
    assert torch.equal(stepped(again, "cuda:0"), stepped(there, "cuda:0"))


EPOCHS, PAUSE = 9, 3
LEARNED = ("train_loss", "val_acc", "val_auc")


def trained(case: Case, folder: Path | None, *, pause_after: int | None = None) -> Reports:
    """Train 9 epochs, or up to a pause; evaluated after the fifth, and where training ends."""
    where = context(case.data, evaluate_test=False, checkpoint_dir=folder)
    where = replace(where, budget=Budget(epochs=EPOCHS, pause_after=pause_after))
    return train_once(case.trainable, shortened(case, {"eval_every": 5}), where)


def learned(reports: Reports, *, of: range) -> list[tuple[int, dict[str, float]]]:
    """Return what was learned by each report of these epochs."""
    return [
        (report.epoch, {name: report.metrics[name] for name in LEARNED if name in report.metrics})
        for report in reports.kept
        if report.epoch in of
    ]


@EVERY_CASE
def test_a_curve_with_a_pause_is_that_of_one_go(case: Case, tmp_path: Path) -> None:
    whole = trained(case, None)
    first = trained(case, tmp_path, pause_after=PAUSE)
    torch.manual_seed(1)  # another process has another state
    rest = trained(case, tmp_path)
    assert [report.epoch for report in first.kept] == [1, 2, 3]
    assert any(name.startswith("val_") for name in learned(first, of=range(3, 4))[0][1]), (
        "evaluated at the pause"
    )
    assert learned(first, of=range(1, 3)) == learned(whole, of=range(1, 3))
    assert learned(rest, of=range(1, 10)) == learned(whole, of=range(4, 10))
    counts = [(r.epoch, r.step, r.samples) for r in (*first.kept, *rest.kept)]
    assert counts == [(r.epoch, r.step, r.samples) for r in whole.kept]


def test_a_best_network_that_only_a_pause_has_looked_at_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The accuracy falls from epoch to epoch: the best one is the first that is evaluated."""
    falling = iter(range(100, 0, -1))
    monkeypatch.setattr(rgat, "_validated", lambda *_: {"val_acc": next(falling) / 100})
    case = next(case for case in CASES if case.trainable.name == "rgat")
    first = trained(case, tmp_path, pause_after=PAUSE)
    rest = trained(case, tmp_path)
    assert first.metric("val_acc") == [1.0]
    assert rest.metric("val_acc") == [0.99, 0.99], "the fifth's, again at the end"


STEPS = 4


@EVERY_CASE
def test_another_seed_has_other_batches(case: Case) -> None:
    def batches(seed: int) -> str:
        where = context(case.data, steps=STEPS, seed=seed, stage=Stage.PROBE)
        return train_once(case.trainable, case.quick, where).kept[-1].tags["batches"]

    assert batches(0) != batches(1)


@EVERY_CASE
def test_nothing_is_evaluated_where_speed_alone_is_asked_for(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    def evaluating(_: measurement.Run) -> None:
        raise AssertionError("it evaluates")

    monkeypatch.setattr(measurement.Run, "evaluating", evaluating)
    where = context(case.data, steps=STEPS, stage=Stage.PROBE, evaluate_test=True)
    where = replace(where, budget=replace(where.budget, evaluated=False))
    metrics = train_once(case.trainable, case.quick, where).kept[-1].metrics
    assert metrics["samples_per_s"] > 0
    assert metrics["first_loss"] > 0
    assert not {"val_acc", "val_auc", "train_loss", "eval_s", "test_acc"} & set(metrics)
