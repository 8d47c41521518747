"""A sweep whose file fixes, varies and leaves out knobs of all kinds, on sets of two kinds."""

from __future__ import annotations

from pathlib import Path

_FILE = '''
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Literal

from orchestrator import (
    Rigor, Sweep, Trainable, both, choice, knobs, learning, loguniform, maximize, systems,
)
from orchestrator.data import DataHeaders, PreparedData
from orchestrator.search import {search_class}


@knobs
class Config:
    lr: float = learning(default=0.1, gt=0, doc="step size")
    hidden: int = both(default=16, ge=1, doc="width")
    fanouts: tuple[int, ...] = both(default=(10, 25), ge=1, doc="neighbours of each layer")
    shuffle: bool = both(default=True, doc="another order in each epoch")
    amp: Literal["off", "bf16"] = both(default="off", doc="precision")
    label: str = learning(default="", doc="free text")
    workers: int = systems(default=0, ge=0, doc="loader processes")
    prefetch: int = systems(default=2, ge=1, doc="ahead", applies=lambda c: c.workers > 0)


@dataclass(frozen=True, kw_only=True)
class Words:
    """A file of words under the data root, or in a folder of its own; or words of its own."""

    name: str
    embedded: bool
    folder: Path | None = None
    how_to_get = "write it"

    def at(self, variant):
        return replace(self, folder=Path(variant))

    def _source(self, folders):
        return (self.folder or folders.root / self.name) / "words.txt"

    def present(self, folders):
        return self.embedded or self._source(folders).is_file()

    def headers(self, folders):
        return DataHeaders(name=self.name)

    def prepare(self, folders, *, download=False):
        text = self.name if self.embedded else self._source(folders).read_text()
        path = folders.root if self.embedded else self._source(folders).parent
        fingerprint = sha256(text.encode()).hexdigest()[:12]
        return PreparedData(name=self.name, path=path, fingerprint=fingerprint)


def train(config, run):
    for epoch in run.epochs():
        for _ in run.batches(range(8), samples=lambda _: 4 if config.workers else 5):
            pass
        run.report(val_acc=0.9)


SETS = [Words(name="words", embedded=False), Words(name="made", embedded=True)]
TRAINABLE = Trainable(
    train, Config, data=SETS, reports=[maximize("val_acc")], name="printed", preload=["torch"]
)
SWEEP = Sweep(
    TRAINABLE,
    question="What is printed?",
    space=Config({space}),
    baseline=Config({baseline}),
    search={search},
    embedded_data="made",
    rigor=Rigor(confirm=0, max_repeats=1, check_isolated=0, retries=0),
    cores_per_trial=1,
)
'''


def write_printed(
    folder: Path,
    space: str,
    *,
    baseline: str = "",
    search: str = "Grid()",
    name: str = "printed sweep.py",
) -> Path:
    """Write the sweep file into ``folder``."""
    path = folder / name
    search_class = search.partition("(")[0]
    text = _FILE
    for key, value in {
        "space": space, "baseline": baseline, "search": search, "search_class": search_class
    }.items():  # fmt: skip
        text = text.replace(f"{{{key}}}", value)
    path.write_text(text)
    return path


def write_words(folder: Path, words: str) -> Path:
    """Write a set into ``folder``, which is made."""
    folder.mkdir(parents=True)
    (folder / "words.txt").write_text(words)
    return folder
