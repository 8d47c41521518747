"""The record of a sweep, in ``sweep.json`` and in the journal's first event."""

import platform
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from orchestrator.arguments import command
from orchestrator.data import is_path
from orchestrator.driver.request import Request
from orchestrator.driver.trials import TrialFactory
from orchestrator.metric_table import OF_THE_TARGET
from orchestrator.provenance.environment import environment, node_tags
from orchestrator.provenance.source import source_text
from orchestrator.rules import RuleKind, SelectionRule
from orchestrator.space.configs import canonical, domains_of, knobs_of, values_of
from orchestrator.storage.sweep_record import KnobRecord, SweepRecord, hash_of
from orchestrator.sweep.definition import Sweep
from orchestrator.tracking.mlflow.uris import shown, shown_words


def question_record(sweep: Sweep[Any], file: Path) -> SweepRecord:
    """Return the question of a sweep, independent of machine and data."""
    timed = {objective.metric for objective in sweep.objectives}.intersection(OF_THE_TARGET)
    sets = sweep.trainable.data
    own_data = sweep.data or (sets[0].name if sets else "")
    return SweepRecord(
        name=file.stem,
        file=str(file.absolute()),
        file_hash=hash_of(file),
        question=sweep.question,
        trainable=sweep.trainable.name,
        objectives=tuple(sweep.objectives),
        rule=selection_rule(sweep),
        target=sweep.aim if timed or sweep.target is not None else None,
        prices=dict(sweep.prices),
        knobs={name: _knob_record(sweep, name) for name in knobs_of(sweep.trainable.config)},
        space={name: str(domain) for name, domain in domains_of(sweep.space).items()},
        fixed=_plain(sweep.fixed),
        baseline=_plain(values_of(canonical(sweep.baseline))),
        budget=sweep.budget,
        search=sweep.search_text,
        rigor=sweep.rigor,
        seed=sweep.seed,
        isolation=sweep.isolation,
        constraints=tuple(source_text(constraint) for constraint in sweep.constraints),
        memory_per_trial_gib=sweep.memory_per_trial_gib,
        published=tuple(replace(s, data=s.data or own_data) for s in sweep.published),
    )


def sweep_record(
    factory: TrialFactory, request: Request, command_line: Sequence[str]
) -> SweepRecord:
    """Return what is known about a sweep before its first trial, but for the trials to expect."""
    words = (*command().split(), *shown_words(command_line))
    return replace(
        question_record(factory.sweep, request.file),
        cores_per_trial=factory.num_cores,
        data=factory.data_name,
        source_hash=factory.source_hash,
        data_fingerprint=factory.needs.fingerprint,
        data_note=" ".join(request.data_note.splitlines()),
        # Other nodes are known from their rows.
        nodes={
            node.name: dict(node_tags())
            for node in factory.machine.nodes
            if node.name == platform.node()
        },
        capacity=factory.capacity,
        options=_stored_options(request),
        data_arguments=_data_arguments(request),
        warm_start=request.warm_start.runs,
        earlier=request.warm_start.configs,
        known=request.warm_start.known,
        command_line=words,
        started_at=time.time(),
        **environment(request.file),
    )


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
    same = {name: getattr(knob, name) for name in ("role", "unit", "doc", "default", "allowed")}
    kind = getattr(knob.type, "__name__", str(knob.type))
    return KnobRecord(**same, type=kind)


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of knobs as JSON values."""
    return {name: list(v) if isinstance(v, tuple) else v for name, v in values.items()}
