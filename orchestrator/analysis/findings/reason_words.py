"""Reasons in words: why nothing is recommended, why a speed-up or a front is not known."""

from __future__ import annotations

from orchestrator.analysis.findings.codes import Finding, Reason
from orchestrator.analysis.rule import Rule
from orchestrator.analysis.rule_words import condition_text
from orchestrator.analysis.wording import MOST_FACTOR, counted, shown
from orchestrator.metric_table import OF_THE_TARGET
from orchestrator.metrics import batches_hint


def reason(found: Finding, rule: Rule) -> str:
    """Return a reason as a clause."""
    match found.code:
        case Reason.REFUSED:
            return str(found["text"])
        case Reason.NO_CONFIG_HOLDS:
            texts = [
                f"{condition_text(objective)} (the best: {shown(objective.metric, best)})"
                for objective, best in found["best"].items()
            ]
            return f"none of {counted(found['num'], 'config')} holds: {' and '.join(texts)}"
        case Reason.TARGET_NOT_REACHED:
            target, best = found["target"], found["best"]
            beside = "" if best is None else f" (the best: {shown(target.metric, best)})"
            return f"no completed trial reached the target: {condition_text(target)}{beside}"
        case Reason.NOT_REPORTED:
            metrics = found["metrics"]
            hint = "" if found.figures.get("is_front") else batches_hint(metrics)
            return f"no completed trial has reported {' and '.join(metrics)}{hint}"
        case Reason.NOT_TOGETHER:
            both = "both " if len(found["metrics"]) == 2 else ""
            return f"no completed trial has {both}{' and '.join(found['metrics'])}"
        case Reason.NOT_COMPLETED:
            most = "" if found["most"] is None else f"; most often: {found['most']}"
            return f"no trial completed ({_counts(found)}{most})"
    return _not_known(found, rule)


def _not_known(found: Finding, rule: Rule) -> str:
    metric = rule.speed.metric
    match found.code:
        case Reason.NOT_POSITIVE:
            return f"a ratio takes figures above 0, and {metric} of it or of the baseline is not"
        case Reason.ONE_SIDED:
            return _one_sided(found, metric)
        case Reason.BASELINE_WITHOUT:
            if rule.target is not None and metric in OF_THE_TARGET:
                return f"the baseline did not reach the target: {condition_text(rule.target)}"
            return f"the baseline has no {'speed of its own' if rule.is_of_speed else metric}"
        case Reason.BASELINE_LOST:
            because = f": {found['reason']}" if found["reason"] else ""
            return f"the baseline is {found['state']}{because}"
        case Reason.NO_PAIR:
            return f"no two confirm runs of a round are of it and the baseline ({_counts(found)})"
        case Reason.OTHER_LOAD:
            number = f"{found['num']} of " if found["num"] < found["of"] else "its "
            pairs = counted(found["of"], "pair")
            return f"other load disturbed {number}{pairs} of confirm runs"
        case Reason.WIDE:
            return (
                f"its {counted(found['num'], 'pair')} of confirm runs allow for ratios that differ "
                f"by more than a factor of {MOST_FACTOR:g}"
            )
        case Reason.NOT_TOLD_APART:
            like = f"times as {'fast' if rule.is_of_speed else 'good'}"
            return (
                f"{counted(found['num'], 'pair')} of confirm runs do not tell it from the baseline "
                f"({found['low']:.2f} to {found['high']:.2f} {like})"
            )
    return _PLAIN[Reason(found.code)]


_PLAIN = {
    Reason.NOT_TRAINED: "no trial was trained",
    Reason.BASELINE_NOT_RUN: "the baseline was not run",
    Reason.NO_CONFIRM_STAGE: "the sweep has no confirm stage",
    Reason.NO_CONFIRM_RUN: "no confirm run was made",
    Reason.ONE_PAIR: "one pair of confirm runs is too few for an interval",
    Reason.NO_CONFIG_WITHIN: "no config that completed holds the bounds",
    Reason.NO_CONFIG_MEASURED: "no config completed with every objective measured",
}


def _one_sided(found: Finding, metric: str) -> str:
    have = "reached the target" if metric in OF_THE_TARGET else f"have {metric}"
    ours, theirs, of = (found[name] for name in ("ours", "theirs", "of"))
    total = counted(of, "round")
    if ours == of:
        return f"the baseline's confirm runs {have} in {theirs} of {total}"
    beside = "" if theirs == of else f", the baseline's in {theirs}"
    return f"its confirm runs {have} in {ours} of {total}{beside}"


def _counts(found: Finding) -> str:
    return ", ".join(f"{num} {state}" for state, num in found["states"].items())
