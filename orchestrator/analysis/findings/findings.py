"""The findings of a run: what it answers, why, and how sure that is, as data and in words."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from orchestrator.analysis.columns import Config, plain, rows_of
from orchestrator.analysis.comparable import GROUP
from orchestrator.analysis.composition.compose import COMPOSED
from orchestrator.analysis.findings import answer_figures, caveats, words
from orchestrator.analysis.findings.reasons import why_chosen, why_none
from orchestrator.analysis.recommendation.choice import Choice, choose
from orchestrator.analysis.recommendation.selection import select
from orchestrator.analysis.recommendation.speedup import Speedup, why_not_known
from orchestrator.analysis.statistics.pooling import load_text
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.analysis.wording import rule_text
from orchestrator.formats import counted
from orchestrator.metrics import is_learned
from orchestrator.space.configs import format_value, same_config
from orchestrator.storage.sweep_record import SweepRecord
from orchestrator.trial import Stage, TrialState

SCHEMA_VERSION: Final = 2
"""1 had no number, its figures beside everything else, and neither an answer nor a cost."""

_MEASURED_WITH: Final = ("epochs", "steps", "seed", "cores_per_trial", "isolation")
"""Options of a run that change what a trial measures."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Findings:
    """The findings of a run.

    Attributes:
        tables: The run.
        choice: The way to ``config``; None where there is none.
        status: What was shown.
        sentence: The answer.
        why: Why this config; where there is none, why.
        why_not_known: Why the speed-up does not lead; "" where it does, or the baseline is
            recommended.
        how_sure: The speed-up with its evidence, or why it is not known.
        changes: The knobs that differ from the baseline's, those that change the speed first.
        difference: Recommended less baseline in the accuracy's own unit; None where it is not
            known, and where the baseline itself is recommended.
        row: The row of the config's confirm runs where it has any, otherwise of the runs that
            selected it; {} without a config.
        measured_in: The stage of ``row``.
        figures: Figures of ``row`` by metric; NaN where one is not known.
        baseline_figures: The same figures of the baseline, from the same stage.
        cost: Time of the search and savings by its answer, each if it is known; see
            :func:`~orchestrator.analysis.findings.answer_figures.cost_of_run`.
        checks: The checks of the figures, the gravest first.
    """

    tables: RunTables
    choice: Choice | None = None
    status: words.Status
    sentence: str
    why: str
    why_not_known: str = ""
    how_sure: str
    changes: tuple[words.Change, ...] = ()
    difference: answer_figures.Difference | None = None
    row: Mapping[Any, Any] = field(default_factory=dict)
    measured_in: Stage | None = None
    figures: Mapping[str, float]
    baseline_figures: Mapping[str, float]
    cost: Mapping[str, float]
    checks: tuple[caveats.Finding, ...]

    def __repr__(self) -> str:
        return f"<Findings: {self.sentence} ({self.status})>"

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
    def shown_by(self) -> str:
        """The runs that show the answer: ``3 pairs of confirm runs``; "" where none do."""
        speedup = self.speedup if self.status.is_shown else None
        return speedup.pairs_text if speedup is not None and speedup.num_pairs else ""

    @property
    def is_baseline(self) -> bool:
        """True where the baseline itself is recommended."""
        return self.config is not None and same_config(self.config, self.tables.sweep.baseline)

    @property
    def composed(self) -> bool:
        """True where some of ``figures`` are of probes, and of curves with other settings."""
        return bool(self.row.get(COMPOSED, False))

    @property
    def num_runs(self) -> dict[str, int]:
        """Runs of its ``speed`` and of its ``accuracy``, for which contaminated ones count."""
        names = {"speed": "num_runs", "accuracy": "num_all_runs"}
        return {name: int(self.row[column]) for name, column in names.items() if self.row}

    def runs_of(self, metric: str) -> str:
        """Return the runs of a figure: ``2 runs``; "" if speed and accuracy are of the same."""
        runs, learned = self.num_runs, is_learned(metric)
        number = runs["accuracy" if learned else "speed"]
        if self.composed and (learned or self.measured_in is Stage.TRAIN):
            return f"composed, {counted(number, 'curve' if learned else 'probe')}"
        return "" if len(set(runs.values())) < 2 else counted(number, "run")

    @property
    def command(self) -> tuple[str, ...]:
        """Arguments of ``python -m orchestrator SWEEP.py`` that fix the config and the data."""
        return () if self.config is None else command_of(self.config, self.tables.sweep)

    @property
    def warnings(self) -> tuple[caveats.Finding, ...]:
        """The checks that weaken the answer, without those that have their own lines."""
        grave = (one for one in self.checks if one.health is caveats.Health.WARNING)
        return tuple(one for one in grave if one.code not in caveats.OWN_LINES)

    @property
    def notes(self) -> tuple[str, ...]:
        """The warnings on the recommendation, a clause each; none without a config."""
        return tuple(one.text for one in self.warnings if self.config is not None)

    @property
    def busy(self) -> str:
        """A sentence on a machine where other load disturbed a quarter of the runs, or ""."""
        disturbed, watched, text = load_text(self.tables.trials)
        if not watched or disturbed < watched / 4:
            return ""
        return f"Other load: {text}: run the sweep again when the machine is idle"


def findings(tables: RunTables) -> Findings:
    """Return the findings of a run, by its sweep's rule."""
    selection, rule = select(tables), tables.rule
    choice = choose(tables, selection)
    if choice is None:
        why = why_none(selection, tables)
        baseline = answer_figures.row_of(
            tables, tables.sweep.baseline, Stage.TRAIN, tables.main_group
        )
        return Findings(
            tables=tables,
            status=words.Status.NOTHING,
            sentence=f"no settings can be recommended: {why}",
            why=why,
            how_sure="nothing is recommended",
            figures=answer_figures.named_figures({}, rule),
            baseline_figures=answer_figures.named_figures(baseline, rule),
            cost=answer_figures.cost_of_run(tables, {}, {}, None),
            checks=_gravest_first(caveats.caveats_of_run(tables)),
        )
    config, speedup = choice.config, choice.speedup
    stage, group = tables.measured_in(choice.config, str(choice.row[GROUP]))
    is_complete = stage.is_final or choice.selection.state is TrialState.COMPLETED
    row = answer_figures.row_of(tables, config, stage, group) if is_complete else choice.row
    baseline = answer_figures.row_of(tables, tables.sweep.baseline, stage, group)
    is_baseline = same_config(config, tables.sweep.baseline)
    unknown = why_not_known(choice.against or speedup, tables)
    difference = None if is_baseline else answer_figures.accuracy_difference(tables, config)
    figures = answer_figures.named_figures(row, rule)
    clause = words.accuracy_clause(rule, figures, difference)
    status, sentence = words.answer_of(choice, tables, clause, unknown)
    checks = [
        *caveats.caveats_of_run(tables),
        *caveats.caveats_of_choice(choice, tables, row, stage),
    ]
    theirs = answer_figures.named_figures(baseline, rule)
    sentence += words.others_clause(rule, figures, None if is_baseline else theirs)
    sentence = "; ".join([sentence, *(one.short for one in checks if one.short)])
    return Findings(
        tables=tables,
        choice=choice,
        status=status,
        sentence=sentence,
        why=why_chosen(choice, tables),
        why_not_known="" if is_baseline else "; ".join(unknown),
        how_sure=words.how_sure(speedup, unknown, rule),
        changes=words.changes_of(config, tables),
        difference=difference,
        row=row,
        measured_in=stage,
        figures=figures,
        baseline_figures=theirs,
        cost=answer_figures.cost_of_run(tables, row, baseline, speedup),
        checks=_gravest_first(checks),
    )


def _gravest_first(checks: Iterable[caveats.Finding]) -> tuple[caveats.Finding, ...]:
    weights, codes = list(caveats.Health), list(caveats.Caveat)
    return tuple(sorted(checks, key=lambda f: (weights.index(f.health), codes.index(f.code))))


def command_of(config: Mapping[str, Any], sweep: SweepRecord) -> tuple[str, ...]:
    """Return the arguments that train a config, and no other one, as the run has trained it.

    A knob is left out only where it is at its default, and the sweep file has it so in the space
    and in the baseline. Options of the run that change what is measured, and settings of its
    rigor, are given again.
    """
    given = sweep.options.get("set") or ()
    were_set = {setting.partition("=")[0] for setting in given}
    arguments: list[str] = []
    for name, knob in sweep.knobs.items():
        if name not in config:
            continue
        in_file = {format_value(of.get(name, knob.default)) for of in (sweep.fixed, sweep.baseline)}
        is_default = {format_value(config[name]), *in_file} == {format_value(knob.default)}
        if name in sweep.space or name in were_set or not is_default:
            arguments += ["--set", f"{name}={format_value(config[name])}"]
    for setting in given:
        if setting.startswith("rigor"):
            arguments += ["--set", setting]
    for name in _MEASURED_WITH:
        if (value := sweep.options.get(name)) is not None:
            arguments += [f"--{name.replace('_', '-')}", str(value)]
    return (*arguments, *sweep.data_arguments)


def recommended_json(found: Findings) -> dict[str, Any]:
    """Return the content of ``recommended.json``; what is not known is null.

    ``speedup`` has figures only where they lead.
    """
    tables, choice, difference = found.tables, found.choice, found.difference
    config, baseline, rule = found.config or {}, dict(tables.sweep.baseline), tables.rule
    ranked = tables.ranked
    is_own = rows_of(ranked, config) & (ranked["verdict"] != "") & (choice is not None)
    ends = difference and {name: getattr(difference, name) for name in ("centre", "low", "high")}
    return {
        "schema_version": SCHEMA_VERSION,
        "status": found.status,
        "sentence": found.sentence,
        "config": found.config,
        "changed": {
            change.knob: {"value": config[change.knob], "baseline": baseline[change.knob]}
            for change in found.changes
        },
        "command": list(found.command),
        "speedup": _speedup(found),
        "accuracy_difference": ends and {"metric": rule.accuracy.metric, **ends},
        "figures": plain(found.figures),
        "baseline": {"config": baseline, "figures": plain(found.baseline_figures)},
        "cost": found.cost,
        "checks": [
            {"name": one.code, "health": one.health, "text": one.text} for one in found.checks
        ],
        "interval": str(found.row.get("interval", "")),
        "measured_in": found.measured_in,
        "composed": found.composed,
        "num_runs": found.num_runs,
        "verdict": next(iter(ranked.loc[is_own, "verdict"].map(str)), ""),
        **{name: effect and effect.to_json() for name, effect in tables.noise.items()},
        "why": found.why,
        "how_sure": found.how_sure,
        "notes": list(found.notes),
        "rule": rule_text(rule),
        "data": tables.sweep.data,
        "as_fast": list(choice.tied if choice else ()),
        "unresolved": list(choice.unresolved if choice else ()),
        "run": tables.key,
    }


def _speedup(found: Findings) -> dict[str, Any] | None:
    speedup, known = found.speedup, found.known_speedup
    if speedup is None:
        return None
    return {
        "ratio": known and known.ratio,
        "low": known and known.low,
        "high": known and known.high,
        "basis": speedup.basis,
        "num_pairs": speedup.num_pairs,
        "why_not_known": found.why_not_known,
        "text": found.how_sure,
    }
