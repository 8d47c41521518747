"""The record of a sweep, which ``sweep.json`` and the journal's first event hold."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from orchestrator.data import is_path
from orchestrator.driver.planning.plan import make_plan
from orchestrator.driver.question import question_record
from orchestrator.driver.request import Request
from orchestrator.driver.trials import TrialFactory
from orchestrator.provenance.environment import environment, nodes_record
from orchestrator.storage.sweep_record import SweepRecord
from orchestrator.tracking.mlflow.uris import shown, shown_words


def sweep_record(
    factory: TrialFactory, request: Request, command_line: Sequence[str]
) -> SweepRecord:
    """Return everything about a sweep that is known before its first trial."""
    words = ("python", "-m", "orchestrator", *shown_words(command_line))
    return replace(
        question_record(factory.sweep, request.file),
        cores_per_trial=factory.num_cores,
        data=factory.data_name,
        source_hash=factory.source_hash,
        data_fingerprint=factory.data_fingerprint,
        data_note=" ".join(request.data_note.splitlines()),
        nodes=nodes_record(tuple(node.name for node in factory.machine.nodes)),
        capacity=factory.capacity,
        num_planned=_num_planned(factory),
        options=_stored_options(request),
        data_arguments=_data_arguments(request),
        warm_start=request.warm_start.runs,
        command_line=words,
        started_at=time.time(),
        **environment(request.file),
    )


def _stored_options(request: Request) -> dict[str, Any]:
    """Return the options to go on with, from whatever folder that is done."""
    options = replace(request.options, data_root=request.folders.root)
    if options.data:
        options = replace(options, data=request.data)
    if options.tracking_uri is not None:
        options = replace(options, tracking_uri=shown(options.tracking_uri))
    return options.stored()


def _data_arguments(request: Request) -> tuple[str, ...]:
    """Return the arguments that name the same data again, whatever folder they are typed in.

    The set is named where the sweep file alone would have another one: it was given, or stands in
    for one that is absent. The data root is named where the set lies under it.
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


def _num_planned(factory: TrialFactory) -> int | None:
    """Return the most trials of the search and the fewest of the confirm stage; None: no end."""
    plan = make_plan(factory.sweep, factory.machine, num_cores=factory.num_cores)
    if plan.stages:
        return None if plan.most_searched is None else plan.most_searched + plan.num_confirm
    if plan.max_configs is None:
        return None
    return plan.max_configs * factory.sweep.rigor.repeats + plan.num_confirm
