"""Trainables: their names, demands and infeasible configs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.data import DataFolders, PreparedData, find_data, is_path
from orchestrator.errors import DataError, SweepFileError, collecting_problems
from orchestrator.machine import Machine, Node, requires
from orchestrator.measurement.run import Run
from orchestrator.metrics import maximize, minimize
from orchestrator.space.configs import knobs, systems
from orchestrator.trainable import Demand, Trainable

MACHINE = Machine(nodes=(Node(name="a", cpus=4, gpus=1), Node(name="b", cpus=8)))


@knobs
class Config:
    gpus: int = systems(default=0, ge=0, doc="GPUs")
    workers: int = systems(default=0, ge=0, doc="loader processes")


def train(config: Config, run: Run) -> None:
    """Do nothing."""


def demand(config: Config, _machine: Machine) -> Demand:
    return Demand(gpus=config.gpus)


def test_it_has_the_name_of_its_module_unless_it_is_given_one() -> None:
    assert Trainable(train, Config).name == "test_trainable"
    assert Trainable(train, Config, name="other").name == "other"


def test_the_first_violated_constraint_gives_the_reason() -> None:
    trainable = Trainable(
        train,
        Config,
        constraints=[
            requires(lambda config: config.workers < 5, "too many"),
            requires(lambda config: config.workers < 3, "many"),
        ],
    )
    reasons = [trainable.infeasible(Config(workers=n), MACHINE) for n in (2, 4, 6)]
    assert reasons == [None, "many", "too many"]


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({"ranks": 8}, None),
        ({"ranks": 999}, "needs 999 ranks, the largest node has 8 cores: each rank is a process"),
        ({"ranks": 2, "workers": 500}, "needs 1000 loader processes, the largest node has 8 cores"),
        ({"gpus": 2}, "needs 2 GPUs, the largest node has 1"),
        ({"ranks": 2, "gpus": 4, "nodes": 2}, "needs 2 GPUs, the largest node has 1"),
        ({"gpus": 0.25}, "needs 0.25 GPUs: to share one takes NVIDIA's MPS, which is not here"),
        ({"gpus": 0.25, "ranks": 2}, "needs 0.25 GPUs for 2 ranks: one rank shares a GPU"),
        ({"ranks": 2, "nodes": 2}, None),
        ({"ranks": 3, "nodes": 2}, "needs 2 nodes, over which 3 ranks cannot be divided"),
        ({"ranks": 3, "nodes": 3}, "needs 3 nodes, there are 2; --address"),
    ],
)
def test_more_than_a_machine_has_is_infeasible(asked: dict[str, Any], reason: str | None) -> None:
    infeasible = Trainable(train, Config, demand=lambda *_: Demand(**asked)).infeasible(
        Config(), MACHINE
    )
    assert infeasible is None if reason is None else str(infeasible).startswith(reason)


def test_a_part_of_a_gpu_runs_where_mps_is() -> None:
    shared = Machine(nodes=(Node(name="a", cpus=4, gpus=1, has_mps=True),))
    assert Demand(gpus=0.25).beyond(shared) is None
    assert Demand(gpus=0.25).beyond(Machine(nodes=(Node(name="a", cpus=4),))) == (
        "needs 0.25 GPUs, the largest node has 0"
    )


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        ({"ranks": "two"}, "Demand: ranks = 'two' is not allowed"),
        ({"gpus": 1.5}, "Demand: gpus = 1.5 is not allowed"),
        ({"burst": 2**70}, "Demand: burst = 1180591620717411303424 is not allowed"),
        ({"allocator": "jemaloc"}, "did you mean 'jemalloc'?"),
    ],
)
def test_demand_of_wrong_types_is_refused_with_its_config(asked: dict[str, Any], text: str) -> None:
    trainable = Trainable(train, Config, demand=lambda *_: Demand(**asked))
    with pytest.raises(SweepFileError) as refused:
        trainable.demand_of(Config(), MACHINE)
    assert refused.value.message.startswith("tests/orchestrator/test_trainable.py:")
    assert text in refused.value.message
    assert "for Config(" in refused.value.message


# -- fields of wrong types


@pytest.mark.parametrize(
    ("field", "value", "text", "allowed"),
    [
        ("train", None, "train = None is not allowed", "def train(config, run)"),
        ("train", Config, "train = Config is a class", "is taken by from_ray"),
        ("train", lambda config: None, "cannot be called with a config and a run", ""),
        ("config", Config(), "config = Config() is not allowed", "a class made with @knobs"),
        ("config", dict, "config = dict has no knobs", "a class made with @knobs"),
        ("data", ["mnist"], "data[0] = 'mnist' is no data set with name", "a list of data sets"),
        ("reports", ["val_acc"], "reports[0] = 'val_acc'", '[maximize("val_acc")]'),
        ("reports", [maximize("a"), minimize("a")], "reports[1] names 'a' a second", "directions"),
        ("constraints", ["no"], "constraints[0] = 'no'", "a list of functions"),
        ("demand", 3, "demand = 3", "a function of a config and a machine"),
        ("preload", "torch", "preload = 'torch'", '["torch"]'),
        ("warm", 1, "warm = 1", "True or False"),
    ],
)
def test_a_field_of_a_wrong_type_is_refused(
    field: str, value: Any, text: str, allowed: str  # noqa: ANN401
) -> None:  # fmt: skip
    with pytest.raises(SweepFileError) as refused:
        Trainable(**{"train": train, "config": Config, field: value})
    assert refused.value.message.startswith("tests/orchestrator/test_trainable.py:")
    assert text in refused.value.message
    assert allowed in refused.value.hint


def test_all_wrong_fields_are_reported_together() -> None:
    with collecting_problems() as problems:
        Trainable(train, Config, reports=["a"], preload="b", warm=3)  # type: ignore[list-item, arg-type]
    assert len(problems) == 3


@pytest.mark.parametrize(
    ("field", "wrong", "message"),
    [
        ("demand", lambda *_: 3, "demand returned 3"),
        ("constraints", [lambda *_: True], "a constraint returned True"),
    ],
)
def test_a_wrong_function_of_a_config_is_named_with_its_line(
    field: str, wrong: Any, message: str  # noqa: ANN401
) -> None:  # fmt: skip
    trainable = Trainable(**{"train": train, "config": Config, field: wrong})
    with pytest.raises(SweepFileError, match=message) as refused:
        trainable.infeasible(Config(), MACHINE)
    assert "test_trainable.py:" in refused.value.message


# -- data sets by name, variant or folder


@dataclass(frozen=True)
class Made:
    """Data set that is generated."""

    name: str
    variant: str = ""
    embedded: bool = True
    how_to_get: str = "it is generated"

    def at(self, variant: str) -> Made:
        return replace(self, variant=variant)

    def present(self, folders: DataFolders) -> bool:
        return True

    def name_in(self, folders: DataFolders) -> str:
        return self.name

    def prepare(self, folders: DataFolders, *, download: bool = False) -> PreparedData:
        assert not download
        return PreparedData(name=self.name, path=folders.cache / self.name, fingerprint="f")


SETS = (Made("products"), Made("digits"))


def test_a_set_is_found_by_name_with_or_without_a_variant() -> None:
    assert find_data(SETS, "digits") == Made("digits")
    assert find_data(SETS, "digits@0.1") == Made("digits", variant="0.1")


def test_a_folder_is_another_place_of_the_first_set(tmp_path: Path) -> None:
    assert is_path(SETS, str(tmp_path))
    assert find_data(SETS, str(tmp_path)) == Made("products", variant=str(tmp_path))


def test_an_unknown_name_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(DataError, match="unknown data 'digit'; did you mean 'digits'") as refused:
        find_data(SETS, "digit")
    assert refused.value.hint == "allowed: products, digits, or a folder"


def test_folders_come_from_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SWEEP_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("SWEEP_CACHE", str(tmp_path / "cache"))
    assert DataFolders.default() == DataFolders(root=tmp_path / "data", cache=tmp_path / "cache")
    assert DataFolders.default(tmp_path).root == tmp_path, "the command line's goes before"
