"""Order of samples in batches: drawn from the seed and the epoch, and nothing else.

The training process draws the order, so that it is the same for any number of loader
workers, any way of fetching and any number of ranks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, kw_only=True)
class Draw:
    """One rank's share of one step's batch, as it is sent to the process that fetches it.

    Random choices in fetching it depend on the trial's seed, the epoch and the step, so that they
    are the same in whichever process.

    Attributes:
        epoch: Index of the epoch.
        step: Index of the batch in its epoch.
        indices: Samples of the share, (share,) int64. NumPy, because a tensor would go to a
            worker through a separate file descriptor.
        total: Samples of the whole batch, over all ranks.
    """

    epoch: int
    step: int
    indices: npt.NDArray[np.int64]
    total: int

    def parts(self, count: int) -> Iterator[Draw]:
        """Yield ``count`` parts of the share, of the same batch; a small share has empty ones."""
        for indices in np.array_split(self.indices, count):
            yield replace(self, indices=indices)


@dataclass(frozen=True, kw_only=True)
class BatchOrder:
    """The batches of every epoch.

    Attributes:
        num_samples: Samples of an epoch.
        batch_size: Samples of a step, over all ranks.
        seed: With the epoch's index, all that the order depends on.
        drop_last: Whether an epoch's last batch is left out where it is smaller.
        rank: The rank of the share to draw.
        world_size: Ranks that a batch is shared by: rank r gets its samples r, r + world_size, ...

    Raises:
        ValueError: ``drop_last`` leaves nothing.
    """

    num_samples: int
    batch_size: int
    seed: int
    drop_last: bool = False
    rank: int = 0
    world_size: int = 1

    def __post_init__(self) -> None:
        if self.drop_last and not len(self):
            raise ValueError(
                f"drop_last leaves no batch of {self.num_samples} samples "
                f"with batch_size={self.batch_size}"
            )

    def __len__(self) -> int:
        """Steps of an epoch."""
        steps = self.num_samples / self.batch_size
        return math.floor(steps) if self.drop_last else math.ceil(steps)

    def permutation(self, epoch: int) -> npt.NDArray[np.int64]:
        """All samples in the order of ``epoch``, (num_samples,)."""
        return np.random.default_rng((self.seed, epoch)).permutation(self.num_samples)

    def epoch(self, epoch: int) -> Iterator[Draw]:
        """Yield this rank's share of each batch of ``epoch``."""
        order = self.permutation(epoch)
        for step in range(len(self)):
            batch = order[step * self.batch_size : (step + 1) * self.batch_size]
            share = batch[self.rank :: self.world_size]
            yield Draw(epoch=epoch, step=step, indices=share, total=len(batch))
