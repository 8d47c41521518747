"""The page of results: hardware, tests by file, a table for each study."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import statistics
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from benchmarks.gpu.measure import Outcome
from benchmarks.gpu.studies import Scale, Study
from benchmarks.gpu.tests import Tally

Rows = dict[tuple[str, int], list[Outcome]]
"""Outcomes of each setting's runs, by study and position."""

PHASES = ("step_ms", "wait_ms", "transfer_ms", "forward_ms", "backward_ms", "optimizer_ms")
HEADER = (
    "| setting | samples/s | of the first that ran | range | step, ms | wait | transfer | "
    "forward | backward | optimizer | epoch, s | GPU, GiB | bound | loss |\n"
    "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
)


def page(
    studies: Sequence[Study],
    rows: Rows,
    tallies: Mapping[str, Tally],
    *,
    scale: Scale,
    images: str,
    notes: Sequence[str] = (),
) -> Iterator[str]:
    """The Markdown, line by line.

    Args:
        studies: All there are.
        rows: Outcomes of the settings that were run.
        tallies: The tests' outcomes, by file.
        scale: How much was trained.
        images: The set that stood for ``mnist``.
        notes: Further remarks.
    """
    yield "# On a GPU\n"
    yield from _surroundings()
    if scale is Scale.TINY:
        yield "- tiny sizes: they show that everything runs, their times mean nothing"
    yield from (f"- {note}" for note in notes)
    if tallies:
        yield from _tests(tallies)
    for study in studies:
        if any(name == study.name for name, _ in rows):
            size = study.sizes[scale]
            yield f"\n## {study.name}: {study.question}\n"
            steps = f", at most {size.steps} steps" if size.steps else ""
            data = images if size.data == "mnist" else size.data
            trained = f"`{study.trainable}` on {data}, {size.epochs} epochs{steps}"
            yield f"{trained}; {_said(size.knobs)}."
            yield "Medians over runs in fresh processes; a ratio is taken run by run.\n"
            yield from _study(study, rows)


def _surroundings() -> Iterator[str]:
    import torch

    names = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    yield f"- GPU: {', '.join(names) or 'none'}"
    yield f"- CPU: {len(os.sched_getaffinity(0))} cores, {platform.machine()}"
    found = [f"Python {platform.python_version()}", f"torch {torch.__version__}"]
    for package in ("dgl", "numpy", "pandas"):
        with suppress(importlib.metadata.PackageNotFoundError):
            found.append(f"{package} {importlib.metadata.version(package)}")
    yield f"- versions: {', '.join(found)}"


def _tests(tallies: Mapping[str, Tally]) -> Iterator[str]:
    yield "\n## Tests\n\n| file | passed | failed | skipped |\n| --- | --- | --- | --- |"
    for file, tally in sorted(tallies.items()):
        counts = tally.counts
        yield f"| {file} | {counts['passed']} | {counts['failed']} | {counts['skipped']} |"
    if failures := [failure for tally in tallies.values() for failure in tally.failures]:
        yield "\nFailed:\n"
        yield from (f"- `{failure}`" for failure in failures)


def _study(study: Study, rows: Rows) -> Iterator[str]:
    yield HEADER
    tried = [rows.get((study.name, setting), []) for setting in range(len(study.settings))]
    first = next((o for o in tried if any(each.state == "completed" for each in o)), [])
    for knobs, outcomes in zip(study.settings, tried, strict=True):
        yield _row(_said(knobs), outcomes, first)


def _row(name: str, outcomes: Sequence[Outcome], first: Sequence[Outcome]) -> str:
    done = [outcome for outcome in outcomes if outcome.state == "completed"]
    if not done:
        reasons = dict.fromkeys(f"{o.state}: {o.reason}" for o in outcomes)
        return f"| {name} | {'; '.join(reasons) or 'not run'} |" + " |" * (HEADER.count("---") - 2)
    ratios = [
        ours.metrics["samples_per_s"] / theirs.metrics["samples_per_s"]
        for ours, theirs in zip(outcomes, first, strict=False)
        if "samples_per_s" in ours.metrics and "samples_per_s" in theirs.metrics
    ]
    bounds = dict.fromkeys(outcome.tags.get("bound", "") for outcome in done)
    cells = [
        name,
        _median(done, "samples_per_s", ".0f"),
        f"{statistics.median(ratios):.2f}" if ratios else "",
        f"{min(ratios):.2f} to {max(ratios):.2f}" if ratios else "",
        *(_median(done, phase, ".2f") for phase in PHASES),
        _median(done, "epoch_s", ".3f"),
        _median(done, "peak_gpu_gib", ".2f"),
        ", ".join(filter(None, bounds)),
        _median(done, "train_loss", ".4f"),
    ]
    return f"| {' | '.join(cells)} |"


def _median(outcomes: Sequence[Outcome], metric: str, form: str) -> str:
    values = [outcome.metrics[metric] for outcome in outcomes if metric in outcome.metrics]
    return format(statistics.median(values), form) if values else ""


def _said(knobs: Mapping[str, object]) -> str:
    return ", ".join(f"{name}={value}" for name, value in knobs.items()) or "defaults"
