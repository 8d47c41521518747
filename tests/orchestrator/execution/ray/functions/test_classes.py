"""Classes of Ray Tune, step by step."""

# ruff: noqa: ANN401 - whatever users write for Ray Tune

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ray import tune

from orchestrator import Machine, Node, SweepError, from_ray
from tests.orchestrator.execution.ray.functions.trials import trained


class Counts(tune.Trainable):
    """It counts from a figure of its config."""

    cleaned = 0

    def setup(self, config: dict[str, Any], more: int = 0) -> None:
        self.x = config["w"] + more
        self.here = Path(self.logdir) == Path.cwd()

    def step(self) -> dict[str, Any]:
        self.x += 1
        return {"x": self.x, "inner": {"i": self.iteration}, "done": self.x >= 9, "own": self.here}

    def save_checkpoint(self, checkpoint_dir: str) -> Any:
        return {"x": self.x}

    def load_checkpoint(self, checkpoint: Any) -> None:
        self.x = checkpoint["x"]

    def cleanup(self) -> None:
        type(self).cleaned += 1


class CountsInFiles(Counts):
    """It writes its checkpoints itself."""

    def save_checkpoint(self, checkpoint_dir: str) -> None:
        (Path(checkpoint_dir) / "x.json").write_text(json.dumps(self.x))

    def load_checkpoint(self, checkpoint: Any) -> None:
        self.x = json.loads((Path(checkpoint) / "x.json").read_text())


def test_its_steps_are_reported_until_it_is_done() -> None:
    before = Counts.cleaned
    told = trained(from_ray(Counts, config={"w": 6}, stop={}))
    assert [each["x"] for each in told] == [7, 8, 9]
    assert [each["inner/i"] for each in told] == [0, 1, 2]
    assert {each["own"] for each in told} == {1.0}
    assert Counts.cleaned == before, "its own class is derived from"


def test_it_ends_where_it_is_to_stop() -> None:
    assert len(trained(from_ray(Counts, config={"w": 0}, stop={"training_iteration": 2}))) == 2
    handed = tune.with_parameters(Counts, more=3)
    assert trained(from_ray(handed, config={"w": 4}, stop={}))[0]["x"] == 8


def test_what_its_clean_up_raises_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    class Unclean(Counts):
        def cleanup(self) -> None:
            raise RuntimeError("on purpose")

    assert [each["x"] for each in trained(from_ray(Unclean, config={"w": 7}, stop={}))] == [8, 9]
    assert "RuntimeError: on purpose" in capsys.readouterr().err


@pytest.mark.parametrize("made", [Counts, CountsInFiles])
def test_it_goes_on_from_its_checkpoint(made: type, tmp_path: Path) -> None:
    trainable = from_ray(
        made, config={"w": 0}, stop={"training_iteration": 4}, keeps_checkpoints=True
    )
    short = from_ray(made, config={"w": 0}, stop={"training_iteration": 2}, keeps_checkpoints=True)

    trained(short, folder=tmp_path)
    told = trained(trainable, folder=tmp_path)
    assert [(each["x"], each["inner/i"]) for each in told] == [(3, 2), (4, 3)]


def test_a_dictionary_of_more_than_plain_values_is_refused_when_it_is_saved() -> None:
    class Odd(Counts):
        def save_checkpoint(self, checkpoint_dir: str) -> Any:
            return {"x": Path("/")}

    trainable = from_ray(Odd, config={"w": 0}, stop={}, keeps_checkpoints=True)
    with pytest.raises(ValueError, match="more than tensors and plain values: write it into"):
        trained(trainable)


def test_its_resources_are_asked_for_by_config() -> None:
    class Asks(Counts):
        @classmethod
        def default_resource_request(cls, config: dict[str, Any]) -> Any:
            return tune.PlacementGroupFactory([{"CPU": 1, "GPU": config["w"]}])

    machine = Machine(nodes=(Node(name="here", cpus=8, gpus=2),))
    trainable = from_ray(Asks, config={"w": 2}, stop={})
    assert trainable.demand_of(trainable.config(), machine).gpus == 2
    assert trainable.demand_of(trainable.config(w=1), machine).gpus == 1
    assert (
        from_ray(Asks, config={"w": 0.5}, stop={}, gpus=1)
        .demand_of(trainable.config(), machine)
        .gpus
        == 1
    )
    half = from_ray(Asks, config={"w": 0.5}, stop={})
    with pytest.raises(SweepError, match=r"it asks for 0\.5 GPUs"):
        half.demand_of(half.config(), machine)
