"""Warm start: the results of earlier runs, which a search receives first.

They are no rows of the new run: its tables and claims contain only its own trials. The results
are kept in the run directory, so that a resumed search receives the same ones.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from orchestrator.errors import RunDirectoryError, raise_all
from orchestrator.field_types import require_types
from orchestrator.kernel.problem import EarlierConfig, SearchProblem
from orchestrator.storage.files import RunFile
from orchestrator.storage.replacing import replace_file
from orchestrator.storage.sweep_record import SweepRecord
from orchestrator.trial import TrialResult


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
        kept = json.loads(path.read_bytes())
        if kept["runs"] != [*record.warm_start]:
            raise ValueError(f"it is of a search that was told of {kept['runs']!r:.200}")
        configs = tuple(map(_from_json, kept["configs"]))
        for each in configs:
            require_types(each)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        text = f"{path}: what the search was told of first cannot be read: {error}"
        raise RunDirectoryError(text, "restore the file, or start a new run") from None
    return WarmStart(runs=record.warm_start, configs=configs)


def _to_json(each: EarlierConfig) -> dict[str, Any]:
    results = [{"state": r.state, "metrics": dict(r.metrics)} for r in each.results]
    return {"config": dict(each.config), "results": results}


def _from_json(plain: Mapping[str, Any]) -> EarlierConfig:
    config = {k: tuple(v) if isinstance(v, list) else v for k, v in plain["config"].items()}
    return EarlierConfig(config=config, results=[*map(TrialResult.from_json, plain["results"])])
