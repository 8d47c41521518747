"""What all trials of a sweep have in common, and what each is told to be run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from orchestrator.data import DataFolders
from orchestrator.execution.base import Launch, Source
from orchestrator.machine import Machine
from orchestrator.search.base import Proposal
from orchestrator.search.stages.judge import Config, Results
from orchestrator.sweep.definition import Sweep
from orchestrator.trial import Isolation, Trial, TrialState, trial_id

CEILINGS_FROM_S = 1.0
"""Looking for the ceilings of a trial that trains for less takes longer than the trial."""


@dataclass(frozen=True, kw_only=True)
class TrialFactory:
    """Everything about a sweep's trials that is the same for all of them.

    Attributes:
        sweep: The sweep as asked for, command line included.
        source: Where training processes find its trainable.
        source_hash: Hash of the trainable's source.
        data: Name of the data set on the command line, or empty.
        data_name: Its name in every row.
        data_fingerprint: Hash of its content.
        folders: Where data sets live.
        machine: What the trials run on.
        num_cores: Cores of every trial.
        isolation: How far trials are kept from each other.
        scratch: Folder on each node for output and checkpoints.
        time_budget_s: No trial starts after it, or None.
        at_once: Most trials that run beside each other on a node.
        num_slots: Most trials that run at the same time, on all nodes.
        interleaved_gib: Memory that trials which take turns may have together; 0: none takes turns.
    """

    sweep: Sweep[Any]
    source: Source
    source_hash: str
    data: str
    data_name: str
    data_fingerprint: str
    folders: DataFolders
    machine: Machine
    num_cores: int
    isolation: Isolation
    scratch: Path
    time_budget_s: float | None = None
    at_once: int = 1
    num_slots: int = 1
    interleaved_gib: float = 0.0

    def trial(self, proposal: Proposal) -> Trial:
        """The trial that answers ``proposal``."""
        seed = self.sweep.seed + proposal.repeat
        identity = {
            "trainable": self.sweep.trainable.name,
            "source": self.source_hash,
            "data": self.data_fingerprint,
            "config": dict(proposal.config),
            "stage": proposal.stage,
            "budget": asdict(proposal.budget),
            "seed": seed,
            "repeat": proposal.repeat,
            **({"isolated": True} if proposal.isolated else {}),
            **({"interleaved": True} if proposal.interleaved else {}),
        }
        return Trial(
            id=trial_id(identity),
            stage=proposal.stage,
            config=dict(proposal.config),
            budget=proposal.budget,
            seed=seed,
            repeat=proposal.repeat,
            evaluate_test=proposal.evaluate_test,
            isolated=proposal.isolated,
            interleaved=proposal.interleaved,
        )

    def may_interleave(self, configs: Sequence[Config], results: Results) -> bool:
        """Whether trials of these configs may: each is one process, on the CPU, and they fit.

        While one runs the others keep their memory: as much as was seen of their trials so far.
        Where one did not complete that took turns none does any more: it may want for itself
        what another holds as long as it lives, a lock or a port.
        """
        has_worked = all(
            result.state is TrialState.COMPLETED for trial, result in results if trial.interleaved
        )
        fit = sum(_peak_gib(config, results) for config in configs) <= self.interleaved_gib
        return has_worked and fit and all(map(self._is_one_process, configs))

    def _is_one_process(self, config: Config) -> bool:
        trainable = self.sweep.trainable
        demand = trainable.demand_of(trainable.config(**config), self.machine)
        return demand.ranks == 1 and not demand.gpus

    def infeasible(self, trial: Trial) -> str | None:
        """Why ``trial`` cannot run here, known without starting it; or None."""
        trainable = self.sweep.trainable
        return trainable.infeasible(trainable.config(**trial.config), self.machine)

    def launch(self, trial: Trial) -> Launch:
        """What a supervisor is told to run ``trial``."""
        trainable = self.sweep.trainable
        config = trainable.config(**trial.config)
        return Launch(
            trial=trial,
            source=self.source,
            demand=trainable.demand_of(config, self.machine),
            num_cores=self.num_cores,
            isolation=self._isolation_of(trial),
            data=self.data,
            folders=self.folders,
            preload=tuple(trainable.preload),
            time_limit_s=self._time_limit_s(trial),
            retries=self.sweep.retries,
            scratch=self.scratch,
            memory_limit_gib=self.sweep.memory_per_trial_gib,
            ceilings_from_s=CEILINGS_FROM_S,
            data_fingerprint=self.data_fingerprint,
        )

    def _time_limit_s(self, trial: Trial) -> float | None:
        """The sweep's, for the sweep's own budget; in proportion where a trial has a larger one."""
        limit = self.sweep.time_limit_s
        return None if limit is None else limit * max(trial.budget.epochs / self.sweep.epochs, 1.0)

    def _isolation_of(self, trial: Trial) -> Isolation:
        if trial.isolated and self.isolation is Isolation.LEASED:
            return Isolation.EXCLUSIVE
        return self.isolation


def _peak_gib(config: Config, results: Results) -> float:
    """The most memory that a trial of ``config`` was seen to have; infinite where none was."""
    peaks = (
        result.metrics.get("peak_rss_gib", 0.0)
        for trial, result in results
        if dict(trial.config) == dict(config)
    )
    return max(peaks, default=0.0) or math.inf
