from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader

from orchestrator.measurement.run import Run
from orchestrator.space.configs import canonical, replaced
from tests.trainables.running import Reports, context, train_once
from trainables.data.sets.digits import DIGITS
from trainables.images import image_splits
from trainables.loading import Batch
from trainables.mlp import Mlp, MlpConfig, batches_of, mlp

QUICK = MlpConfig(batch_size=132, lr=0.05, threads=1, data_placement="device")


def quick(**knobs: object) -> MlpConfig:
    return canonical(replaced(QUICK, knobs))


def epoch_of(config: MlpConfig, device: str = "cpu") -> list[Batch]:
    run = Run(context(DIGITS, device=device), Reports())
    return list(batches_of(image_splits(run, config).train, config, run).epoch(0))


def test_it_has_the_widths_of_the_study() -> None:
    shapes = [tuple(parameter.shape) for parameter in Mlp().parameters() if parameter.dim() == 2]
    assert shapes == [(600, 784), (300, 600), (100, 300), (10, 100)]
    assert Mlp()(torch.zeros(7, 784)).shape == (7, 10)


def test_it_learns_digits() -> None:
    reports = train_once(mlp, QUICK, context(DIGITS, epochs=6, evaluate_test=True))
    assert reports.metric("val_acc")[-1] > 0.9
    assert reports.metric("test_acc")[-1] > 0.9


@pytest.mark.parametrize(
    ("scale", "low", "high"), [("raw", 0, 255), ("unit", 0, 1), ("normalised", -0.425, 2.822)]
)
def test_pixels_are_scaled_as_asked(scale: str, low: float, high: float) -> None:
    [batch] = epoch_of(quick(input_scale=scale, batching="full"))
    assert batch.inputs.min() == pytest.approx(low, abs=1e-3)
    assert batch.inputs.max() == pytest.approx(high, abs=1e-3)


def test_full_batching_is_a_step_an_epoch_over_all_images() -> None:
    reports = train_once(mlp, quick(batching="full"), context(DIGITS, epochs=3))
    assert [(report.step, report.samples) for report in reports.kept] == [
        (1, 1317),
        (2, 2 * 1317),
        (3, 3 * 1317),
    ]


@pytest.mark.parametrize(
    ("knobs", "collated", "loaders"),
    [
        ({"data_placement": "host"}, 10, 1),
        ({"data_placement": "host", "data_path": "batched"}, 0, 1),
        ({"data_placement": "device"}, 0, 0),
        pytest.param({"data_placement": "pinned"}, 0, 0, marks=pytest.mark.gpu),
    ],
)
def test_each_way_fetches_as_declared(
    knobs: dict[str, object], collated: int, loaders: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = {"collated": 0, "loaders": 0}
    collate, make = torch.utils.data.default_collate, DataLoader.__init__

    def collating(items: list[Any]) -> object:
        counts["collated"] += 1
        return collate(items)

    def making(self: DataLoader[Any], *args: Any, **given: Any) -> None:  # noqa: ANN401
        counts["loaders"] += 1
        make(self, *args, **given)

    monkeypatch.setattr("trainables.loading.sources.default_collate", collating)
    monkeypatch.setattr(DataLoader, "__init__", making)
    device = "cuda:0" if knobs["data_placement"] == "pinned" else "cpu"
    train_once(mlp, quick(**knobs), context(DIGITS, device=device))
    assert counts == {"collated": collated, "loaders": loaders}


@pytest.mark.gpu
@pytest.mark.parametrize("batching", ["mini", "full"])
def test_images_are_where_they_are_asked_to_be(batching: str) -> None:
    def where(placement: str) -> tuple[str, bool]:
        config = quick(batching=batching, data_placement=placement)
        inputs = epoch_of(config, "cuda:0")[0].inputs
        return inputs.device.type, inputs.is_pinned()

    assert where("device") == ("cuda", False)
    assert where("pinned") == ("cpu", True)
    assert where("host") == ("cpu", False)
