"""A run's place in the sweep, as a training function may look at it."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest
import torch

from orchestrator.data import PreparedData
from orchestrator.measurement.context import Place, TrialStopped
from tests.orchestrator.measurement.fakes import context


def test_a_run_without_data_says_so() -> None:
    with pytest.raises(LookupError, match="declares no data sets"):
        _ = Place(context()).data


def test_a_training_function_sees_its_place(tmp_path: Path) -> None:
    data = PreparedData(name="digits", path=tmp_path, fingerprint="f00d")
    place = Place(
        context(
            seed=7, device="cuda:1", num_cores=3, rank=1, world_size=2, data=data,
            evaluate_test=True, checkpoint_dir=tmp_path,
        )
    )  # fmt: skip
    assert (place.seed, place.num_cores, place.rank, place.world_size) == (7, 3, 1, 2)
    assert place.device == torch.device("cuda", 1)
    assert place.data is data
    assert place.evaluate_test
    assert place.checkpoint_dir == tmp_path


def test_unless_it_is_said_a_trial_is_alone_and_looks_at_no_test_split() -> None:
    place = Place(context())
    assert (place.rank, place.world_size, place.device) == (0, 1, torch.device("cpu"))
    assert not place.evaluate_test
    assert place.checkpoint_dir is None, "no folder, no checkpoint"


@pytest.mark.parametrize("name", ["seed", "rank", "data", "evaluate_test"])
def test_a_training_function_cannot_change_its_place(name: str) -> None:
    with pytest.raises(AttributeError):
        setattr(Place(context()), name, 1)


def test_a_stop_is_no_exception_that_a_loop_could_survive() -> None:
    assert not issubclass(TrialStopped, Exception)


def test_a_trials_own_folder_is_made_when_it_is_asked_for(tmp_path: Path) -> None:
    place = Place(context(folder=tmp_path / "trial" / "files"))
    assert list(tmp_path.iterdir()) == []
    assert place.folder.is_dir()
    assert place.folder == tmp_path / "trial" / "files"


def test_without_a_supervisor_that_folder_lives_as_long_as_the_run() -> None:
    place = Place(context())
    folder = place.folder
    assert folder.is_dir()
    del place
    gc.collect()
    assert not folder.exists()
