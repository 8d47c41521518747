"""A git revision, a config or a command as what is run."""

import json
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from orchestrator.errors import SweepError
from orchestrator.system.import_path import environment_with

_SWEEP: Final = """\
from orchestrator import Sweep, choice, from_script, maximize

SWEEP = Sweep(
    from_script({command}, config={{"unused": None}}, reports=[{reports}]),
    question="Is it faster?",
    space={{"unused": choice(None, "")}},
)
"""


@dataclass(frozen=True, kw_only=True)
class Side:
    """One of the two that are compared.

    Attributes:
        name: As the user named it.
        folder: Where it runs.
        sweep: Sweep file, relative to the folder or absolute.
        settings: ``--set`` of its config.
    """

    name: str
    folder: Path
    sweep: Path
    settings: Sequence[str] = ()

    def run(self, seed: int, scratch: Path) -> Mapping[str, Any]:
        """Train once in a process of its own; return its result's state, reason, figures, load.

        Raises:
            SweepError: It did not complete.
        """
        file = scratch / "result.json"
        file.unlink(missing_ok=True)
        options = [f"--set={each}" for each in self.settings]
        words = [sys.executable, "-m", "orchestrator", "train", str(self.sweep), *options]
        done = subprocess.run(
            [*words, "--seed", str(seed), "--json", str(file)],
            cwd=self.folder, env=environment_with(str(self.folder)), text=True, errors="replace",
            capture_output=True, check=False,
        )  # fmt: skip
        if not file.exists():
            raise SweepError(f"{self.name}: {shlex.join(words)} failed:\n{done.stderr.strip()}")
        result: dict[str, Any] = json.loads(file.read_text())
        if result["state"] != "completed":
            raise SweepError(f"{self.name}: {result['state']}: {result['reason']}")
        return result


@contextmanager
def sides_of(
    old: str, new: str, sweep: Path | None, figures: Sequence[str], scratch: Path
) -> Iterator[tuple[Side, Side]]:
    """Yield the two sides.

    Args:
        old: A git revision; ``knob=value,knob=value`` or ``baseline``; or a command.
        new: Likewise.
        sweep: Sweep file, whose baseline is trained; None for two commands.
        figures: Figures that commands print.
        scratch: Folder for checkouts and files.

    Raises:
        SweepError: A revision is unknown, or there is no repository.
    """
    here = Path.cwd()
    if sweep is None:
        yield _of_command(old, "old", figures, scratch), _of_command(new, "new", figures, scratch)
    elif "=" in old or "=" in new:
        yield _of_config(old, sweep.resolve()), _of_config(new, sweep.resolve())
    else:
        top = Path(_git("rev-parse", "--show-toplevel"))
        places = [scratch / "old", scratch / "new"]
        try:
            for place, revision in zip(places, (old, new), strict=True):
                _git("worktree", "add", "--detach", "--force", str(place), revision)
            inner, file = here.relative_to(top), sweep.resolve().relative_to(top)
            first, second = (
                Side(name=name, folder=place / inner, sweep=place / file)
                for name, place in zip((old, new), places, strict=True)
            )
            yield first, second
        finally:
            for place in places:
                _git("worktree", "remove", "--force", str(place), check=False)


def _of_config(name: str, sweep: Path) -> Side:
    settings = [] if name == "baseline" else name.split(",")
    return Side(name=name, folder=Path.cwd(), sweep=sweep, settings=settings)


def _of_command(command: str, name: str, figures: Sequence[str], scratch: Path) -> Side:
    escaped = json.dumps(command.replace("{", "{{").replace("}", "}}"))
    names = figures or ["report_s"]  # which from_script adds
    reports = ", ".join(f"maximize({json.dumps(name)})" for name in names)
    file = scratch / f"{name}.py"
    file.write_text(_SWEEP.format(command=escaped, reports=reports))
    return Side(name=command, folder=Path.cwd(), sweep=file)


def _git(*words: str, check: bool = True) -> str:
    done = subprocess.run(["git", *words], text=True, capture_output=True, check=False)
    if check and done.returncode:
        raise SweepError(f"judge: git {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout.strip()
