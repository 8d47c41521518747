"""``from_script``: a trainable of a command in any language."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from orchestrator.errors import SweepFileError, refuse
from orchestrator.execution.ray.functions.from_ray import OnDictionary
from orchestrator.execution.ray.functions.param_space import TrainingOnSpace
from orchestrator.locations import caller
from orchestrator.machine import Constraint, Machine
from orchestrator.metrics import Objective
from orchestrator.trainable import Demand, Trainable
from orchestrator.wrappers.command import OF_THE_TRIAL, SAMPLES, Command, Figures

if TYPE_CHECKING:
    from orchestrator.measurement.run import Run

_END_S: Final = 2.0
"""Time between SIGTERM and SIGKILL for a command that is to end."""
_LINES_SHOWN: Final = 5


def from_script(
    command: str,
    *,
    config: Mapping[str, Any],
    reports: Sequence[Objective],
    figures: str = "",
    demand: Callable[[dict[str, Any], Machine], Demand] | None = None,
    constraints: Sequence[Constraint[dict[str, Any]]] = (),
    gpus: int = 0,
    name: str = "",
) -> Trainable[Any]:
    """Make a trainable of a command: a training script in any language, as it is.

    Each trial runs the command once, in the current folder, on the trial's cores and GPUs
    (``torchrun`` starts its ranks there). ``python`` is the one that runs the sweep. Figures are
    read from what it prints; each complete set is a report. Two figures are added:
    ``samples_per_s`` from the second report on, where ``samples`` (trained so far) are reported;
    and ``report_s``, the mean time of a report, the start of the command included in the first.

    Args:
        command: Placeholders in it are values of ``config``, ``{epochs}``, ``{steps}``, ``{seed}``,
            ``{cores}``, ``{trial_id}`` or ``{folder}``, which is removed with the trial. Other
            values become flags: see :class:`~orchestrator.wrappers.command.Command`.
        config: A default for each value; one with a domain varies.
        reports: Figures that it prints, and those added that are objectives.
        figures: A regular expression with a named group a figure; or the name of a file whose last
            line is an object of JSON once the command has ended. Default: ``name=value``,
            ``name: value`` or an object of JSON in a line.
        demand: Ranks, GPUs, workers and allocator; called with the values and the machine.
        constraints: Conditions that make a config infeasible, called likewise.
        gpus: GPUs that it uses.
        name: Default: the first file of the command.

    Raises:
        SweepFileError: The command has an unknown placeholder or a config no value to try.
    """
    try:
        training = ScriptTraining(
            command, config=config, reports=reports, figures=figures, name=name
        )
    except (ValueError, re.error) as error:
        raise SweepFileError(f"{caller('command')}from_script: {error}") from None
    refuse(list(training.param_space.problems.values()))
    return Trainable(
        training,
        training.param_space.config_class,
        reports=reports,
        constraints=[OnDictionary(each) for each in constraints],
        demand=OnDictionary(demand or (lambda _values, _machine: Demand(gpus=gpus))),
        name=training.name,
    )


class ScriptTraining(TrainingOnSpace):
    """Call of a command; the arguments are those of :func:`from_script`.

    Attributes:
        command: The command and the form of its figures, which count as the code that trains.
        source_files: Files of the command, which count too.
    """

    def __init__(
        self,
        command: str,
        *,
        config: Mapping[str, Any],
        reports: Sequence[Objective],
        figures: str,
        name: str,
    ) -> None:
        self._command = Command(command, list(config))
        self.command, self.source_files = f"{command}\n{figures}", self._command.files
        self._names = [o.metric for o in reports if o.metric not in ("samples_per_s", "report_s")]
        is_pattern = "(?P<" in figures
        self._pattern, self._file = (figures, "") if is_pattern else ("", figures)
        Figures(self._names, self._pattern)  # of a wrong pattern it raises
        first = self.source_files[0].stem if self.source_files else command.split()[0]
        super().__init__(name or first, config)

    def __call__(self, config: Any, run: Run) -> None:  # noqa: ANN401 - of a class made here
        """Run the command once, and report what it prints."""
        values = self.dictionary(config)
        of_trial = (run.budget.epochs, run.budget.steps, run.seed, run.num_cores, run.trial_id)
        words = self._command.words(
            {**dict(zip(OF_THE_TRIAL, (*of_trial, run.folder), strict=True)), **values}
        )
        sys.stderr.write(f"{' '.join(words)}\n")
        reports = _Reports(run)
        figures = Figures(self._names, self._pattern)
        last = deque[str](maxlen=_LINES_SHOWN)
        with _running(words, run.num_cores) as process:
            assert process.stdout is not None
            for line in process.stdout:
                sys.stdout.write(line)
                last.append(line.strip())
                reports.add(figures.read(line))
            code = process.wait()
        reports.add(figures.rest(), whole=not self._names and not self._file)
        if code:
            by_signal = code < 0 and f"was ended by {signal.Signals(-code).name}"
            how = by_signal or f"ended with exit code {code}"
            error = ChildProcessError if by_signal else RuntimeError
            raise error(f"the command {how}: {' | '.join(filter(None, last))}")
        if self._file:
            lines = Path(self._file.format(folder=run.folder)).read_text().splitlines()
            reports.add(Figures(self._names).read(lines[-1] if lines else ""))
        if not reports.number:
            raise ValueError(
                f"the command reported none of {', '.join(self._names)}: print a line "
                f"{self._names[0] if self._names else SAMPLES}=VALUE, or give from_script figures="
            )


@contextmanager
def _running(words: Sequence[str], num_cores: int) -> Iterator[subprocess.Popen[str]]:
    """Start a command; end it with the context."""
    environment = {
        "OMP_NUM_THREADS": str(num_cores),
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}",
        "PYTHONUNBUFFERED": "1",  # reports come while it runs
    }
    with subprocess.Popen(
        words, env=environment, text=True, errors="replace",
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    ) as process:  # fmt: skip
        try:
            yield process
        except BaseException:
            process.terminate()
            try:
                process.wait(_END_S)
            except subprocess.TimeoutExpired:
                process.kill()
            raise


class _Reports:
    """Reports to a run, with the figures that their times give."""

    def __init__(self, run: Run) -> None:
        self._run, self._began = run, time.monotonic()
        self._first: tuple[float, float] | None = None
        self.number = 0

    def add(self, figures: dict[str, float], *, whole: bool = False) -> None:
        """Report a set of figures; an empty one only as the ``whole`` of the command."""
        if not figures and (self.number or not whole):
            return
        now, samples = time.monotonic(), figures.pop(SAMPLES, None)
        self.number += 1
        figures.setdefault("report_s", (now - self._began) / self.number)
        if samples is not None:
            before, at = self._first or (0.0, now)
            self._first = self._first or (samples, now)
            if now > at:
                figures.setdefault("samples_per_s", (samples - before) / (now - at))
        self._run.count_epoch()
        self._run.report(**figures)
