"""Functions by what they find: files, checkpoints, the context."""

# ruff: noqa: D103, ANN401 - their names say it

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import ray
from ray import train, tune

from benchmarks.reliability.ray_tune.cases import Config, case

# -- files


@case
def files_are_its_own(config: Config) -> None:
    Path("a.txt").write_text("mine")
    Path("sub").mkdir()
    (Path("sub") / "b.txt").write_text("x")
    found = sorted(str(path) for path in Path().rglob("*"))
    tune.report({"score": float(len(found))})


@case
def files_of_the_same_name_again(config: Config) -> None:
    tune.report({"score": float(Path("a.txt").exists())})


@case
def files_of_the_user_are_found(config: Config) -> None:
    user = os.environ["TUNE_ORIG_WORKING_DIR"]
    tune.report({"score": float(Path(user).is_dir()), "apart": float(user != str(Path.cwd()))})


@case
def files_of_a_child_process(config: Config) -> None:
    subprocess.run([sys.executable, "-c", "open('c', 'w').write('1')"], check=True)
    tune.report({"score": float(Path("c").read_text())})


# -- checkpoints


def _checkpoint(number: int) -> Any:
    folder = tempfile.mkdtemp()
    (Path(folder) / "number").write_text(str(number))
    return tune.Checkpoint.from_directory(folder)


@case
def checkpoint_is_none_at_first(config: Config) -> None:
    tune.report({"score": float(tune.get_checkpoint() is None)})


@case
def checkpoint_is_the_last_one(config: Config) -> None:
    for number in range(3):
        tune.report({"score": float(number)}, checkpoint=_checkpoint(number))
        kept = tune.get_checkpoint()
        assert kept is not None
        with kept.as_directory() as folder:
            assert (Path(folder) / "number").read_text() == str(number)
    tune.report({"score": 10.0})


@case
def checkpoint_of_some_reports(config: Config) -> None:
    tune.report({"score": 0.0}, checkpoint=_checkpoint(7))
    tune.report({"score": 1.0})
    kept = tune.get_checkpoint()
    assert kept is not None
    with kept.as_directory() as folder:
        tune.report({"score": float((Path(folder) / "number").read_text())})


@case
def checkpoint_has_its_metadata(config: Config) -> None:
    checkpoint = _checkpoint(1)
    checkpoint.set_metadata({"epoch": 4})
    tune.report({"score": 1.0}, checkpoint=checkpoint)
    kept = tune.get_checkpoint()
    assert kept is not None
    tune.report({"score": float(kept.get_metadata()["epoch"])})


# -- the context


@case
def context_names_the_trial(config: Config) -> None:
    context = tune.get_context()
    name, trial = context.get_trial_name(), context.get_trial_id()
    tune.report({
        "score": float(isinstance(trial, str) and len(trial) > 4),
        "name_has_id": float(trial in name),
        "experiment": float(isinstance(context.get_experiment_name(), str)),
    })  # fmt: skip


@case
def context_has_resources(config: Config) -> None:
    resources = tune.get_context().get_trial_resources()
    tune.report({
        "score": float(resources.required_resources["CPU"] >= 1),
        "kind": float(type(resources).__name__ == "PlacementGroupFactory"),
        "gpus": float(resources.required_resources.get("GPU", 0)),
    })  # fmt: skip


@case
def context_has_a_folder(config: Config) -> None:
    tune.report({"score": float(Path(tune.get_context().get_trial_dir()).is_absolute())})


@case
def context_has_no_ranks(config: Config) -> None:
    context = tune.get_context()
    tune.report({
        "score": float(context.get_world_size() is None),
        "rank": float(context.get_world_rank() is None),
        "local": float(context.get_local_rank() is None),
    })  # fmt: skip


@case
def context_has_no_metadata(config: Config) -> None:
    tune.report({"score": 1.0})
    tune.get_context().get_metadata()


@case
def context_is_the_same_one(config: Config) -> None:
    tune.report({"score": float(tune.get_context() is tune.get_context())})


@case
def context_has_no_ranks_on_a_node(config: Config) -> None:
    context = tune.get_context()
    tune.report({
        "score": float(context.get_local_world_size() is None),
        "node": float(context.get_node_rank() is None),
    })  # fmt: skip


@case
def context_has_its_folder(config: Config) -> None:
    here = Path.cwd().resolve()
    tune.report({"score": float(Path(tune.get_context().get_trial_dir()).resolve() == here)})


@case
def context_of_ray_train(config: Config) -> None:
    tune.report({"score": 1.0})
    train.get_context().get_world_size()


@case
def checkpoint_of_ray_train(config: Config) -> None:
    tune.report({"score": 1.0})
    train.get_checkpoint()


@case
def checkpoint_is_found_in_a_thread(config: Config) -> None:
    tune.report({"score": 1.0}, checkpoint=_checkpoint(5))
    with ThreadPoolExecutor(1) as pool:
        kept = pool.submit(tune.get_checkpoint).result()
    assert kept is not None
    tune.report({"score": float((Path(kept.path) / "number").read_text())})


@case
def checkpoint_is_written_anew(config: Config) -> None:
    folder = Path("own")
    for number in range(2):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        (folder / f"{number}.txt").write_text(str(number))
        tune.report({"score": 1.0}, checkpoint=tune.Checkpoint.from_directory(folder))
    kept = tune.get_checkpoint()
    assert kept is not None
    with kept.as_directory() as path:
        tune.report({"score": float(len(os.listdir(path)))})  # noqa: PTH208 - as users do


@case
def checkpoint_goes_to_a_folder(config: Config) -> None:
    tune.report({"score": 1.0}, checkpoint=_checkpoint(5))
    kept = tune.get_checkpoint()
    assert kept is not None
    kept.to_directory("copied")
    kept.update_metadata({"a": 2})
    there = float((Path("copied") / "number").read_text())
    tune.report({"score": there, "a": float(kept.get_metadata()["a"])})


# -- Ray itself


@case
def ray_is_started(config: Config) -> None:
    tune.report({"score": 1.0, "started": float(ray.is_initialized())})


@case
def ray_keeps_an_object(config: Config) -> None:
    tune.report({"score": float(ray.get(ray.put(4.0)))})


@case
def ray_runs_a_task(config: Config) -> None:
    task = ray.remote(num_cpus=0)(_doubled)
    tune.report({"score": float(ray.get(task.remote(2.0)))})


@case
def ray_says_where_it_is(config: Config) -> None:
    tune.report({"score": float(bool(ray.util.get_node_ip_address()))})


def _doubled(x: float) -> float:
    return 2 * x
