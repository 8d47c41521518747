"""The record of what a sweep asks: a run goes on only with the same question."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from orchestrator.metric_table import OF_THE_TARGET
from orchestrator.metrics import Objective
from orchestrator.provenance.source import source_text
from orchestrator.repository import PROJECT
from orchestrator.rules import RuleKind, SelectionRule
from orchestrator.space.configs import canonical, domains_of, knobs_of, values_of
from orchestrator.storage.sweep_record import KnobRecord, PublishedRecord, SweepRecord
from orchestrator.sweep.definition import Sweep


def question_record(sweep: Sweep[Any], file: Path) -> SweepRecord:
    """Return what a sweep asks, whatever machine and data answer it."""
    domains = domains_of(sweep.space)
    fixed = {name: v for name, v in values_of(sweep.space).items() if name not in domains}
    return SweepRecord(
        name=file.stem,
        file=str(file.absolute()),
        question=sweep.question,
        trainable=sweep.trainable.name,
        module=_module(sweep),
        objectives=tuple(sweep.objectives),
        rule=selection_rule(sweep),
        costs=tuple(sweep.costs),
        target=_target(sweep),
        prices=dict(sweep.prices),
        knobs={name: _knob_record(sweep, name) for name in knobs_of(sweep.trainable.config)},
        space={name: str(domain) for name, domain in domains.items()},
        fixed=_plain(fixed),
        baseline=_plain(values_of(canonical(sweep.baseline))),
        budget=sweep.budget,
        search=_search(sweep),
        rigor=sweep.rigor,
        seed=sweep.seed,
        isolation=sweep.isolation,
        constraints=tuple(source_text(constraint) for constraint in sweep.constraints),
        memory_per_trial_gib=sweep.memory_per_trial_gib,
        published=_published(sweep),
    )


def selection_rule(sweep: Sweep[Any]) -> SelectionRule:
    """Return the sweep's rule; a function with its name and its code."""
    if sweep.rule is None or isinstance(sweep.rule, SelectionRule):
        return sweep.rule or SelectionRule()
    name = getattr(sweep.rule, "__name__", type(sweep.rule).__name__)
    source = source_text(sweep.rule)
    return SelectionRule(kind=RuleKind.FUNCTION, name=name, source=source, function=sweep.rule)


def _target(sweep: Sweep[Any]) -> Objective | None:
    """Return what times to an accuracy are counted to; None where nothing asks for them."""
    asked = {objective.metric for objective in sweep.objectives}.intersection(OF_THE_TARGET)
    return sweep.aim if asked or sweep.target is not None else None


def _search(sweep: Sweep[Any]) -> str:
    """Return the search, and what ends its trials early."""
    return ", ".join(repr(part) for part in (sweep.search, sweep.stopping) if part is not None)


def _published(sweep: Sweep[Any]) -> tuple[PublishedRecord, ...]:
    """Return the studies' figures, each with the data set that it is of."""
    sets = sweep.trainable.data
    own = sweep.data or (sets[0].name if sets else "")
    return tuple(
        PublishedRecord(
            source=p.source, knobs=p.knobs, figures=p.figures, note=p.note, data=p.data or own
        )
        for p in sweep.published
    )


def _knob_record(sweep: Sweep[Any], name: str) -> KnobRecord:
    knob = knobs_of(sweep.trainable.config)[name]
    return KnobRecord(
        role=knob.role,
        unit=knob.unit,
        doc=knob.doc,
        default=knob.default,
        allowed=knob.allowed,
        type=getattr(knob.type, "__name__", str(knob.type)),
        conditional=knob.applies is not None,
    )


def _module(sweep: Sweep[Any]) -> str:
    """Return the module of one of our own trainables, each of which is a command as well."""
    module = sweep.trainable.train.__module__
    file = getattr(sys.modules.get(module), "__file__", None) or ""
    return module if Path(file).resolve().parent == PROJECT / "trainables" else ""


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of knobs as JSON has them."""
    return {name: list(v) if isinstance(v, tuple) else v for name, v in values.items()}
