"""Checks of the knobs' roles: a knob may change what its role excludes."""

import math
from collections import defaultdict
from collections.abc import Generator, Iterator, Sequence
from itertools import pairwise
from statistics import fmean, median, stdev, variance
from typing import Final

from orchestrator.kernel.problem import Key, key_of
from orchestrator.kernel.search import Proposal
from orchestrator.search.factored.findings import Curve, Findings
from orchestrator.space.knob import Role

LOSS_TOLERANCE: Final = 1e-5
"""Difference of first losses that threads and kernels make, as a fraction of the loss."""

SEEDS: Final = (3, 5)
"""Seeds after which the paired curves are compared."""

LEVEL: Final = 0.05
"""Probability to call curves equal that differ by the margin, over both comparisons."""

FALSE_ALARMS: Final = 0.002
"""Probability to take a learning knob for one that changes speed, over all knobs of a search."""

CHANCE: Final = 0.01
"""Probability to take noise for a difference of the baseline's own curve."""

ASSUMED_PAIRS: Final = 2
"""Degrees of freedom that the assumed noise of such pairs, the margin, counts as."""

Pair = tuple[Key, Key]
"""Configs of two probes that differ in one systems knob."""


def check_systems(findings: Findings) -> Iterator[list[Proposal]]:
    """Find the systems knobs that change what is learned, and make them ``both``.

    A knob under which the first batches or losses differ is tried out: curves of two of its values,
    three seeds each or five. It stays ``systems`` if they are shown to be equal within half of the
    accuracy's tolerance (two one-sided tests: Schuirmann, "A comparison of the two one-sided tests
    procedure and the power approach", Journal of Pharmacokinetics and Biopharmaceutics 15, 1987).
    """
    for knob, pair in suspects(findings).items():
        if knob in findings.checked:
            continue
        findings.checked.add(knob)
        margin = findings.goals.tolerances[0] / 2 if findings.goals.learned else 0.0
        differences = list[float]()
        for num_seeds in SEEDS if margin else ():
            differences = yield from _differences(findings, pair, num_seeds)
            # Two more seeds, but only where they would show it.
            if len(differences) < 2 or not (
                _bound(differences, SEEDS[-1]) < margin <= _bound(differences)
            ):
                break
        compared = ""
        if len(differences) > 1:
            metric = findings.goals.learned[0].metric
            compared = (
                f"; {metric} over {len(differences)} paired seeds differs by "
                f"{fmean(differences):+.4f}, surely by less than "
                f"{_bound(differences):.4f} ({margin:.4f} is allowed)"
            )
        is_equal = bool(compared) and _bound(differences) < margin
        if not is_equal:
            findings.factors = findings.factors.as_both(knob)
        findings.notes.append(
            f"{knob} is declared systems, and the {what_differs(findings, pair)} differ between "
            f"its values{compared}: it "
            + ("stays systems" if is_equal else "counts as both here, speed and learning")
        )


def suspects(findings: Findings) -> dict[str, Pair]:
    """Return the systems knobs that change the fingerprint, each with a pair that shows it.

    Probes of one group, one seed and the same learning knobs differ in the systems knobs alone. The
    pair differs in its knob alone; the fastest pairs come first.
    """
    factors, found = findings.factors, dict[str, Pair]()
    for group in factors.groups:
        fastest_first = sorted(group.settings, key=findings.speeds.mean, reverse=True)
        probes = [key for key in map(group.to_probe, fastest_first) if key in findings.fingerprints]
        for knob in factors.varied(Role.SYSTEMS):
            place = list(factors.problem.base).index(knob)
            alike: dict[object, list[Key]] = defaultdict(list)
            for key in probes:
                alike[factors.curve_of(key), key[:place], key[place + 1 :]].append(key)
            for one, other in (pair for keys in alike.values() for pair in pairwise(keys)):
                if what_differs(findings, (one, other)):
                    found.setdefault(knob, (one, other))
    return found


def what_differs(findings: Findings, pair: Pair) -> str:
    """Return what is known to differ between the probes of two configs; empty for nothing."""
    one, other = (findings.fingerprints[key] for key in pair)
    if one.batches and other.batches and one.batches != other.batches:
        return "batches"
    losses = one.first_loss, other.first_loss
    same = any(map(math.isnan, losses)) or math.isclose(*losses, rel_tol=LOSS_TOLERANCE)
    return "" if same else "first losses"


def check_baseline(findings: Findings) -> Generator[list[Proposal], None, bool]:
    """Find the systems knobs that change the baseline's result; return True if there are any.

    Curves are trained with the fastest setting. A knob that costs accuracy late changes no
    fingerprint, so the baseline's curve with that setting is compared with its own, for one seed.
    If the two differ by more than the margin, further seeds separate chance from a difference.
    The knobs that explain a difference become ``both``.
    """
    own, goals = findings.factors.candidates.keys[0], findings.goals
    group = findings.factors.groups[0]
    picked = findings.trained_with(group, group.curves[0]) or own
    if not goals.learned:
        return False
    differences = yield from _shown_difference(findings, (own, picked), goals.tolerances[0] / 2)
    if not differences:
        return False
    knobs = yield from _responsible(findings, own, picked, abs(fmean(differences)))
    for knob in knobs:
        findings.factors = findings.factors.as_both(knob)
    objective, figures = goals.learned[0], findings.mean_figures(own) or (math.nan,)
    mean = objective.sign * figures[0]
    findings.notes.append(
        f"{' and '.join(knobs)}: declared systems, and the baseline has {objective.metric} "
        f"{mean:.4f} with its own setting and "
        f"{mean - objective.sign * fmean(differences):.4f} with the fastest one, over "
        f"{len(differences)} paired seeds: counted as both here, speed and learning"
    )
    return True


def _shown_difference(
    findings: Findings, pair: Pair, margin: float
) -> Generator[list[Proposal], None, list[float]]:
    """Return the differences by seed where they exceed margin and noise; none otherwise.

    A replay may draw a run again for another seed. Such runs say nothing on noise.
    """
    from scipy.special import stdtrit

    for num in range(1, SEEDS[-1] + 1):
        differences = yield from _differences(findings, pair, num)
        is_again = any(_is_drawn_again(findings, key, num) for key in pair)
        if len(differences) < num or abs(fmean(differences)) <= margin or is_again:
            return []
        if num < SEEDS[0]:
            continue
        assumed = ASSUMED_PAIRS if margin else 0
        squares = variance(differences) * (num - 1) + assumed * margin**2
        degrees = num - 1 + assumed
        error = math.sqrt(squares / degrees / num)
        if abs(fmean(differences)) > float(stdtrit(degrees, 1 - CHANCE / 2)) * error:
            return differences
    return []


def _is_drawn_again(findings: Findings, config: Key, num: int) -> bool:
    """Return True if the last of so many seeds has the very run of another one."""
    curves = [findings.curve(config, seed) for seed in range(num)]
    *others, last = [(curve.history, curve.step_ms) for curve in curves]
    return last in others


def _responsible(
    findings: Findings, own: Key, picked: Key, size: float
) -> Generator[list[Proposal], None, list[str]]:
    """Return the systems knob that changes the baseline's curve by most of ``size``, alone.

    All that differ between the two configs where no single one does.
    """
    factors, problem = findings.factors, findings.problem
    base, other = findings.config(own), findings.config(picked)
    differing = [knob for knob in factors.varied(Role.SYSTEMS) if base[knob] != other[knob]]
    changed = {k: key_of(problem, problem.canonical({**base, k: other[k]})) for k in differing}
    known = set(factors.candidates.keys) - {own}
    curves = {knob: findings.curve(key) for knob, key in changed.items() if key in known}
    if len(differing) > 1:
        left = [curve for curve in curves.values() if not curve.is_over]
        yield [findings.training(curve, problem.budget.epochs) for curve in left]
    reference = findings.curve(own).figures
    assert reference is not None
    gaps = {k: abs(each.figures[0] - reference[0]) for k, each in curves.items() if each.figures}
    most = max(gaps, key=gaps.__getitem__, default="")
    return [most] if gaps and gaps[most] > size / 2 else differing


def _differences(
    findings: Findings, pair: Pair, num_seeds: int
) -> Generator[list[Proposal], None, list[float]]:
    """Train two configs with so many seeds; return the differences of the curves not lost."""
    if pair[0] == pair[1]:
        return []
    pairs = [[findings.curve(key, repeat) for repeat in range(num_seeds)] for key in pair]
    left = [curve for curves in pairs for curve in curves if not curve.is_over]
    trainings = [findings.training(each, findings.problem.budget.epochs) for each in left]
    yield findings.shuffled(trainings, f"pairs {num_seeds}")
    figures = [(one.figures, other.figures) for one, other in zip(*pairs, strict=True)]
    return [a[0] - b[0] for a, b in figures if a is not None and b is not None]


def _bound(differences: Sequence[float], num: int | None = None) -> float:
    """Return the largest absolute difference that the pairs leave possible.

    Args:
        differences: Of each pair.
        num: Pairs to imagine with the same mean and spread. Default: as many as there are.
    """
    from scipy.special import stdtrit

    count = num or len(differences)
    quantile = float(stdtrit(count - 1, 1 - LEVEL / len(SEEDS)))
    return abs(fmean(differences)) + quantile * stdev(differences) / math.sqrt(count)


def check_learning(findings: Findings, curves: Sequence[Curve]) -> None:
    """Note the learning knobs that change the time of a step, by an analysis of variance.

    For each knob the logarithms of the step times are compared between its values, within blocks of
    curves that differ in the knob alone. A curve has the median of its parts, which one slow part
    does not affect.

    Args:
        findings: What is known.
        curves: Curves, as far as they were trained.
    """
    knobs = findings.factors.varied(Role.LEARNING)
    for knob in knobs:
        place = list(findings.problem.base).index(knob)
        blocks: dict[Key, list[tuple[object, float]]] = defaultdict(list)
        for curve in curves:
            if curve.step_ms:
                others = curve.config[:place] + curve.config[place + 1 :]
                blocks[others].append((curve.config[place], math.log(median(curve.step_ms))))
        found = _largest_effect(list(blocks.values()), FALSE_ALARMS / len(knobs))
        if found is not None and abs(found[1]) > math.log1p(findings.goals.tie_margin):
            value, size = found
            findings.notes.append(
                f"{knob} is declared learning, and its steps take {math.expm1(size):+.0%} at "
                f"{knob}={value!r}: composed speeds of its other values are that far off"
            )


def _largest_effect(
    blocks: Sequence[Sequence[tuple[object, float]]], level: float
) -> tuple[object, float] | None:
    """Return the value with the mean farthest from the others', if an F test shows any effect.

    Args:
        blocks: ``(value, log of a time)`` of runs that differ in the value alone.
        level: Probability of an effect that there is not.
    """
    from scipy.special import fdtri

    full = [block for block in blocks if len(block) > 1]
    residuals: dict[object, list[float]] = defaultdict(list)
    for block in full:
        centre = fmean(log for _, log in block)
        for value, log in block:
            residuals[value].append(log - centre)
    count = sum(map(len, residuals.values()))
    degrees, left = len(residuals) - 1, count - len(full) - len(residuals) + 1
    squares = sum((x - fmean(logs)) ** 2 for logs in residuals.values() for x in logs)
    if degrees < 1 or left < 1:
        return None
    means = {value: fmean(logs) for value, logs in residuals.items()}
    explained = sum(len(residuals[value]) * mean**2 for value, mean in means.items())
    if explained / degrees <= float(fdtri(degrees, left, 1 - level)) * squares / left:
        return None
    value = max(means, key=lambda v: abs(means[v]))
    others = [x for v, logs in residuals.items() if v != value for x in logs]
    return value, means[value] - fmean(others)
