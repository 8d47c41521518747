"""Health checks: what the figures of a run rest on, each with its figure, the gravest first."""

from __future__ import annotations

from collections.abc import Iterator

from orchestrator.analysis.answer.machine_checks import (
    Check,
    Health,
    drift_check,
    interference_check,
    noise_check,
    other_load,
)
from orchestrator.analysis.columns import Config
from orchestrator.analysis.comparable import GROUP, group_notes
from orchestrator.analysis.recommendation.boundary import at_boundary
from orchestrator.analysis.recommendation.caveats import baseline_short_of_the_rule, unconfirmed
from orchestrator.analysis.recommendation.one_class import one_class
from orchestrator.analysis.recommendation.recommend import Recommendation
from orchestrator.analysis.rule_words import learned_word
from orchestrator.analysis.tables.run_tables import RunTables
from orchestrator.analysis.wording import counted
from orchestrator.trial import Stage, TrialState


def checks_of(tables: RunTables, recommendation: Recommendation) -> tuple[Check, ...]:
    """Return the checks of a run: warnings first, then what is not known, then what is in order.

    Among the same kind the gravest comes first.
    """
    order = [Health.WARNING, Health.UNKNOWN, Health.PASS]
    config = recommendation.config
    checks = [
        *_replay(tables),
        _data(tables),
        *(_one_class(tables, config) if config is not None else ()),
        other_load(tables),
        *_composed(tables, recommendation),
        drift_check(recommendation),
        *interference_check(tables, recommendation),
        noise_check(recommendation),
        *(_edges(tables, config) if config is not None else ()),
        *_rule(tables, recommendation),
        *_others(tables),
        _lost(tables),
    ]
    return tuple(sorted(checks, key=lambda check: order.index(check.health)))


def _replay(tables: RunTables) -> Iterator[Check]:
    if tables.sweep.replayed:
        text = f"recorded runs of {tables.sweep.replayed}: nothing was measured"
        yield Check(name="replay", health=Health.WARNING, text=text)


def _data(tables: RunTables) -> Check:
    if tables.sweep.data_note:
        text = f"{tables.sweep.data}, a stand-in for the set that was asked for"
        return Check(name="data", health=Health.WARNING, text=text)
    return Check(name="data", health=Health.PASS, text=tables.sweep.data or "made by the trainable")


def _one_class(tables: RunTables, config: Config) -> Iterator[Check]:
    for text in one_class(tables, config):
        yield Check(name="one class", health=Health.WARNING, text=text)


def _composed(tables: RunTables, recommendation: Recommendation) -> Iterator[Check]:
    if not tables.is_composed or recommendation.config is None:
        return
    if not recommendation.composed:
        text = "the settings were trained end to end"
        yield Check(name="composed", health=Health.PASS, text=text)
        return
    runs = recommendation.num_runs
    of = "confirm run" if recommendation.measured_in is Stage.CONFIRM else "probe"
    text = (
        f"speed of {counted(runs['speed'], of)}, {learned_word(tables.rule)} of "
        f"{counted(runs['accuracy'], 'curve')} of other settings"
    )
    yield Check(name="composed", health=Health.WARNING, text=text)


def _edges(tables: RunTables, config: Config) -> Iterator[Check]:
    edges = at_boundary(tables, config)
    for text in edges:
        yield Check(name="edge of range", health=Health.WARNING, text=text)
    if not edges:
        text = "no recommended value lies at the edge of what was tried"
        yield Check(name="edge of range", health=Health.PASS, text=text)


def _rule(tables: RunTables, recommendation: Recommendation) -> Iterator[Check]:
    """Yield what falls short of the rule: the baseline, or the settings' own confirm runs."""
    choice, rule = recommendation.choice, recommendation.rule
    if choice is None:
        return
    comparable = tables.ranked[tables.ranked[GROUP] == choice.row.get(GROUP)]
    confirmed = {}
    if recommendation.measured_in is Stage.CONFIRM:
        confirmed = {f"metrics.{name}": value for name, value in recommendation.figures.items()}
    for text in (
        *unconfirmed(confirmed, comparable, rule),
        *baseline_short_of_the_rule(comparable, rule, tables.sweep.baseline),
    ):
        yield Check(name="rule", health=Health.WARNING, text=text)


def _others(tables: RunTables) -> Iterator[Check]:
    """Yield runs under other conditions, and what a budget has left no room for."""
    for text in group_notes(tables.grouped, tables.main_group, tables.sweep):
        yield Check(name="conditions", health=Health.WARNING, text=text)
    for text in tables.sweep.cuts:
        yield Check(name="budget", health=Health.WARNING, text=text)


def _lost(tables: RunTables) -> Check:
    states, total = tables.trials["state"], counted(len(tables.trials), "trial")
    failed, infeasible, not_run = (
        int((states == state).sum())
        for state in (TrialState.FAILED, TrialState.INFEASIBLE, TrialState.NOT_RUN)
    )
    counts = {"failed": failed, "cannot run here": infeasible, "were not run": not_run}
    words = [f"{count} {what}" for what, count in counts.items() if count]
    text = f"{', '.join(words)} of {total}" if words else f"{total}, each with a result"
    if not len(tables.trials):
        text = "no trial ran"
    is_sound = len(tables.trials) and not failed and not not_run
    return Check(name="trials", health=Health.PASS if is_sound else Health.WARNING, text=text)
