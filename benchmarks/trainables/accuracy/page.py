"""The page of the benchmark."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Final

from benchmarks.harness import environment_lines
from benchmarks.trainables.accuracy.blocks import BlocksBesideStudy
from benchmarks.trainables.accuracy.cases import Case
from benchmarks.trainables.accuracy.runs import Outcome
from orchestrator.provenance.environment import environment
from orchestrator.space.configs import values_of

RESULTS: Final = Path(__file__).parents[2] / "results"

HEADER: Final = (
    "| trainable | data | figure | plain code | ours, mean | plain, mean | difference, points | "
    "to reach | seconds, ours / plain |\n"
    "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
)
BLOCKS_HEADER: Final = (
    "| data | seeds a batch | first-layer targets, ours | study's | apart (to reach: 2 %) | "
    "first-layer edges, ours | study's | edges at the seeds, ours | study's |\n"
    "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
)


def page(
    outcomes: Mapping[Case, Outcome], blocks: Sequence[BlocksBesideStudy], seeds: Sequence[int]
) -> Iterator[str]:
    """The Markdown, line by line."""
    yield "# Accuracy beside plain code of the same settings\n"
    yield from environment_lines("torch", "dgl", "ogb", "torchvision")
    yield f"- seeds {', '.join(map(str, seeds))}; the two sides have the same seeds, other batches"
    yield "- difference: ours less plain, paired by seed, with the 95 % interval of its mean (t)"
    yield (
        "- ogbn_products is Amazon Photo in ogbn-products' layout; one of AIFB's 36 test nodes is "
        "2.8 points\n"
    )
    yield HEADER
    for case, outcome in outcomes.items():
        yield row(case, outcome)
    yield "\n## Settings other than the defaults\n"
    for case in outcomes:
        if case.aim == "same":
            yield f"- {case.trainable.name}, {case.data}: {_settings(case)}"
    yield "\n## All figures\n"
    for case, outcome in outcomes.items():
        each = outcome.difference
        yield f"- {case.name}: ours {_listed(each.ours)}; plain {_listed(each.plain)}"
    yield "\n## Sampled blocks beside the study's sampler, means of a batch\n"
    yield BLOCKS_HEADER
    for sizes in blocks:
        yield blocks_row(sizes)


def row(case: Case, outcome: Outcome) -> str:
    """The case's line of the table."""
    each = outcome.difference
    ours, plain = (sum(figures) / len(figures) for figures in (each.ours, each.plain))
    aim = "more than 0" if case.aim == "above" else "within 0.5"
    verdict = aim if case.is_reached(each) else f"{aim}: **missed**"
    return (
        f"| {case.trainable.name} | {case.data} | {case.figure} | `{case.peer}` | {ours:.4f} | "
        f"{plain:.4f} | {100 * each.mean:+.2f} ± {100 * each.half_width:.2f} | {verdict} | "
        f"{outcome.ours_s:.0f} / {outcome.plain_s:.0f} |"
    )


def blocks_row(sizes: BlocksBesideStudy) -> str:
    """A graph's line of the table of blocks."""
    missed = "" if sizes.is_reached else " **missed**"
    ours, study = sizes.ours, sizes.study
    return (
        f"| {sizes.data} | {sizes.batch_size} | {ours.first_targets:.0f} | "
        f"{study.first_targets:.0f} | {sizes.apart:+.2%}{missed} | {ours.first_edges:.0f} | "
        f"{study.first_edges:.0f} | {ours.last_edges:.0f} | {study.last_edges:.0f} |"
    )


def results_file() -> Path:
    """Return the file of the page, named by processor and day."""
    processor = environment(Path(__file__))["hardware"]["cpu_model"]
    slug = re.sub(r"[^a-z0-9]+", "-", processor.lower()).strip("-")
    return RESULTS / f"accuracy_{slug}_{date.today():%Y-%m-%d}.md"


def _settings(case: Case) -> str:
    defaults = values_of(type(case.config)())
    changed = [
        f"{name}={value}"
        for name, value in values_of(case.config).items()
        if value != defaults[name]
    ]
    return ", ".join([f"epochs={case.epochs}", *changed])


def _listed(figures: Sequence[float]) -> str:
    return ", ".join(f"{figure:.4f}" for figure in figures)
