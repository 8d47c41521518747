"""Warm start: a search receives results of earlier runs first, where they are comparable.

Earlier runs must be of the same trainable, data, budget, cores per trial and hardware. Their
results are no rows of the new run: its tables and claims contain only its own trials. The run's
record has them, so that a resumed search receives the same ones. What a search with probes asks for
as in an earlier run is a row, and is not run again.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from orchestrator.driver.options.options import Options
from orchestrator.errors import RunDirectoryError, SweepError, raise_all
from orchestrator.execution.placement import cores_of_trial
from orchestrator.formats import counted
from orchestrator.kernel.journal import read_journal
from orchestrator.kernel.problem import EarlierConfig, SearchProblem, key_of, varied_within
from orchestrator.machine import Machine
from orchestrator.metric_table import OF_THE_TARGET
from orchestrator.storage.files import RunFile
from orchestrator.storage.history import TrialHistory, read_history
from orchestrator.storage.sweep_record import SweepRecord, read_sweep
from orchestrator.sweep.definition import Sweep
from orchestrator.sweep.problem import search_problem, target_of
from orchestrator.trial import Proposal, Stage, Trial, TrialResult, TrialState

_HARDWARE: Final = ("cpu_model", "gpus")
"""Fields of ``sweep.json`` that determine the speed of a node."""


@dataclass(frozen=True, kw_only=True)
class WarmStart:
    """Results of earlier runs.

    Attributes:
        runs: Directories of these runs, absolute.
        configs: Their configs that lie in the sweep's space.
        fingerprints: Hash of each run's data, in the order of ``runs``; () in a resumed run.
        notes: Notes for the user before the first trial.
        known: Their probes and trainings, for a search with probes.
    """

    runs: tuple[str, ...] = ()
    configs: tuple[EarlierConfig, ...] = ()
    fingerprints: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    known: tuple[Proposal, ...] = ()

    def require_data(self, fingerprint: str) -> None:
        """Check that the earlier runs were on data of this content.

        Raises:
            RunDirectoryError: One of them was not.
        """
        pairs = zip(self.runs, self.fingerprints, strict=False)
        other = [run for run, theirs in pairs if theirs != fingerprint]
        raise_all([refused(run, "its data is not this run's, by its content") for run in other])

    def into(self, problem: SearchProblem) -> SearchProblem:
        """Return the problem with the earlier configs that the sweep's constraints allow."""
        allowed = [each for each in self.configs if problem.admissible(each.config)]
        return replace(problem, earlier=allowed, known=self.known)

    def trials(self) -> Iterator[TrialHistory]:
        """Yield the known trials; of a run that is gone none, so that these are run again."""
        for run in self.runs if self.known else ():
            with suppress(RunDirectoryError):
                yield from (t for t in _trials(Path(run)) if t.trial.proposal in self.known)


def refused(run: Path | str, text: str) -> RunDirectoryError:
    """Return the error for a run that a search cannot receive."""
    return RunDirectoryError(
        f"--warm-start {run}: {text}",
        "give runs of the same trainable, data, budget and hardware, or leave it out",
    )


# -- earlier runs


def warm_start_of(
    options: Options, sweep: Sweep[Any], machine: Machine, hardware: Mapping[str, Any]
) -> WarmStart:
    """Return the results that the search of a new run receives first.

    Args:
        options: The command line's values.
        sweep: The sweep.
        machine: What its trials run on.
        hardware: Hardware of this machine, as the record of a run has it.

    Raises:
        SweepError: The search does not use results, or a run is not comparable with the sweep or
            has no results for it; all errors are reported at once.
    """
    if not sweep.search.warm_starts:
        raise SweepError(
            f"--warm-start: {sweep.search!r} asks for the same whatever was measured before",
            "give one that goes by results: --search tpe, nsga2 or gp",
        )
    known = {name: hardware.get(name) for name in _HARDWARE}
    known["cores per trial"] = cores_of_trial(sweep.cores_per_trial, machine)
    # Its own constraints may be about a machine that has not answered yet.
    problem = search_problem(replace(sweep, constraints=()), machine)
    problems: list[SweepError] = []
    records: dict[str, SweepRecord] = {}
    results: list[TrialHistory] = []
    has_probes = sweep.search.has_probes
    for run in dict.fromkeys(run.absolute() for run in options.warm_start):
        try:
            record = read_sweep(run)
            for name, then, now in _pairs(record, sweep, {} if options.address else known):
                if then != now:
                    text = (
                        f"its {name} was {then!r}, here it is {now!r}: figures are not comparable"
                    )
                    raise refused(run, text)
            results += _results(run, problem, has_probes=has_probes)
            records[str(run)] = record
        except SweepError as error:
            problems.append(error)
    raise_all(problems)
    configs: dict[Any, EarlierConfig] = {}
    for trial, result in ((each.trial, each.result) for each in results if not has_probes):
        if result is not None:
            key = key_of(problem, trial.config)
            before = configs[key].results if key in configs else ()
            configs[key] = EarlierConfig(config=trial.config, results=[*before, result])
    num_trained, runs = sum(t.trial.stage is Stage.TRAIN for t in results), ", ".join(records)
    note = (
        f"{counted(len(results) - num_trained, 'probe')} and {counted(num_trained, 'training')} of "
        f"{runs} are rows of this run, and take no time"
        if has_probes
        else f"the search begins with {num_trained} results of {len(configs)} configs from {runs}. "
        "They are in no table and no claim of this run"
    )
    return WarmStart(
        runs=tuple(records),
        configs=tuple(configs.values()),
        fingerprints=tuple(record.data_fingerprint for record in records.values()),
        notes=(note,),
        known=tuple(each.trial.proposal for each in results if has_probes),
    )


def _pairs(
    record: SweepRecord, sweep: Sweep[Any], known: Mapping[str, Any]
) -> Iterator[tuple[str, Any, Any]]:
    """Yield what figures depend on, by its name: as it was in a run, and as it is now."""
    yield "trainable", record.trainable, sweep.trainable.name
    yield "budget", record.budget.to_json(), sweep.budget.to_json()
    metrics = {objective.metric for objective in sweep.objectives}
    if metrics.intersection(OF_THE_TARGET):
        from orchestrator.analysis.rule import rule_of  # it takes a second

        yield "target", rule_of(record).target, target_of(sweep)
    if "cost" in metrics:
        yield "prices", dict(record.prices), dict(sweep.prices)
    if sweep.search.has_probes:
        yield "seed", record.seed, sweep.seed
        yield "objectives", {o.metric for o in record.objectives}, metrics
    then = {**record.hardware, "cores per trial": record.cores_per_trial}
    for name, now in known.items():
        yield name, then.get(name), now


def _results(run: Path, problem: SearchProblem, *, has_probes: bool) -> list[TrialHistory]:
    """Return the trials of a run in the sweep's space that a search can use.

    Raises:
        RunDirectoryError: There is none, or its journal is missing or damaged.
    """
    names = [objective.metric for objective in problem.objectives]

    def is_used(trial: Trial, result: TrialResult) -> bool:
        if trial.stage is not Stage.TRAIN and not (has_probes and trial.stage is Stage.PROBE):
            return False
        has_ended, budget = result.state is TrialState.COMPLETED, trial.budget
        if has_probes:
            has_ended |= budget.is_part and result.metrics.get("epochs") == budget.end
        else:
            has_ended &= budget == problem.budget
            has_ended &= all(name in result.metrics for name in names)
        return has_ended or result.state is TrialState.INFEASIBLE

    found = [t for t in _trials(run) if t.result is not None and is_used(t.trial, t.result)]
    if not found:
        raise refused(run, f"no trial of it has {' and '.join(names)}")
    inside = [each for each in found if varied_within(problem, each.trial.config) is not None]
    if not inside:
        raise refused(run, "none of its configs lies in the sweep's space")
    return inside


def _trials(run: Path) -> Iterable[TrialHistory]:
    journal = run / RunFile.JOURNAL
    return read_history(read_journal(journal) if journal.exists() else ()).trials.values()
