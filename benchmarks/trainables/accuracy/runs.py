"""Single trainings, and the file of those that are finished."""

from __future__ import annotations

import hashlib
import importlib
import json
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from benchmarks.trainables.accuracy.cases import Case
from benchmarks.trainables.accuracy.difference import Difference
from orchestrator.data import DataFolders, PreparedData, find_data
from orchestrator.measurement.run import Context, Run
from orchestrator.space.configs import values_of
from orchestrator.trial import Budget, Report

OURS = "ours"


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Result of a case: a figure and the seconds of each side and seed."""

    difference: Difference
    ours_s: float
    plain_s: float


class FinishedRuns:
    """Figures by side and seed, a JSON line each, so that an interrupted benchmark goes on.

    Args:
        file: Where the lines are; made with the first one.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        lines = file.read_text().splitlines() if file.exists() else []
        self._figures: dict[str, Mapping[str, float]] = {
            line["key"]: line for line in map(json.loads, lines)
        }

    def outcome(self, case: Case, folders: DataFolders, seeds: Sequence[int]) -> Outcome:
        """Train what is not there yet, ours and plain in turn."""
        data = find_data(case.trainable.data, _asked(case, folders)).prepare(folders)
        sides: dict[str, list[Mapping[str, float]]] = {OURS: [], case.peer: []}
        for seed in seeds:
            for side, lines in sides.items():
                lines.append(self._line(case, side, seed, data, folders))
        ours, plain = sides.values()
        return Outcome(
            difference=Difference(
                ours=[line["figure"] for line in ours], plain=[line["figure"] for line in plain]
            ),
            ours_s=sum(line["seconds"] for line in ours),
            plain_s=sum(line["seconds"] for line in plain),
        )

    def _line(
        self, case: Case, side: str, seed: int, data: PreparedData, folders: DataFolders
    ) -> Mapping[str, float]:
        key = _key(case, side, seed, data)
        if key not in self._figures:
            began = time.perf_counter()
            figure = _figure(case, side, seed, data, folders)
            seconds = time.perf_counter() - began
            self._figures[key] = {"figure": figure, "seconds": seconds}
            with self._file.open("a") as file:
                file.write(f"{json.dumps({'key': key, **self._figures[key]})}\n")
            shown = f"{case.name}: {side}, seed {seed}: {figure:.4f} in {seconds:.1f} s"
            print(shown, file=sys.stderr, flush=True)
        return self._figures[key]


def _asked(case: Case, folders: DataFolders) -> str:
    return str(folders.root / case.data) if case.is_real else case.data


def _key(case: Case, side: str, seed: int, data: PreparedData) -> str:
    """Return a line's name: another config, or other data, is another one."""
    settings = f"{values_of(case.config)} {case.epochs} {data.fingerprint}"
    digest = hashlib.sha256(settings.encode()).hexdigest()[:12]
    return f"{case.trainable.name} {case.data} {digest} {side} {seed}"


def _figure(case: Case, side: str, seed: int, data: PreparedData, folders: DataFolders) -> float:
    if side == OURS:
        return _ours(case, seed, data)
    module, _, function = case.peer.rpartition(".")
    train = getattr(importlib.import_module(f"benchmarks.peers.{module}"), function)
    folder = case.source(folders.root) or data.path
    figure: float = train(case.config, folder, epochs=case.epochs, seed=seed)
    return figure


class _LastReport:
    """Channel that keeps the last report."""

    def __init__(self) -> None:
        self.metrics: Mapping[str, float] = {}

    def report(self, report: Report) -> bool:
        self.metrics = report.metrics
        return False


def _ours(case: Case, seed: int, data: PreparedData) -> float:
    reports = _LastReport()
    where = Context(
        seed=seed,
        budget=Budget(epochs=case.epochs),
        num_cores=torch.get_num_threads(),
        evaluate_test=True,
        data=data,
    )
    case.trainable.train(case.config, Run(where, reports))
    return float(reports.metrics[case.figure])
