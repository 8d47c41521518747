"""The command ``judge``: pairs of interleaved runs until there is a verdict."""

import argparse
import json
import math
import random
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from orchestrator.arguments import Parser, a_path, command, some_text, whole_number
from orchestrator.errors import SweepError
from orchestrator.judge.sequential import (
    EXIT_NOT_BETTER,
    LEAST,
    MOST,
    Verdict,
    expected_pairs,
    judged,
)
from orchestrator.judge.sides import Side, sides_of
from orchestrator.metrics import Goal, is_accuracy, usual_goal
from orchestrator.sweep.loading import load_sweep
from orchestrator.trial import LOAD

_WALL: Final = "wall_s"
_MOST_DISTURBED: Final = 3
"""Pairs in a row that other load may disturb before they count as they are."""


def main(arguments: Sequence[str]) -> int:
    """Run pairs until there is a verdict, and print it.

    Returns:
        0 where the new one is faster and not less accurate, 3 where it is not.

    Raises:
        SweepError: A side cannot be run, or its run did not complete.
    """
    options = _parser().parse_args(arguments)
    within = options.within / 100
    speed, accuracy = _figures(options)
    sys.stderr.write(
        f"{speed}: about {max(LEAST, expected_pairs(within))} pairs for a change of "
        f"{options.within:g} % if pairs differ by 2 %, at most {options.pairs}\n"
    )
    with TemporaryDirectory(prefix="judge-") as folder:
        printed = [name for name in (options.speed, options.accuracy) if name not in (None, _WALL)]
        with sides_of(options.old, options.new, options.sweep, printed, Path(folder)) as sides:
            pairs, verdict = _pairs(sides, speed, within, options.pairs, Path(folder))
    of_accuracy = _of_accuracy(pairs, accuracy, options.tolerance) if accuracy else None
    keep = verdict.verdict == "faster" and of_accuracy in (None, "same", "better")
    if options.json:
        about = {**asdict(verdict), "figure": speed, "accuracy": of_accuracy, "keep": keep}
        about["runs"] = pairs
        sys.stdout.write(f"{json.dumps(about)}\n")
    else:
        disturbed = sum(bool(pair["load"]) for pair in pairs)
        load = f"; other load disturbed {disturbed} of them" if disturbed else ""
        margin = f" within {options.within:g} %" if verdict.verdict == "same" else ""
        sys.stdout.write(
            f"{verdict.verdict}{margin}: {options.new} against {options.old}: {speed} "
            f"{verdict.ratio:.3f}x ({verdict.low:.3f} to {verdict.high:.3f}) over {verdict.pairs} "
            f"pairs{load}\n"
        )
        if accuracy:
            sys.stdout.write(f"{accuracy}: {of_accuracy}\n")
    return 0 if keep else EXIT_NOT_BETTER


def _parser() -> Parser:
    parser = Parser(
        prog=command("judge"),
        description="Runs two git revisions, configs or commands in turn until it is decided which "
        "is faster. Ends with 0 where the new one is faster and no less accurate, else with 3.",
    )
    parser.takes("old", "OLD", some_text, "a revision; knob=value,... or baseline; or a command")
    parser.takes("new", "NEW", some_text, "likewise")
    of_sweep = "its baseline is trained; none for two commands"
    parser.takes("sweep", "SWEEP.py", a_path, of_sweep, nargs="?")
    speed, accuracy = "what is compared", "what must not get worse"
    parser.takes("--speed", "FIGURE", some_text, f"{speed} (default: the sweep's, else wall_s)")
    parser.takes("--accuracy", "FIGURE", some_text, f"{accuracy} (default: the sweep's accuracy)")
    parser.takes("--within", "PERCENT", float, "change that counts as none (default: 3)", 3.0)
    tolerance = "loss of accuracy that is accepted (default: 0.005)"
    parser.takes("--tolerance", "X", float, tolerance, 0.005)
    parser.takes("--pairs", "N", whole_number(2), f"pairs at most (default: {MOST})", MOST)
    parser.switch("--json", "print one JSON object")
    return parser


def _figures(options: argparse.Namespace) -> tuple[str, str | None]:
    """Return the figure of speed and that of accuracy, or None."""
    if options.sweep is None:
        return options.speed or _WALL, options.accuracy
    names = [each.metric for each in load_sweep(options.sweep).objectives]
    speed = next((name for name in names if not is_accuracy(name)), _WALL)
    return options.speed or speed, options.accuracy or next(filter(is_accuracy, names), None)


def _pairs(
    sides: tuple[Side, Side], speed: str, within: float, most: int, scratch: Path
) -> tuple[list[dict[str, Any]], Verdict]:
    """Run pairs, old and new first in turn, until their speeds decide."""
    pairs: list[dict[str, Any]] = []
    seeds, disturbed = random.SystemRandom(), 0
    while (verdict := judged(_logs(pairs, speed), within, most)) is None:
        seed = seeds.randrange(2**31)
        order = (0, 1) if len(pairs) % 2 == 0 else (1, 0)
        results = {side: sides[side].run(seed, scratch) for side in order}
        load = [text for result in results.values() if (text := result[LOAD])]
        if load and disturbed < _MOST_DISTURBED:
            disturbed += 1
            sys.stderr.write(f"a pair is run again, since other load disturbed it: {load[0]}\n")
            continue
        disturbed = disturbed if load else 0
        figures = {"old": results[0]["metrics"], "new": results[1]["metrics"]}
        pairs.append({"seed": seed, **figures, "load": "; ".join(load)})
        sys.stderr.write(f"pair {len(pairs)}: {math.exp(_logs(pairs, speed)[-1]):.3f}x\n")
    return pairs, verdict


def _logs(pairs: Sequence[Mapping[str, Any]], figure: str) -> list[float]:
    """Return the logarithm of each pair's ratio, above 0 where the new one is better."""
    sign = -1 if usual_goal(figure) is Goal.MINIMIZE else 1
    try:
        return [sign * math.log(pair["new"][figure] / pair["old"][figure]) for pair in pairs]
    except (KeyError, ZeroDivisionError, ValueError):
        known = ", ".join(sorted(pairs[-1]["new"]))
        raise SweepError(f"judge: no {figure} above 0 in a run", f"it has: {known}") from None


def _of_accuracy(pairs: Sequence[Mapping[str, Any]], figure: str, tolerance: float) -> str:
    """Return ``same`` where a loss beyond the tolerance is excluded at 95 %; else what is seen."""
    import numpy as np
    from scipy.special import stdtrit

    changes = np.array([pair["new"][figure] - pair["old"][figure] for pair in pairs])
    half = stdtrit(len(changes) - 1, 0.95) * changes.std(ddof=1) / math.sqrt(len(changes))
    if changes.mean() - half > 0:
        return "better"
    if changes.mean() - half >= -tolerance:
        return "same"
    return "worse" if changes.mean() + half < 0 else "not decided"
