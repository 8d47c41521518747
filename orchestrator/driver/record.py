"""The record of a sweep, in ``sweep.json`` and in the journal's first event; a run's past by it.

A run is resumed only with the same question: the part that no machine and no data changes. The same
question on other data or other cores is another run, too. A change of the trainable's source or of
the data's content is allowed, and noted.
"""

import platform
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from orchestrator.arguments import command
from orchestrator.data import is_path
from orchestrator.driver.request import Request
from orchestrator.driver.trials import TrialFactory
from orchestrator.errors import RunDirectoryError
from orchestrator.formats import counted
from orchestrator.kernel.events import Continued, Event, Finished, Opened
from orchestrator.kernel.journal import read_journal
from orchestrator.kernel.search import Search
from orchestrator.metric_table import OF_THE_TARGET
from orchestrator.provenance.environment import environment, node_tags
from orchestrator.provenance.source import source_text
from orchestrator.rules import RuleKind, SelectionRule
from orchestrator.space.configs import canonical, domains_of, knobs_of, values_of
from orchestrator.storage.files import RunFile, table_ids
from orchestrator.storage.sweep_record import KnobRecord, Part, SweepRecord, hash_of
from orchestrator.sweep.definition import Sweep
from orchestrator.tracking.mlflow.uris import shown, shown_words


def question_record(sweep: Sweep[Any], file: Path) -> SweepRecord:
    """Return the question of a sweep, independent of machine and data."""
    timed = {objective.metric for objective in sweep.objectives}.intersection(OF_THE_TARGET)
    searched = [sweep.search, *([] if sweep.stopping is None else [sweep.stopping])]
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
        search=", ".join(map(repr, searched)),
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


# -- the earlier processes of a run


@dataclass(frozen=True, kw_only=True)
class Past:
    """The earlier processes of a run.

    Attributes:
        run_dir: The run directory.
        events: Their events; none if nothing was journalled.
        record: The record with which the run was started, or None.
        trials: Configs to which the search is extended now, or None.
    """

    run_dir: Path
    events: Sequence[Event] = ()
    record: SweepRecord | None = None
    trials: int | None = None

    @property
    def configs(self) -> int | None:
        """Return the configs that the search has been extended to, now or before; or None."""
        return self.trials or self.extended_to

    @property
    def extended_to(self) -> int | None:
        """Return the configs that the run was extended to last; None if it never was."""
        extended = [event.trials for event in self.events if isinstance(event, Continued)]
        return next((trials for trials in reversed(extended) if trials is not None), None)

    def extension(self, trials: int | None, sweep: Sweep[Any]) -> int | None:
        """Return the configs to which the search is extended now; None if it is not extended.

        Args:
            trials: The configs asked for now, or None.
            sweep: The sweep as it was started.

        Raises:
            RunDirectoryError: The search has no number of configs, or had a larger one.
        """
        if trials is None:
            return None
        before = self.extended_to or getattr(sweep.search, "trials", None)
        if before is None:
            raise RunDirectoryError(
                f"--trials {trials}: the run tries every config of its search, so there is nothing "
                "to extend it to",
                "leave --trials out, or start a new run",
            )
        if trials < before:
            raise RunDirectoryError(
                f"--trials {trials}: the run was asked for {before} configs",
                f"allowed: {before} or more; or start a new run",
            )
        return trials if trials > before else None

    def require_same(self, now: SweepRecord, part: Part) -> None:
        """Check that a part of the sweep is as it was when the run was started.

        Raises:
            RunDirectoryError: It has changed.
        """
        changes = {} if self.record is None else now.changes(self.record, part)
        if changes:
            lines = [f"{name}: {then!r} then, {new!r} now" for name, (then, new) in changes.items()]
            raise RunDirectoryError(
                f"--resume {self.run_dir}: the sweep has changed since:\n  " + "\n  ".join(lines),
                "start a new run, or give the options and the sweep file that it was started with",
            )

    def require_extended(self, search: Search) -> None:
        """Check that a search can continue to the configs to which it is extended now, if it is.

        Raises:
            RunDirectoryError: It cannot.
        """
        if self.trials is not None and not search.extends:
            raise RunDirectoryError(
                f"--resume {self.run_dir} --trials {self.trials}: its search cannot be extended",
                "start a new run",
            )

    def notes(self, now: SweepRecord) -> list[str]:
        """Return a note for each change that makes earlier trials incomparable with later ones."""
        before = self.record or now
        changed = {
            "the trainable's source": now.source_hash != before.source_hash,
            "the data": now.data_fingerprint != before.data_fingerprint,
        }
        return [
            f"{what} has changed since this run was started: what has finished is kept as it is "
            "and not comparable with the rest; start a new run to measure all of it again"
            for what, has_changed in changed.items()
            if has_changed
        ]


def past_of(request: Request, run_dir: Path | None) -> Past:
    """Return the earlier processes of a request's run, checked; none where there is no run.

    Raises:
        RunDirectoryError: The run is of another question, or as for :func:`past_events` and
            :meth:`Past.extension`.
    """
    if run_dir is None:
        return Past(run_dir=Path())
    events = past_events(run_dir)
    first, record, which = next(iter(events), None), None, f"--resume {run_dir}: its journal"
    if isinstance(first, Opened):  # sweep.json is of the last process
        record = SweepRecord.from_json(first.sweep, which)
    elif first is not None:
        raise RunDirectoryError(f"{which} does not begin with the sweep", "start a new run")
    past = Past(run_dir=run_dir, events=events, record=record)
    past.require_same(question_record(request.sweep, request.file), "question")
    return replace(past, trials=past.extension(request.trials, request.sweep))


def past_events(run_dir: Path) -> list[Event]:
    """Return the events of a run; none if it has not begun.

    Raises:
        RunDirectoryError: The journal lacks the end of a trial that the table has.
    """
    journal = run_dir / RunFile.JOURNAL
    events = list(read_journal(journal)) if journal.exists() else []
    ended = {event.trial_id for event in events if isinstance(event, Finished)}
    if lacking := table_ids(run_dir) - ended:
        what = f"the end of {counted(len(lacking), 'trial')} of {RunFile.TRIALS_TEXT}"
        raise RunDirectoryError(
            f"{journal}: {'lacks' if ended else 'is empty, missing or of another run: it lacks'} "
            f"{what}, such as {min(lacking)}",
            "restore it, or start a new run",
        )
    return events
