"""The record of a sweep, in ``sweep.json`` and in the journal's first event.

A run is resumed only with the same question: the part that no machine and no data changes.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from orchestrator.data import is_path
from orchestrator.driver.request import Request
from orchestrator.driver.trials import TrialFactory
from orchestrator.metric_table import OF_THE_TARGET
from orchestrator.provenance.environment import environment, nodes_record
from orchestrator.provenance.source import source_text
from orchestrator.replay.setup import marked
from orchestrator.rules import RuleKind, SelectionRule
from orchestrator.space.configs import canonical, domains_of, knobs_of, values_of
from orchestrator.storage.sweep_record import KnobRecord, SweepRecord
from orchestrator.sweep.definition import Sweep
from orchestrator.system.import_path import PROJECT
from orchestrator.tracking.mlflow.uris import shown, shown_words


def question_record(sweep: Sweep[Any], file: Path) -> SweepRecord:
    """Return the question of a sweep, independent of machine and data."""
    domains = domains_of(sweep.space)
    fixed = {name: v for name, v in values_of(sweep.space).items() if name not in domains}
    timed = {objective.metric for objective in sweep.objectives}.intersection(OF_THE_TARGET)
    searched = [sweep.search, *([] if sweep.stopping is None else [sweep.stopping])]
    sets = sweep.trainable.data
    own_data = sweep.data or (sets[0].name if sets else "")
    return SweepRecord(
        name=file.stem,
        file=str(file.absolute()),
        question=sweep.question,
        trainable=sweep.trainable.name,
        module=_module(sweep),
        objectives=tuple(sweep.objectives),
        rule=selection_rule(sweep),
        costs=tuple(sweep.costs),
        target=sweep.aim if timed or sweep.target is not None else None,
        prices=dict(sweep.prices),
        knobs={name: _knob_record(sweep, name) for name in knobs_of(sweep.trainable.config)},
        space={name: str(domain) for name, domain in domains.items()},
        fixed=_plain(fixed),
        baseline=_plain(values_of(canonical(sweep.baseline))),
        budget=sweep.budget,
        search=", ".join(map(repr, searched)),
        rigor=sweep.rigor,
        seed=sweep.seed,
        isolation=sweep.isolation,
        constraints=tuple(source_text(constraint) for constraint in sweep.constraints),
        memory_per_trial_gib=sweep.memory_per_trial_gib,
        published=tuple(replace(s, data=s.data or own_data) for s in sweep.published),
    )


def sweep_record(
    factory: TrialFactory,
    request: Request,
    command_line: Sequence[str],
    num_planned: int | None,
) -> SweepRecord:
    """Return everything about a sweep that is known before its first trial."""
    words = ("python", "-m", "orchestrator", *shown_words(command_line))
    record = replace(
        question_record(factory.sweep, request.file),
        cores_per_trial=factory.num_cores,
        data=factory.data_name,
        source_hash=factory.source_hash,
        data_fingerprint=factory.needs.fingerprint,
        data_note=" ".join(request.data_note.splitlines()),
        nodes=nodes_record(tuple(node.name for node in factory.machine.nodes)),
        capacity=factory.capacity,
        num_planned=num_planned,
        options=_stored_options(request),
        data_arguments=_data_arguments(request),
        warm_start=request.warm_start.runs,
        command_line=words,
        started_at=time.time(),
        **environment(request.file),
    )
    return record if request.replay is None else marked(record, request.replay)


def _stored_options(request: Request) -> dict[str, Any]:
    """Return the options for a resumption, valid from any folder."""
    options = replace(request.options, data_root=request.folders.root)
    if options.data:
        options = replace(options, data=request.data)
    if options.tracking_uri is not None:
        options = replace(options, tracking_uri=shown(options.tracking_uri))
    return options.stored()


def _data_arguments(request: Request) -> tuple[str, ...]:
    """Return the arguments that name the same data again, from any folder.

    The set is named if the sweep file alone would have another one: it was given, or replaces
    an absent one. The data root is named if the set lies under it.
    """
    dataset, sets = request.dataset, request.sweep.trainable.data
    if dataset is None:
        return ()
    is_own = not request.options.data and request.data == (request.sweep.data or sets[0].name)
    in_root = not dataset.embedded and not is_path(sets, request.data)
    return (
        *(() if is_own else ("--data", request.data)),
        *(("--data-root", str(request.folders.root)) if in_root else ()),
    )


# -- parts of the question


def selection_rule(sweep: Sweep[Any]) -> SelectionRule:
    """Return the sweep's rule; a function with its name and its code."""
    if sweep.rule is None or isinstance(sweep.rule, SelectionRule):
        return sweep.rule or SelectionRule()
    name = getattr(sweep.rule, "__name__", type(sweep.rule).__name__)
    source = source_text(sweep.rule)
    return SelectionRule(kind=RuleKind.FUNCTION, name=name, source=source, function=sweep.rule)


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
    """Return the values of knobs as JSON values."""
    return {name: list(v) if isinstance(v, tuple) else v for name, v in values.items()}
