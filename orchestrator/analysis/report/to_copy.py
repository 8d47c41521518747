"""The recommended settings to copy: as commands, JSON and Python."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable
from dataclasses import dataclass

from orchestrator.analysis.report.view import View
from orchestrator.space.configs import format_value


@dataclass(frozen=True, kw_only=True)
class Copied:
    """A text to copy.

    Attributes:
        label: What it is, two or three words.
        parts: The text, in parts that a line is not to be broken within.
        note: What it does, or "".
    """

    label: str
    parts: tuple[str, ...]
    note: str = ""


def to_copy(view: View) -> list[Copied]:
    """Return the recommended settings in every form; [] where nothing is recommended."""
    config = view.findings.config
    if config is None:
        return []
    run_dir = "RUN_DIR" if view.run_dir is None else str(view.run_dir)
    train = ["python -m orchestrator train", shlex.quote(run_dir), "--save model.pt"]
    copied = [
        Copied(
            label="Command",
            parts=tuple(train),
            note="To train with these settings and keep the weights:",
        ),
        Copied(label="JSON", parts=(json.dumps(config),)),
        Copied(label="Python", parts=(f"config = {config!r}",)),
    ]
    if view.sweep.module:
        note = "The same training without the run directory."
        copied.append(Copied(label="Without the run", parts=tuple(_standalone(view)), note=note))
    note = "A sweep of these settings alone, measured as the run was."
    return [*copied, Copied(label="Measure again", parts=tuple(command_of(view)), note=note)]


def command_of(view: View) -> list[str]:
    """Return the command that measures the settings again, in parts."""
    start = shlex.join(["python", "-m", "orchestrator", str(view.sweep.file)])
    return [start, *_pairs(view.findings.command)]


def _standalone(view: View) -> list[str]:
    """Return the trainable's own command: knobs that are not at their defaults, and the data."""
    config, sweep = view.findings.config or {}, view.sweep
    words = ["--epochs", str(sweep.budget.epochs or 1)]
    for name, knob in sweep.knobs.items():
        if name in config and format_value(config[name]) != format_value(knob.default):
            words += [f"--{name.replace('_', '-')}", format_value(config[name])]
    words += sweep.data_arguments
    return [f"python -m {sweep.module}", *_pairs(words)]


def _pairs(words: Iterable[str]) -> list[str]:
    """Return each option with its value."""
    pairs = iter(words)
    return [shlex.join(pair) for pair in zip(pairs, pairs, strict=True)]
