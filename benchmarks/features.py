"""Features of the orchestrator, and the files outside of its own folders that name each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

GOAL: Final = 8
"""Most files outside of a feature's own that should name it."""


@dataclass(frozen=True, kw_only=True)
class Feature:
    """A feature, and how it is found in the source.

    Attributes:
        name: Its name.
        words: Expression for identifiers and words that name it, whatever their case.
        own: Expression for paths below ``orchestrator/`` of its own folders and files.
    """

    name: str
    words: str
    own: str

    def files(self, package: Path) -> list[Path]:
        """Return the files outside of its own that name it."""
        words, own = re.compile(self.words, re.IGNORECASE), re.compile(self.own)
        return [
            path
            for path in sorted(package.rglob("*.py"))
            if not own.search(path.relative_to(package).as_posix())
            and words.search(path.read_text(encoding="utf-8"))
        ]


FEATURES: Final = (
    Feature(name="plan", words=r"\bplan(s|ned|ning)?\b", own=r"planning"),
    Feature(name="resume", words=r"resum", own=r"resum"),
    Feature(name="replay", words=r"replay", own=r"replay"),
    Feature(
        name="budgets",
        words=r"budgets|\bspen[dt]|core.h|\bcut\b",
        own=r"budgets|spending",
    ),
    Feature(name="stopping, pausing", words=r"paus|halving", own=r"stopping"),
    Feature(
        name="factored, composed", words=r"factored|compos(ed|e|ition)", own=r"search/factored"
    ),
    Feature(name="repeats", words=r"repeating|max_repeats|\brepeats\b", own=r"repeats"),
    Feature(name="confirm", words=r"confirm", own=r"confirm"),
    Feature(
        name="interference",
        words=r"interference|check_isolated|co.located",
        own=r"interference",
    ),
    Feature(name="interleaving", words=r"interleav", own=r"interleaving"),
    Feature(name="contamination", words=r"contaminat", own=r"contamination"),
    Feature(name="live view", words=r"console|live.view", own=r"tracking/console"),
    Feature(name="MLflow mirror", words=r"mlflow", own=r"mlflow"),
    Feature(name="tables", words=r"RunTables|write_tables|load_run|parquet", own=r"tables"),
    Feature(
        name="report",
        words=r"report\.html|analysis\.report|write_all|RunFile\.REPORT",
        own=r"analysis/report",
    ),
)
"""Set so that on 2026-11-27, before the redesign, they found 76, 69, 48, 43, 41 and 22 files for
factored, pausing, budgets, interleaving, contamination and replay."""


def feature_lines(package: Path, *, with_files: bool = False) -> Iterator[str]:
    """Yield a table of the features, as Markdown, and after it the files of each."""
    yield f"| feature | files outside of its own that name it (goal: {GOAL}) |"
    yield "| --- | --- |"
    found = {feature.name: feature.files(package) for feature in FEATURES}
    yield from (f"| {name} | {len(files)} |" for name, files in found.items())
    if with_files:
        for name, files in found.items():
            names = ", ".join(path.relative_to(package).as_posix() for path in files)
            yield f"  {name}: {names}"
