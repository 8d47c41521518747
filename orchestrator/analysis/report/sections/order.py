"""The sections on knobs, steps and curves, in the order of the page."""

from __future__ import annotations

from orchestrator.analysis.report.sections.curves import curves_of
from orchestrator.analysis.report.sections.knobs.effects import effects_of
from orchestrator.analysis.report.sections.knobs.importance import importance_of
from orchestrator.analysis.report.sections.knobs.interactions import interactions_of
from orchestrator.analysis.report.sections.knobs.ladder import ladder_of
from orchestrator.analysis.report.sections.section import Section
from orchestrator.analysis.report.sections.steps import steps_of
from orchestrator.analysis.report.sections.times import times_of
from orchestrator.analysis.report.view import View


def sections_of(view: View) -> tuple[Section, ...]:
    """Return what the run tells of its knobs, its steps and its curves; each knob comes first.

    Where no config completed one sentence stands for all of them.
    """
    if view.all_configs.empty:
        nothing = "no config completed: nothing can be said of knobs, steps and curves"
        return (Section(name="effects", title="What each knob does", missing=nothing),)
    effects = effects_of(view)
    together = () if effects.missing else (interactions_of(view), importance_of(view))
    sections = (
        effects,
        ladder_of(view),
        *together,
        curves_of(view),
        times_of(view),
        steps_of(view),
    )
    return tuple(section for section in sections if section is not None)
