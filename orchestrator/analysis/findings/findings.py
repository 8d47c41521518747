"""The findings of a run: what it answers, why, and how sure that is, as data and in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from orchestrator.analysis.columns import Config, rows_of, same_config
from orchestrator.analysis.comparable import GROUP
from orchestrator.analysis.composition.compose import COMPOSED
from orchestrator.analysis.findings.answer_figures import (
    Difference,
    accuracy_difference,
    baseline_figures,
    cost_of_run,
    named_figures,
    row_of_figures,
)
from orchestrator.analysis.findings.caveats import caveats_of_choice, caveats_of_run
from orchestrator.analysis.findings.codes import Caveat, Finding, Health, Reason, Status
from orchestrator.analysis.findings.reasons import why_chosen, why_none, why_not_known
from orchestrator.analysis.findings.words import (
    Change,
    accuracy_clause,
    answer_of,
    changes_of,
    how_sure,
)
from orchestrator.analysis.recommendation.choice import Choice, choose
from orchestrator.analysis.recommendation.selection import select
from orchestrator.analysis.recommendation.speedup import Speedup
from orchestrator.analysis.rule import Rule
from orchestrator.analysis.statistics.drift import Drift
from orchestrator.analysis.statistics.interference import Interference
from orchestrator.analysis.statistics.noise_floor import NoiseFloor
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.space.configs import format_value
from orchestrator.storage.sweep_record import SweepRecord
from orchestrator.trial import Stage

_MEASURED_WITH: Final = ("epochs", "steps", "seed", "cores_per_trial", "isolation")
"""Options of a run that change what a trial measures."""


@dataclass(frozen=True, kw_only=True)
class Findings:
    """What a run shows.

    Attributes:
        sweep: The sweep that was run.
        rule: The rule by which a config is recommended.
        status: What was shown.
        sentence: The answer.
        why: Why this config; where there is none, why.
        choice: The way to ``config``; None where there is none.
        difference: Recommended less baseline in the accuracy's own unit; None where it is not
            known, and where the baseline itself is recommended.
        unknown: Why the speed-up does not lead, the gravest reason first; of the config that the
            baseline took the place of, where it did.
        how_sure: The speed-up with what it rests on and whether it exceeds the noise, or why it is
            not known.
        changes: The knobs that differ from the baseline's, those that change the speed first.
        figures: Figures of the config by metric, from its confirm runs where it has any, otherwise
            from the runs that selected it; NaN where one is not known.
        baseline_figures: The same figures of the baseline, from the same stage.
        measured_in: The stage that ``figures`` are from.
        composed: True where some of ``figures`` are composed: of probes of its setting, and of
            curves that were trained with another one.
        num_runs: Runs that its ``speed`` and its ``accuracy`` are of: contaminated runs count for
            an accuracy, too.
        interval: What the interval of the speed in ``figures`` is over.
        verdict: How the config compares with the best, by all that is known of the noise.
        caveats: What the figures rest on, and what weakens them, in the order of the codes.
        cost: What the search took and what its answer saves, each where it is known; see
            :func:`~orchestrator.analysis.findings.answer_figures.cost_of_run`.
        command: Arguments of ``python -m orchestrator SWEEP.py`` that fix the config and the data.
        noise: What the baseline's own runs differ by, or None where it was not repeated.
        drift: Whether the machine became slower or faster, or None where that is not known.
        interference: What co-located trials lose, or None where none ran both ways.
    """

    sweep: SweepRecord
    rule: Rule
    status: Status
    sentence: str
    why: str
    choice: Choice | None = None
    difference: Difference | None = None
    unknown: tuple[Finding, ...] = ()
    how_sure: str
    changes: tuple[Change, ...] = ()
    figures: Mapping[str, float]
    baseline_figures: Mapping[str, float]
    measured_in: Stage | None = None
    composed: bool = False
    num_runs: Mapping[str, int] = field(default_factory=dict)
    interval: str = ""
    verdict: str = ""
    caveats: tuple[Finding, ...]
    cost: Mapping[str, float]
    command: tuple[str, ...] = ()
    noise: NoiseFloor | None
    drift: Drift | None
    interference: Interference | None

    @property
    def config(self) -> Config | None:
        """A value for every knob; None where nothing can be recommended."""
        return None if self.choice is None else self.choice.config

    @property
    def speedup(self) -> Speedup | None:
        """The speed-up of the config over the baseline; None where there is no config."""
        return None if self.choice is None else self.choice.speedup

    @property
    def known_speedup(self) -> Speedup | None:
        """The speed-up where it leads: confirm runs show it, and it is not 1."""
        return self.speedup if self.speedup is not None and self.speedup.leads else None

    @property
    def why_not_known(self) -> str:
        """Why the speed-up does not lead; "" where it does, or the baseline is recommended."""
        return "" if self.is_baseline else "; ".join(one.text for one in self.unknown)

    @property
    def is_baseline(self) -> bool:
        """True where the baseline itself is recommended."""
        return self.config is not None and same_config(self.config, self.sweep.baseline)

    @property
    def notes(self) -> tuple[str, ...]:
        """What weakens the recommendation, a clause each; nothing without a config."""
        return tuple(one.note for one in self.caveats if one.note and self.config is not None)

    @property
    def checks(self) -> tuple[Finding, ...]:
        """The checks of what the figures rest on, the gravest first."""
        order = list(Health)
        known = (one for one in self.caveats if one.text)
        return tuple(sorted(known, key=lambda one: order.index(one.health)))

    @property
    def busy(self) -> str:
        """A sentence on a machine where other load disturbed a quarter of the runs, or ""."""
        load = self.caveat(Caveat.OTHER_LOAD)
        if load is None or not load["watched"] or load["disturbed"] < load["watched"] / 4:
            return ""
        return f"Other load: {load.text}: run the sweep again when the machine is idle"

    def caveat(self, code: Caveat) -> Finding | None:
        """Return the first caveat of a code; None without one."""
        return next((one for one in self.caveats if one.code is code), None)


def findings(tables: RunTables) -> Findings:
    """Return what a run shows, by its sweep's rule.

    Raises:
        SweepError: The sweep's objectives state no rule.
    """
    selection = select(tables)
    choice = choose(tables, selection)
    if choice is not None:
        return _of_choice(choice, tables)
    why = why_none(selection, tables)
    return Findings(
        status=Status.NOTHING,
        sentence=f"no settings can be recommended: {why}",
        why=why,
        how_sure="nothing is recommended",
        figures=named_figures({}, tables.rule),
        baseline_figures=baseline_figures(tables, Stage.TRAIN, tables.main_group),
        caveats=_in_order(caveats_of_run(tables, None)),
        cost=cost_of_run(tables, None, None),
        **_of_run(tables),
    )


def _of_run(tables: RunTables) -> dict[str, Any]:
    return {
        "sweep": tables.sweep,
        "rule": tables.rule,
        "noise": tables.noise_floor,
        "drift": tables.drift,
        "interference": tables.interference,
    }


def _in_order(caveats: Iterable[Finding]) -> tuple[Finding, ...]:
    order: list[Reason | Caveat] = list(Caveat)
    return tuple(sorted(caveats, key=lambda one: order.index(one.code)))


def _of_choice(choice: Choice, tables: RunTables) -> Findings:
    config, speedup, rule = choice.config, choice.speedup, tables.rule
    row, stage = row_of_figures(choice, tables)
    is_baseline = same_config(config, tables.sweep.baseline)
    unknown = why_not_known(choice.against or speedup, tables)
    difference = None if is_baseline else accuracy_difference(tables, config)
    figures = named_figures(row, rule)
    clause = accuracy_clause(rule, figures, difference)
    status, sentence = answer_of(choice, tables, clause, unknown)
    caveats = [*caveats_of_run(tables, choice), *caveats_of_choice(choice, tables, row, stage)]
    ranked = tables.ranked
    verdicts = ranked.loc[rows_of(ranked, config) & (ranked["verdict"] != ""), "verdict"]
    return Findings(
        status=status,
        sentence=sentence,
        why=why_chosen(choice, tables),
        choice=choice,
        difference=difference,
        unknown=unknown,
        how_sure=how_sure(speedup, unknown, tables),
        changes=changes_of(config, tables),
        figures=figures,
        baseline_figures=baseline_figures(tables, stage, str(row[GROUP])),
        measured_in=stage,
        composed=bool(row.get(COMPOSED, False)),
        num_runs={"speed": int(row["num_runs"]), "accuracy": int(row["num_all_runs"])},
        interval=str(row.get("interval", "")),
        verdict=str(verdicts.iloc[0]) if len(verdicts) else "",
        caveats=_in_order(caveats),
        cost=cost_of_run(tables, config, speedup),
        command=command_of(config, tables.sweep),
        **_of_run(tables),
    )


def command_of(config: Mapping[str, Any], sweep: SweepRecord) -> tuple[str, ...]:
    """Return the arguments that train a config, and no other one, as the run has trained it.

    A knob is left out only where it is at its default, and the sweep file has it so in the space
    and in the baseline. Options of the run that change what is measured, and settings of its
    rigor, are given again.
    """
    given = sweep.options.get("set") or ()
    were_set = {setting.partition("=")[0] for setting in given}
    words: list[str] = []
    for name, knob in sweep.knobs.items():
        if name not in config:
            continue
        in_file = {format_value(of.get(name, knob.default)) for of in (sweep.fixed, sweep.baseline)}
        is_default = {format_value(config[name]), *in_file} == {format_value(knob.default)}
        if name in sweep.space or name in were_set or not is_default:
            words += ["--set", f"{name}={format_value(config[name])}"]
    for setting in given:
        if setting.startswith("rigor"):
            words += ["--set", setting]
    for name in _MEASURED_WITH:
        if (value := sweep.options.get(name)) is not None:
            words += [f"--{name.replace('_', '-')}", str(value)]
    return (*words, *sweep.data_arguments)
