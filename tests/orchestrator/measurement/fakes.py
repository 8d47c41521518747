"""Clock that only a test moves, and a channel that keeps its reports."""

from collections.abc import Iterator, Sequence
from typing import Any

from orchestrator.measurement.blocks import Block, Step, blocks_of
from orchestrator.measurement.run import Context
from orchestrator.trial import Budget, Report


class FakeClock:
    """Seconds from 0; with it a test of times takes none and is exact."""

    def __init__(self) -> None:
        self._now_s = 0.0

    def __call__(self) -> float:
        return self._now_s

    def sleep(self, seconds: float) -> None:
        """Let so many seconds pass."""
        self._now_s += seconds


class Listener:
    """Channel that keeps its reports and stops the trial after an epoch."""

    def __init__(self, stop_at: int = 10**9) -> None:
        self.reports: list[Report] = []
        self._stop_at = stop_at

    def report(self, report: Report) -> bool:
        self.reports.append(report)
        return report.epoch >= self._stop_at

    @property
    def metrics(self) -> dict[str, float]:
        """Metrics of the last report."""
        return dict(self.reports[-1].metrics)


class SlowLoader:
    """Loader that takes so long to start, for each batch, and to end."""

    def __init__(
        self, clock: FakeClock, num_batches: int, *,
        start_s: float = 0.0, batch_s: float = 0.0, end_s: float = 0.0,
    ) -> None:  # fmt: skip
        self._clock = clock
        self._num_batches = num_batches
        self._start_s, self._batch_s, self._end_s = start_s, batch_s, end_s

    def __iter__(self) -> Iterator[int]:
        self._clock.sleep(self._start_s)  # where it is asked for an iterator, as with workers
        return self._batches()

    def __len__(self) -> int:
        return self._num_batches

    def _batches(self) -> Iterator[int]:
        for index in range(self._num_batches):
            self._clock.sleep(self._batch_s)
            yield index
        self._clock.sleep(self._end_s)


def context(**changes: Any) -> Context:  # noqa: ANN401 - any field of a context
    """Return a context with a budget of two epochs, and changes."""
    return Context(**{"seed": 0, "budget": Budget(epochs=2), **changes})


# -- blocks


def blocks_from(
    durations: Sequence[Sequence[float]], *, samples: int = 10, burst: int = 1
) -> list[Block]:
    """Blocks of steps with these durations, a list an epoch."""
    blocks: list[Block] = []
    for epoch, of_epoch in enumerate(durations):
        now, steps = 0.0, []
        for duration in of_epoch:
            steps.append(Step(now, now, now + duration, samples))
            now += duration
        blocks += blocks_of(epoch, steps, burst=burst)
    return blocks
