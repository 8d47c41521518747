"""Trials of speed alone: fingerprints by the knobs' roles, and nothing evaluated."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest
import torch

from orchestrator.measurement import run as measurement
from orchestrator.measurement.fingerprint import Fingerprint
from orchestrator.space.knob import Role
from orchestrator.trial import Stage
from tests.trainables.contract import CASES, HERE, Case, Setting
from tests.trainables.running import context, train_once
from tests.trainables.test_contract import over
from trainables.graph.adjacency import Adjacency
from trainables.graph.minibatch import Minibatch, Named, Summed

STEPS = 4
ids = {"argvalues": CASES, "ids": lambda case: case.trainable.name}


@cache
def fingerprint(case: Case, config: object, seed: int = 0) -> tuple[str, float]:
    """Return hash and first loss of a probe."""
    where = context(case.data, steps=STEPS, seed=seed, stage=Stage.PROBE)
    last = train_once(case.trainable, config, where).kept[-1]
    return last.tags["batches"], last.metrics["first_loss"]


@pytest.mark.parametrize(("case", "setting"), over(Role.SYSTEMS))
def test_systems_knobs_leave_batches_and_first_loss_as_they_are(
    case: Case, setting: Setting
) -> None:
    config = case.config(setting)
    if (reason := case.trainable.infeasible(config, HERE)) is not None:
        pytest.skip(f"infeasible here: {reason}")
    expected, found = fingerprint(case, case.quick), fingerprint(case, config)
    assert found[0] == expected[0]
    assert found[1] == pytest.approx(expected[1], rel=1e-5)


@pytest.mark.parametrize("case", **ids)
def test_another_seed_has_other_batches(case: Case) -> None:
    assert fingerprint(case, case.quick, seed=1)[0] != fingerprint(case, case.quick)[0]


@pytest.mark.parametrize("case", **ids)
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


def test_a_graph_s_batch_is_the_same_wherever_its_features_are_looked_up() -> None:
    adjacency = Adjacency(torch.tensor([0, 1, 3]), torch.tensor([2, 0, 1]))
    rows, labels = torch.rand(2, 5), torch.tensor([4, 7])
    in_loader = Minibatch(Summed(rows, rows), (adjacency,), labels, 2)
    in_step = Minibatch(Named(torch.tensor([8, 9]), adjacency), (adjacency,), labels, 2)
    other = in_step._replace(labels=labels + 1)
    hashes = []
    for batch in (in_loader, in_step, other):
        found = Fingerprint()
        found.add_batch(batch)
        hashes.append(found.batches)
    assert hashes[0] == hashes[1] != hashes[2]
