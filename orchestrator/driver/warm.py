"""Warm start: a search receives results of earlier runs first, where they are comparable.

Earlier runs must be of the same trainable, data, budget, cores per trial and hardware. Their
results are no rows of the new run: its tables and claims contain only its own trials. They are kept
in the run directory, so that a resumed search receives the same ones.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from orchestrator.driver.options.options import Options
from orchestrator.errors import RunDirectoryError, SweepError, raise_all
from orchestrator.execution.placement import cores_of_trial
from orchestrator.kernel.events import Asked, Finished
from orchestrator.kernel.journal import read_journal
from orchestrator.kernel.problem import EarlierConfig, Key, SearchProblem, key_of, varied_within
from orchestrator.machine import Machine
from orchestrator.metric_table import OF_THE_TARGET
from orchestrator.provenance.environment import TIMED_PACKAGES, environment
from orchestrator.provenance.source import source_hash
from orchestrator.replay.setup import Replay
from orchestrator.rules import SelectionRule
from orchestrator.storage.files import RunFile, replace_file
from orchestrator.storage.sweep_record import SweepRecord, read_sweep
from orchestrator.sweep.definition import Sweep
from orchestrator.sweep.problem import search_problem
from orchestrator.trial import Stage, Trial, TrialResult, TrialState

_Results = list[tuple[Trial, TrialResult]]
_HARDWARE: Final = ("cpu_model", "gpus")
"""Fields of ``sweep.json`` that determine the speed of a node."""


@dataclass(frozen=True, kw_only=True)
class WarmStart:
    """Results of earlier runs.

    Attributes:
        runs: Directories of these runs, absolute.
        configs: Their configs that lie in the sweep's space.
        fingerprints: Hash of each run's data, in the order of ``runs``; empty in a resumed run.
        notes: Notes for the user before the first trial.
    """

    runs: tuple[str, ...] = ()
    configs: tuple[EarlierConfig, ...] = ()
    fingerprints: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def require_data(self, fingerprint: str) -> None:
        """Check that the earlier runs were on data of this content.

        Raises:
            RunDirectoryError: One of them was not.
        """
        if not self.fingerprints:  # checked when the run was started
            return
        pairs = zip(self.runs, self.fingerprints, strict=True)
        other = [run for run, theirs in pairs if theirs != fingerprint]
        raise_all([refused(run, "its data is not this run's, by its content") for run in other])

    def into(self, problem: SearchProblem) -> SearchProblem:
        """Return the problem with the earlier configs that the sweep's constraints allow."""
        allowed = [each for each in self.configs if problem.admissible(each.config)]
        return replace(problem, earlier=allowed)

    def write(self, run_dir: Path) -> None:
        """Keep it in the run directory, if there is anything."""
        if not self.runs:
            return
        configs = [_to_json(each) for each in self.configs]
        text = json.dumps({"runs": self.runs, "configs": configs}) + "\n"
        replace_file(run_dir / RunFile.WARM_START, lambda path: path.write_text(text))


def refused(run: Path | str, text: str) -> RunDirectoryError:
    """Return the error for a run that a search cannot receive."""
    return RunDirectoryError(
        f"--warm-start {run}: {text}",
        "give runs of the same trainable, data, budget and hardware, or leave it out",
    )


def kept_warm_start(run_dir: Path, record: SweepRecord) -> WarmStart:
    """Return the results that the search of a run received when the run was started.

    Args:
        run_dir: The run directory.
        record: Its ``sweep.json``.

    Raises:
        RunDirectoryError: It is not there any more, or is damaged.
    """
    if not record.warm_start:
        return WarmStart()
    path = run_dir / RunFile.WARM_START
    try:
        configs = tuple(map(_from_json, json.loads(path.read_bytes())["configs"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        text = f"{path}: the results that the search received first cannot be read: {error!r}"
        raise RunDirectoryError(text, "restore the file, or start a new run") from None
    return WarmStart(runs=record.warm_start, configs=configs)


def _to_json(each: EarlierConfig) -> dict[str, Any]:
    results = [{"state": r.state, "metrics": dict(r.metrics)} for r in each.results]
    return {"config": dict(each.config), "results": results}


def _from_json(plain: Mapping[str, Any]) -> EarlierConfig:
    config = {k: tuple(v) if isinstance(v, list) else v for k, v in plain["config"].items()}
    return EarlierConfig(config=config, results=[*map(TrialResult.from_json, plain["results"])])


# -- earlier runs


def warm_start_of(
    options: Options,
    sweep: Sweep[Any],
    machine: Machine,
    *,
    file: Path,
    before: SweepRecord | None,
    replay: Replay | None,
) -> WarmStart:
    """Return the results that a command line's search receives first.

    A resumed run's search receives what it received when it was started.

    Args:
        options: The command line's values.
        sweep: The sweep.
        machine: What its trials run on.
        file: The sweep file.
        before: The record of the run that is resumed, or None.
        replay: The recorded runs to play instead of measuring, or None.

    Raises:
        SweepError: The search does not use results, or a run is not comparable with the sweep or
            has no results for it; all errors are reported at once.
    """
    if before is not None:
        assert options.resume is not None, "a run before this one is one that is resumed"
        return kept_warm_start(options.resume, before)
    if not options.warm_start:
        return WarmStart()
    if not sweep.search.warm_starts:
        raise SweepError(
            f"--warm-start: {sweep.search!r} asks for the same whatever was measured before",
            "give one that goes by results: --search tpe, nsga2 or gp",
        )
    versions, known = _here(options, sweep, machine, file, replay)
    # Its own constraints may be about a machine that has not answered yet.
    problem = search_problem(replace(sweep, constraints=()), machine)
    problems: list[SweepError] = []
    records: dict[str, SweepRecord] = {}
    results: _Results = []
    for run in dict.fromkeys(run.absolute() for run in options.warm_start):
        try:
            record = _comparable_record(run, sweep, known)
            results += _results(run, problem)
            records[str(run)] = record
        except SweepError as error:
            problems.append(error)
    raise_all(problems)
    configs = _by_config(problem, results)
    num_used = sum(len(each.results) for each in configs)
    summary = (
        f"the search begins with {num_used} results of {len(configs)} configs from "
        f"{', '.join(records)}. They are in no table and no claim of this run"
    )
    return WarmStart(
        runs=tuple(records),
        configs=configs,
        fingerprints=tuple(record.data_fingerprint for record in records.values()),
        notes=(summary, *_changes(records, sweep, versions)),
    )


# -- what makes an earlier run comparable


def _here(
    options: Options, sweep: Sweep[Any], machine: Machine, file: Path, replay: Replay | None
) -> tuple[Mapping[str, str], dict[str, Any]]:
    """Return the versions here, and the hardware and cores where they are known."""
    if replay is None:
        found = environment(file)
        hardware, versions = found["hardware"], found["versions"]
    else:
        hardware, versions = replay.record.hardware, replay.record.versions
    known = {name: hardware.get(name) for name in _HARDWARE}
    known["cores per trial"] = cores_of_trial(sweep.cores_per_trial, machine)
    return versions, {} if options.address else known


def _comparable_record(run: Path, sweep: Sweep[Any], known: Mapping[str, Any]) -> SweepRecord:
    try:
        record = read_sweep(run)
    except RunDirectoryError as error:
        raise RunDirectoryError(f"--warm-start {error.message}", error.hint) from None
    for name, then, now in _pairs(record, sweep, known):
        if then != now:
            text = f"its {name} was {then!r}, here it is {now!r}: figures are not comparable"
            raise refused(run, text)
    return record


def _pairs(
    record: SweepRecord, sweep: Sweep[Any], known: Mapping[str, Any]
) -> Iterator[tuple[str, Any, Any]]:
    """Yield what figures depend on, by its name: as it was in a run, and as it is now."""
    yield "trainable", record.trainable, sweep.trainable.name
    yield "budget", record.budget.to_json(), sweep.budget.to_json()
    metrics = {objective.metric for objective in sweep.objectives}
    if metrics.intersection(OF_THE_TARGET):
        from orchestrator.analysis.rule import rule_of  # it takes a second

        rule = sweep.rule if isinstance(sweep.rule, SelectionRule) else SelectionRule()
        asked = replace(record, target=sweep.aim, rule=rule, rigor=sweep.rigor)
        yield "target", rule_of(record).target, rule_of(asked).target
    if "cost" in metrics:
        yield "prices", dict(record.prices), dict(sweep.prices)
    then = {**record.hardware, "cores per trial": record.cores_per_trial}
    for name, now in known.items():
        yield name, then.get(name), now


# -- its results


def _results(run: Path, problem: SearchProblem) -> _Results:
    """Return the training runs of a run that a search can use, in the order in which they ended.

    Raises:
        RunDirectoryError: There is none, or its journal is missing or damaged.
    """
    asked: dict[str, Trial] = {}
    ended: dict[str, TrialResult] = {}
    journal = run / RunFile.JOURNAL
    for event in read_journal(journal) if journal.exists() else ():
        if isinstance(event, Asked):
            asked[event.trial.id] = event.trial
        elif isinstance(event, Finished):
            ended.pop(event.trial_id, None)
            ended[event.trial_id] = event.result
    names = [objective.metric for objective in problem.objectives]

    def is_useful(trial: Trial, result: TrialResult) -> bool:
        if trial.stage is not Stage.TRAIN or result.state is TrialState.INFEASIBLE:
            return trial.stage is Stage.TRAIN
        has_all = all(name in result.metrics for name in names)
        is_whole = trial.budget == problem.budget
        return result.state is TrialState.COMPLETED and is_whole and has_all

    found = [(asked[name], r) for name, r in ended.items() if is_useful(asked[name], r)]
    if not found:
        raise refused(run, f"no trial of it has {' and '.join(names)}")
    if not any(varied_within(problem, trial.config) is not None for trial, _ in found):
        raise refused(run, "none of its configs lies in the sweep's space")
    return found


def _by_config(problem: SearchProblem, found: _Results) -> tuple[EarlierConfig, ...]:
    """Return the results of each config that lies in the space."""
    results: dict[Key, list[TrialResult]] = {}
    configs: dict[Key, Mapping[str, Any]] = {}
    for trial, result in found:
        if varied_within(problem, trial.config) is not None:
            key = key_of(problem, trial.config)
            configs[key] = trial.config
            results.setdefault(key, []).append(result)
    return tuple(
        EarlierConfig(config=config, results=results[key]) for key, config in configs.items()
    )


def _changes(
    records: Mapping[str, SweepRecord], sweep: Sweep[Any], versions: Mapping[str, str]
) -> Iterator[str]:
    """Yield a note for each run with another source or versions; its results are used as well."""
    source = source_hash(sweep.trainable)
    for run, record in records.items():
        changed = ["the trainable's source has changed"] * (record.source_hash != source)
        for name in TIMED_PACKAGES:
            then, now = record.versions.get(name), versions.get(name)
            if then != now:
                changed.append(f"{name} {then} then, {now} now")
        if changed:
            yield f"--warm-start {run}: {'; '.join(changed)}: its figures may differ"
