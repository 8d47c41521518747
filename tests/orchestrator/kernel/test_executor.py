"""Launches, and the environment of ranks."""

import pickle
import time
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.data import DataFolders
from orchestrator.kernel.executor import Deadline, Executor, Launch, Needs, Rank, Source
from orchestrator.trainable import Demand
from orchestrator.trial import Isolation, TrialState
from tests.orchestrator.tracking.journals import make_trial

LAUNCH = Launch(
    trial=make_trial(0),
    needs=Needs(
        source=Source(file="sweeps/loader.py"),
        data="products-synthetic@small",
        folders=DataFolders(root=Path("data"), cache=Path("cache")),
        fingerprint="f00d",
    ),
    demand=Demand(ranks=2, gpus=2, workers=3, burst=6),
    num_cores=4,
    isolation=Isolation.EXCLUSIVE,
    preload=("torch",),
    scratch=Path("scratch"),
    time_limit_s=60.0,
    retries=1,
    deadline=Deadline(at=1.0, reason="late"),
    in_slices=True,
    others=(),
)


def test_a_launch_of_several_is_a_launch_for_each() -> None:
    second = replace(LAUNCH, trial=make_trial(1))
    both = replace(LAUNCH, others=(second,))
    assert both.trials == (make_trial(0), make_trial(1))
    assert both.each() == (LAUNCH, second)


def test_a_trial_is_not_run_after_its_deadline() -> None:
    result = LAUNCH.not_run()
    assert (result.state, result.reason) == (TrialState.NOT_RUN, "late")
    later = Deadline(at=time.time() + 1000, reason="late")
    assert replace(LAUNCH, deadline=later).not_run() is None
    assert replace(LAUNCH, deadline=None).not_run() is None


def test_a_rank_finds_the_others_by_torchrun_s_names() -> None:
    rank = Rank(index=1, world_size=2, gpus=("GPU-a", "GPU-b"), master=("127.0.0.1", 2950))
    assert rank.environment() == {
        "CUDA_VISIBLE_DEVICES": "GPU-a,GPU-b",
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
        "RANK": "1",
        "LOCAL_RANK": "0",
        "WORLD_SIZE": "2",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": "2950",
    }


def test_a_deadline_counts_time_that_no_clock_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    before = Executor().now()
    monkeypatch.setattr(time, "time", lambda: before + 3600)
    assert Executor().now() - before < 60
    at = Executor().now() + 1000
    sent = pickle.loads(pickle.dumps(Deadline(at=at, reason="late")))
    assert sent.reason == "late"
    assert sent.at == pytest.approx(at, abs=60)
