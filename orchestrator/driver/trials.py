"""TrialFactory: from a search's proposal to a trial, its launch and its row."""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from orchestrator.derived import DerivedFigures
from orchestrator.errors import SweepFileError
from orchestrator.kernel.events import Finished, OfTrial, Reported
from orchestrator.kernel.executor import Deadline, Launch, Needs
from orchestrator.kernel.search import Proposal
from orchestrator.machine import Machine
from orchestrator.metrics import batches_hint
from orchestrator.search.stages.judge import Config
from orchestrator.space.configs import built, idle_knobs, knobs_of, values_of
from orchestrator.space.knob import Role
from orchestrator.storage.history import TrialHistory
from orchestrator.storage.sweep_record import Capacity
from orchestrator.sweep.definition import Sweep
from orchestrator.trial import LOAD, Isolation, Report, Trial, TrialResult, TrialState, trial_id

CEILINGS_FROM_S = 1.0
"""Least training time of a trial whose ceilings are measured, s; for a shorter one that would take
longer than the trial itself."""

SAME_EPOCH: Final = 0.1
"""Difference of the samples of two epochs that incomplete batches make, as a fraction."""

FINAL_SEEDS: Final = 1000
"""Distance of the confirm runs' seeds from those of training: what selects never claims."""

ROOM_WITHIN_S: Final = 3.0
"""Longest wait for room in the run's folder, s."""


@dataclass(frozen=True, kw_only=True)
class TrialFactory:
    """The trials of a sweep, made from what is the same for all of them.

    Attributes:
        sweep: The sweep as asked for, command line included.
        needs: Needs of each node that runs the trials.
        machine: What the trials run on.
        num_cores: Cores of every trial.
        scratch: Folder on each node for output and checkpoints.
        source_hash: Hash of the trainable's source.
        data_name: Name of the data set in every row, or empty.
        curves_dir: Folder of checkpoints of learning curves; None: one in ``scratch``.
        capacity: Most trials that run at the same time.
        derived: Makes the figures that the sweep asks for and that are not measured.
        folder: Private folder of the run, which must have room; None: not checked.
        rerun: False to run no contaminated trial again.
        earlier: Trials of earlier runs that count as this one's, by the id that they have here.
    """

    sweep: Sweep[Any]
    needs: Needs
    machine: Machine
    num_cores: int
    scratch: Path
    source_hash: str = ""
    data_name: str = ""
    curves_dir: Path | None = None
    capacity: Capacity = field(default_factory=Capacity)
    derived: DerivedFigures = field(default_factory=DerivedFigures)
    folder: Path | None = None
    rerun: bool = True
    earlier: Mapping[str, TrialHistory] = field(default_factory=dict)
    _epochs: dict[str, tuple[Config, float]] = field(default_factory=dict, init=False)
    """Config and samples of an epoch by trial, until it has ended and the baseline too."""
    _of_base: list[float] = field(default_factory=list, init=False)
    """Samples of the baseline's epoch, once they are known."""
    _others: dict[str, tuple[list[str], float]] = field(default_factory=dict, init=False)
    """Changed knobs and samples of an epoch of trials that have not the baseline's samples."""
    _neutral: set[str] = field(default_factory=set, init=False)
    """Knobs that some trial changes without changing the samples."""

    def trial(self, proposal: Proposal) -> Trial:
        """Return the trial that answers ``proposal``."""
        seed = self.sweep.seed + proposal.repeat + FINAL_SEEDS * proposal.stage.is_final
        asked = {**vars(proposal), "config": dict(proposal.config)}
        identity = {
            "trainable": self.sweep.trainable.name,
            "source": self.source_hash,
            "data": self.needs.fingerprint,
            "seed": seed,
            # Of switches those that are on, but for the one that comes after the training.
            **{n: v for n, v in asked.items() if v is not False and n != "evaluate_test"},
            "budget": proposal.budget.to_json(),
        }
        whole = proposal.budget.until(proposal.budget.epochs)
        return Trial(
            id=trial_id(identity),
            curve=trial_id({**identity, "budget": whole.to_json()}),
            seed=seed,
            **asked,
        )

    def known(self, trial: Trial) -> Sequence[OfTrial]:
        """Return the reports and the end of a trial of an earlier run that asked for the same."""
        before = self.earlier.get(trial.id)
        if before is None or before.result is None:
            return ()
        reports = (Reported(trial_id=trial.id, report=report) for _, report in before.reports)
        return [*reports, Finished(trial_id=trial.id, result=before.result)]

    def unable(self, trial: Trial) -> TrialResult | None:
        """Return the result of a trial that cannot run here; None if it can."""
        trainable, state = self.sweep.trainable, TrialState.INFEASIBLE
        try:
            reason = trainable.infeasible(built(trainable.config, trial.config), self.machine)
        except SweepFileError as error:  # the trainable's own code, for this config alone
            reason, state = str(error), TrialState.FAILED
        return TrialResult(state=state, reason=reason) if reason else None

    def launch(self, trials: Sequence[Trial], deadline: Deadline | None = None) -> Launch:
        """Return one launch of them all, in time slices if there are several.

        Those in slices that other load contaminated are not run again: each would be
        compared with trials that ran under a different load.
        """
        self._require_room()
        first, *others = (self._launch(t, deadline, is_alone=len(trials) == 1) for t in trials)
        return replace(first, others=tuple(others))

    def _launch(self, trial: Trial, deadline: Deadline | None, *, is_alone: bool) -> Launch:
        trainable, isolation = self.sweep.trainable, Isolation(self.sweep.isolation)
        if trial.isolated and isolation is Isolation.LEASED:
            isolation = Isolation.EXCLUSIVE
        return Launch(
            trial=trial,
            needs=self.needs,
            demand=trainable.demand_of(built(trainable.config, trial.config), self.machine),
            num_cores=self.num_cores,
            isolation=isolation,
            preload=trainable.imports,
            scratch=self.scratch,
            time_limit_s=self.sweep.rigor.time_limit_s,
            retries=self.sweep.rigor.retries,
            memory_gib=self.sweep.memory_per_trial_gib,
            curves_dir=self.curves_dir,
            ceilings_from_s=CEILINGS_FROM_S,
            deadline=deadline,
            in_slices=not is_alone,
            rerun=is_alone and self.rerun,
        )

    def _require_room(self) -> None:
        """Raise ``OSError`` if the run's folder is full or missing, which ends the run.

        A trial that has filled it is ended meanwhile, and its files removed.
        """
        until = time.monotonic() + ROOM_WITHIN_S
        while self.folder is not None:
            try:
                (self.folder / ".room").write_bytes(bytes(1 << 16))
            except OSError:
                if time.monotonic() >= until:
                    raise
                time.sleep(0.1)
            else:
                return

    def concluded(self, trial: Trial, result: TrialResult) -> TrialResult:
        """Return a result with derived figures and idle knobs; ``failed`` without any figure.

        A trial is ``infeasible`` where a systems knob changes the samples of an epoch. A failure
        for want of room is not the trial's: the run ends, and resuming runs it again.
        Knobs that can have no effect in the trial's config are its tag ``idle``. A slow start is
        part of its tag ``contaminated``.
        """
        if result.state is TrialState.FAILED:
            self._require_room()
        if result.found and trial.config == values_of(self.sweep.baseline):
            # Its rows are known by the config that was asked.
            result = replace(result, tags=result.verdicts)
        result = self.derived.completed(trial, result)
        result = self.found_infeasible({trial.id: result}).get(trial.id, result)
        idle = idle_knobs(built(self.sweep.trainable.config, trial.config))
        tags = {LOAD: result.disturbed, "idle": ", ".join(idle)}
        made = {name: text for name, text in tags.items() if text}
        result = replace(result, tags={**result.tags, **made})
        if result.state is TrialState.COMPLETED and (reason := self._no_figure(trial, result)):
            result = replace(result, state=TrialState.FAILED, reason=reason)
        return result

    def observe(self, trial: Trial, report: Report) -> None:
        """Take a report of a trial: derived figures are computed from it."""
        self.derived.reported(trial, report)
        budget = trial.budget
        is_whole = budget.evaluated and budget.steps is None is budget.half_width
        if is_whole and report.samples and report.epoch:
            self._epochs[trial.id] = trial.config, report.samples / report.epoch

    def found_infeasible(self, results: Mapping[str, TrialResult]) -> dict[str, TrialResult]:
        """Return completed trials as infeasible where their epoch has not the baseline's samples.

        Knobs of other roles may change it, unless a trial shows for each that it does not.
        """
        for trial in [trial for trial in self._epochs if trial in results]:
            self._compare(trial, values_of(self.sweep.baseline))
        if not self._others:
            return {}
        knobs, found = knobs_of(self.sweep.trainable.config), dict[str, TrialResult]()
        for trial in sorted(self._others.keys() & results.keys()):
            (changed, samples), result = self._others[trial], results[trial]
            systems = [name for name in changed if knobs[name].role is Role.SYSTEMS]
            is_shown = self._neutral.union(systems).issuperset(changed)
            if systems and is_shown and result.state is TrialState.COMPLETED:
                reason = (
                    f"its epoch has {samples:,.0f} samples and the baseline's "
                    f"{self._of_base[0]:,.0f}: {' or '.join(systems)}, declared systems, changes "
                    "the data. An IterableDataset is to divide its samples among workers and ranks"
                )
                found[trial] = replace(result, state=TrialState.INFEASIBLE, reason=reason)
        return found

    def _compare(self, trial: str, base: Config) -> None:
        """Compare the samples of an epoch of a trial that has ended with the baseline's."""
        config, samples = self._epochs[trial]
        if not self._of_base:
            if dict(config) != base:
                return
            self._of_base.append(samples)
        del self._epochs[trial]
        changed = [name for name, value in base.items() if config[name] != value]
        if math.isclose(self._of_base[0], samples, rel_tol=SAME_EPOCH):
            self._neutral.update(changed)
        else:
            self._others[trial] = changed, samples

    def _no_figure(self, trial: Trial, result: TrialResult) -> str:
        """Return why a whole training has none of the sweep's figures; empty where it has one.

        A figure that is not a number was not measured. A trial of speed alone need have none.
        """
        target = self.derived.target
        asked = [*self.sweep.objectives, *([] if target is None else [target])]
        names = list(dict.fromkeys(objective.metric for objective in asked))
        has_one = any(not math.isnan(result.metrics.get(name, math.nan)) for name in names)
        if has_one or not trial.budget.evaluated:
            return ""
        wanted, ended = " and ".join(names), "it ended without an error and reported"
        if not_numbers := " and ".join(name for name in names if name in result.metrics):
            return (
                f"{ended} {not_numbers} as nan, which counts as not measured: the sweep asks for "
                f"{wanted}"
            )
        return (
            f"{ended} none of what the sweep asks for: {wanted}. A function for Ray Tune reports "
            f"by tune.report, one of a run by run.report{batches_hint(names)}"
        )
