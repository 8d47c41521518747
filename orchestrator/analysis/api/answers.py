"""The recommendation of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from orchestrator.analysis.columns import Config, TableError
from orchestrator.analysis.findings.findings import Findings
from orchestrator.analysis.findings.findings import findings as findings_of
from orchestrator.analysis.recommendation.speedup import Speedup
from orchestrator.analysis.tables.run_tables import RunTables


@dataclass(frozen=True, kw_only=True)
class Recommendation:
    """The config to use, why, and how sure that is.

    Attributes:
        config: A value for every knob; None where nothing can be recommended.
        sentence: The answer of the run.
        why: Why this config; where there is none, the reason.
        how_sure: What the speed-up rests on.
        speedup: Over the baseline, with its 95 % interval; None where there is no config.
        figures: Figures of the config by metric, from its confirm runs where it has any,
            otherwise from the runs that selected it.
        notes: What weakens it, a sentence each.
        findings: All of this as data.
    """

    config: Config | None
    sentence: str
    why: str
    how_sure: str
    speedup: Speedup | None
    figures: Mapping[str, float]
    notes: tuple[str, ...]
    findings: Findings = field(repr=False)


def recommend(run: RunTables) -> Recommendation:
    """Recommend a config by the rule of the run's sweep.

    Args:
        run: A run.

    Raises:
        TableError: It is no run: a recommendation rests on all of its trials.
        SweepError: The sweep's objectives state no rule.
    """
    if not isinstance(run, RunTables):
        raise TableError(
            f"recommend: takes a whole run, not a {type(run).__name__}",
            "an.recommend(an.load(RUN_DIR)): it rests on all trials of the run",
        )
    found = findings_of(run)
    return Recommendation(
        config=found.config,
        sentence=found.sentence,
        why=found.why.text,
        how_sure=found.how_sure,
        speedup=found.speedup,
        figures=found.figures,
        notes=found.notes,
        findings=found,
    )
