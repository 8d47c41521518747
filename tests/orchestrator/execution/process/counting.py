"""A sweep file: its trials report how many words their data set has."""

from dataclasses import dataclass

from threadpoolctl import threadpool_info

from orchestrator import (
    DataFolders,
    PreparedData,
    Sweep,
    Trainable,
    both,
    knobs,
    maximize,
)
from orchestrator.errors import DataError
from orchestrator.measurement.run import Run, TrialStopped


@dataclass(frozen=True)
class Words:
    """The file ``words.txt`` under the root; its text is its fingerprint."""

    name: str = "words"
    embedded: bool = False
    how_to_get: str = "write them"

    def at(self, variant: str) -> "Words":
        raise DataError(f"no variant {variant}")

    def present(self, folders: DataFolders) -> bool:
        return (folders.root / "words.txt").exists()

    def name_in(self, folders: DataFolders) -> str:
        return self.name

    def prepare(self, folders: DataFolders, *, download: bool = False) -> PreparedData:
        text = (folders.root / "words.txt").read_text()
        return PreparedData(name=self.name, path=folders.root, fingerprint=text)


@knobs
class Config:
    step: int = both(default=1, ge=1, doc="words a step")


def train(config: Config, run: Run) -> None:
    words = (run.data.path / "words.txt").read_text().split()
    if words == ["stop"]:
        raise TrialStopped
    for _ in run.epochs():
        for _ in run.batches(range(0, len(words), config.step), samples=lambda _: config.step):
            pass
        run.report(
            num_words=len(words),
            keeps_checkpoints=run.checkpoint_dir is not None,
            blas_threads=max(pool["num_threads"] for pool in threadpool_info()),
        )


counting = Trainable(
    train,
    Config,
    data=[Words(), Words(name="made-up", embedded=True)],
    reports=[maximize("num_words")],
    preload=("torch",),
    name="counting",
)

SWEEP = Sweep(counting, question="How many words are there?", space=Config())
