"""Features of the orchestrator, and the other files that depend on each.

A file depends on a feature where its code names it: by an import, an identifier, a field, a key or
a word of a text that a user reads. Comments and docstrings are left out, since nothing breaks where
they are wrong. So are other meanings of a word: the plan of ``tune``, the epochs of a trial's
budget, the core-hours that a search took, a run that was cut short by its driver's death.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

GOAL: Final = 8
"""Most files besides a feature's own that should name it."""


@dataclass(frozen=True, kw_only=True)
class Feature:
    """A feature, and how it is found in the code.

    Attributes:
        name: Its name.
        words: Expression for words that name it, whatever their case. Identifiers are read in
            words: ``num_planned`` and ``NumPlanned`` as ``num planned``.
        own: Expression for the paths of its folders and files below ``orchestrator/``.
    """

    name: str
    words: str
    own: str

    def files(self, package: Path) -> dict[Path, list[str]]:
        """Return the words that name it, by the other files that contain some."""
        words, own = re.compile(self.words, re.IGNORECASE), re.compile(self.own)
        return {
            path: sorted({found[0] for found in words.finditer(code)})
            for path in sorted(package.rglob("*.py"))
            if not own.search(path.relative_to(package).as_posix())
            and words.search(code := code_words(path.read_text(encoding="utf-8")))
        }


def code_words(text: str) -> str:
    """Return the names and the texts in a module's code, a line each, without its docstrings."""
    tree = ast.parse(text)
    documents = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    return "\n".join(
        re.sub(r"_|\.|(?<=[a-z])(?=[A-Z])", " ", word)
        for node in ast.walk(tree)
        if id(node) not in documents
        for field in ("id", "attr", "arg", "name", "asname", "module", "value")
        if isinstance(word := getattr(node, field, None), str)
    )


FEATURES: Final = (
    Feature(name="plan", words=r"\bplan(s|ned|ning)?\b", own=r"planning|^tune/"),
    Feature(
        name="resume of a run",
        words=r"(?<!was )(?<!paused and )\bresum(e|ed|ing|ption)\b(?! clock)",
        own=r"resumption|resumable",
    ),
    Feature(name="replay", words=r"replay", own=r"replay"),
    Feature(
        name="budgets",
        words=r"\bbudgets\b|spending|(?<!search )core hours|\bcuts?\b(?! short)|time budget",
        own=r"budgets|spending",
    ),
    Feature(
        name="stopping", words=r"asha|(?<!early )(?<!is )\bstopping\b(?!:)|halving", own=r"stopping"
    ),
    Feature(
        name="pausing, resuming of a trial",
        words=r"\bpause (after|reason)\b|\bpaused\b|resumable|resume clock|was resumed",
        own=r"paused|resumable",
    ),
    Feature(
        name="factored, composed", words=r"factored|compos(ed|e|ition)", own=r"factored|composition"
    ),
    Feature(name="repeats", words=r"repeating|max repeats|\brepeats\b", own=r"repeats"),
    Feature(name="confirm", words=r"confirm", own=r"confirm|^tune/"),
    Feature(name="interference", words=r"interference|check isolated|co.located", own=r"interfer"),
    Feature(name="interleaving", words=r"interleav", own=r"interleaving|time_slices"),
    Feature(name="contamination", words=r"contaminat", own=r"contamination"),
    Feature(name="live view", words=r"console|live view", own=r"tracking/console"),
    Feature(name="MLflow mirror", words=r"mlflow", own=r"mlflow"),
    Feature(name="tables", words=r"storage tables|write run|load run|parquet", own=r"tables"),
    Feature(name="report", words=r"report html|analysis report|write all", own=r"analysis/report"),
)
"""With their own files as they were on 2026-11-29, when this way of counting was made; the factored
search also has ``analysis/composition``."""


def feature_lines(package: Path, *, with_files: bool = False) -> Iterator[str]:
    """Yield a table of the features, as Markdown, and after it the files of each."""
    yield f"| feature | files outside of its own that name it (goal: {GOAL}) |"
    yield "| --- | --- |"
    found = {feature.name: feature.files(package) for feature in FEATURES}
    yield from (f"| {name} | {len(files)} |" for name, files in found.items())
    for name, files in found.items() if with_files else ():
        yield f"{name}:"
        for path, words in files.items():
            yield f"  {path.relative_to(package).as_posix()}: {', '.join(words)}"
