"""The GPU studies: which settings are compared with each other, on which data.

In each study the others' rates are divided by the rate of the first setting that runs.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from orchestrator.machine import Machine
from orchestrator.space.configs import canonical, replaced
from orchestrator.trainable import Trainable

Knobs = Mapping[str, Any]

PINNED: Final[Knobs] = {"pin_memory": True, "non_blocking": True}
STREAMED: Final[Knobs] = {"pin_memory": True, "prefetch": "stream"}
WORKERS: Final[Knobs] = {"num_workers": 4, "persistent_workers": True}


class Scale(StrEnum):
    """``full`` for figures; ``tiny`` to see in a minute that everything runs."""

    FULL = "full"
    TINY = "tiny"


@dataclass(frozen=True, kw_only=True)
class Size:
    """Size of the training in a study.

    Attributes:
        data: Name of the data set; ``mnist`` may be images in its layout.
        epochs: Epochs of a run.
        steps: Limit of its steps, or None.
        knobs: Values that every setting of the study shares.
    """

    data: str
    epochs: int
    steps: int | None = None
    knobs: Knobs = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Study:
    """A question, and the settings that answer it.

    Attributes:
        name: Name on the command line.
        question: Its question, in words.
        trainable: Its module under ``trainables``, and its name there.
        sizes: By scale.
        settings: Values of each setting that replace the size's knobs.
        elsewhere: Settings among these, by position, for other machines than one with one
            GPU: they are rows with their reason.
    """

    name: str
    question: str
    trainable: str
    sizes: Mapping[Scale, Size]
    settings: Sequence[Knobs]
    elsewhere: frozenset[int] = frozenset()

    def found(self) -> Trainable[Any]:
        """The trainable."""
        module = importlib.import_module(f"trainables.{self.trainable}")
        found = getattr(module, self.trainable)
        assert isinstance(found, Trainable)
        return found

    def config(self, setting: Knobs, scale: Scale) -> Any:  # noqa: ANN401 - the trainable's own
        """The canonical config of a setting.

        Raises:
            KnobError: A knob of it is unknown, or a value not allowed.
        """
        base = self.found().config()
        return canonical(replaced(base, {**self.sizes[scale].knobs, **setting}))

    def infeasible(self, config: object, machine: Machine) -> str | None:
        """Return the reason why a config cannot run on ``machine``, or None."""
        return self.found().infeasible(config, machine)


STUDIES: Final = (
    Study(
        name="lenet",
        question="LeNet-5 on the CPU and on a GPU: what takes the time, step or loader?",
        trainable="lenet",
        sizes={
            Scale.FULL: Size(data="mnist", epochs=4),
            Scale.TINY: Size(data="mnist", epochs=2, steps=40, knobs={"batch_size": 128}),
        },
        settings=(
            {"device": "cpu", "data_path": "per_sample"},
            {"device": "cpu", "data_path": "batched"},
            {"device": "cpu", "data_path": "resident"},
            {"data_path": "per_sample"},
            {"data_path": "per_sample", **WORKERS},
            {"data_path": "per_sample", **WORKERS, **PINNED},
            {"data_path": "batched"},
            {"data_path": "batched", **PINNED},
            {"data_path": "resident"},
            {"data_path": "resident", "channels_last": True},
            {"data_path": "resident", "amp": "bf16"},
            {"data_path": "resident", "amp": "fp16"},
            {"data_path": "resident", "batch_size": 512},
            {"data_path": "resident", "parallel": "dp", "batch_size": 512},
        ),
        elsewhere=frozenset({13}),
    ),
    Study(
        name="mnist_dataloader",
        question="Why do loader workers make a small network slower, and what helps?",
        trainable="mlp",
        sizes={
            Scale.FULL: Size(
                data="mnist", epochs=6, knobs={"input_scale": "raw", "drop_last": True}
            ),
            Scale.TINY: Size(
                data="mnist", epochs=2, steps=40, knobs={"input_scale": "raw", "drop_last": True}
            ),
        },
        settings=(
            {"log_every": 1},
            {},
            {"num_workers": 4},
            {"num_workers": 4, "persistent_workers": True},
            {"num_workers": 8},
            {"pin_memory": True},
            {"num_workers": 4, "pin_memory": True},
            {"num_workers": 4, **PINNED},
            {"num_workers": 4, **STREAMED},
            {"prefetch": "thread"},
            {"data_path": "batched"},
            {"data_path": "batched", **PINNED},
            {"data_placement": "pinned"},
            {"data_placement": "pinned", "non_blocking": True},
            {"data_placement": "pinned", "prefetch": "stream"},
            {"data_placement": "device", "log_every": 1},
            {"data_placement": "device"},
            {"data_placement": "device", "batching": "full"},
            {"data_placement": "host", "batching": "full"},
        ),
    ),
    Study(
        name="graphsage",
        question="Where should features live, and what does prefetching bring?",
        trainable="graphsage",
        sizes={
            Scale.FULL: Size(
                data="products-synthetic@0.2",
                epochs=4,
                steps=160,
                knobs={"hidden": 256, "eval_every": 99},
            ),
            Scale.TINY: Size(
                data="products-synthetic@0.002",
                epochs=2,
                knobs={"batch_size": 100, "fanouts": (4, 5), "eval_every": 99},
            ),
        },
        settings=(
            {"device": "cpu"},
            {},
            {"feature_placement": "host"},
            {"feature_placement": "pinned"},
            {"feature_placement": "device"},
            {"prefetch": "thread"},
            {**STREAMED},
            {**WORKERS},
            {**WORKERS, **PINNED},
            {**WORKERS, **STREAMED},
            {**WORKERS, "feature_placement": "pinned"},
            {**WORKERS, "feature_placement": "device"},
            {**WORKERS, **STREAMED, "feature_placement": "device"},
            {**WORKERS, "feature_placement": "device", "amp": "bf16"},
            {"mode": "full"},
        ),
    ),
    Study(
        name="mag240m_prefetch",
        question="What do prefetching, pinned memory and reading the loss less often bring RGAT?",
        trainable="rgat",
        sizes={
            Scale.FULL: Size(
                data="mag-synthetic@0.001",
                epochs=3,
                steps=110,
                knobs={**WORKERS, "eval_every": 99},
            ),
            Scale.TINY: Size(
                data="mag-synthetic@0.00001",
                epochs=1,
                steps=6,
                knobs={
                    "hidden": 16,
                    "heads": 2,
                    "batch_size": 60,
                    "fanouts": (3, 4),
                    "eval_fanouts": (3, 4),
                    "eval_batch_size": 64,
                    "eval_every": 99,
                    "num_workers": 1,
                },
            ),
        },
        settings=(
            {"log_every": 1},
            {"log_every": 1, **PINNED},
            {"log_every": 1, "prefetch": "thread"},
            {"log_every": 1, **STREAMED},
            {},
            {**PINNED},
            {"prefetch": "thread"},
            {**STREAMED},
            {**STREAMED, "num_workers": 8},
            {**STREAMED, "amp": "bf16"},
            {**STREAMED, "batch_size": 1024},
        ),
    ),
    Study(
        name="graph_memory",
        question="Where should embedding tables live, and which optimizer suits them?",
        trainable="node_embedding",
        sizes={
            Scale.FULL: Size(
                data="products-synthetic@0.2",
                epochs=3,
                knobs={"batch_size": 4000, "epoch_pairs": 400_000, "eval_every": 99},
            ),
            Scale.TINY: Size(
                data="products-synthetic@0.002",
                epochs=2,
                knobs={"batch_size": 100, "epoch_pairs": 800, "eval_every": 99},
            ),
        },
        settings=(
            {"device": "cpu", "embedding": "sparse"},
            {"device": "cpu", "embedding": "dense"},
            {"embedding": "sparse"},
            {"embedding": "dense"},
            {"embedding": "sparse", "placement": "gpu"},
            {"embedding": "dense", "placement": "gpu"},
            {"embedding": "dense", "placement": "gpu", "amp": "bf16"},
            {"placement": "gpu", "prefetch": "thread"},
            {"placement": "gpu", **STREAMED},
            {"placement": "gpu", **WORKERS, **STREAMED},
        ),
    ),
)
