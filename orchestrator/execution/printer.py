"""The conductor of a single trial: prints its output, its reports and its result."""

import codecs
import sys
from collections.abc import Sequence

from orchestrator.kernel.events import Started
from orchestrator.kernel.executor import Launch
from orchestrator.kernel.search import Pause
from orchestrator.metric_table import unit_of
from orchestrator.trial import Report, Trial, TrialResult, TrialState

EXIT_FAILED = 1


class Printer:
    """The conductor of a single trial, which prints its output, its reports and its result.

    Attributes:
        exit_code: Exit code of the command: 0 once the trial has completed.
        result: Its row, None until it has one.
    """

    interrupted = False

    def __init__(self, launch: Launch, objectives: Sequence[str]) -> None:
        self._launch: Launch | None = launch
        self._log = launch.log
        self._position = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._ends_line = True
        self._aims = tuple(dict.fromkeys(("train_loss", *objectives)))
        self.exit_code = EXIT_FAILED
        self.result: TrialResult | None = None

    def next_launch(self) -> Launch | Pause | None:
        """Return the launch; None once it has been returned."""
        launch, self._launch = self._launch, None
        return launch

    def started(self, start: Started) -> None:
        """Print where the trial runs."""
        self._write(f"training on {start.cores} cores of {start.node}")

    def reported(self, trial: Trial, report: Report) -> bool:
        """Print a report; it never ends the training."""
        metrics = report.metrics
        on_test = (name for name in metrics if name.startswith("test_"))
        shown = (*self._aims, *on_test, "samples_per_s", "epoch_s", "step_ms")
        figures = (f"{name} {metrics[name]:.4g}" for name in shown if name in metrics)
        self._write(f"epoch {report.epoch}, {report.elapsed_s:.1f} s: {', '.join(figures)}")
        return False

    def finished(self, trial: Trial, result: TrialResult) -> None:
        """Print the result, and how far it is to be trusted."""
        took = f" in {result.wall_s:.1f} s" if result.wall_s else ""
        self._write(f"{result.state}{took}")
        if result.reason:  # a failure's further lines are its output
            has_printed = result.state is TrialState.FAILED and self._position
            reason = result.reason.partition("\n")[0] if has_printed else result.reason
            self._write(reason)
        for name, value in sorted(result.metrics.items()):
            self._write(f"  {name:<20} {value:12.6g} {unit_of(name)}")
        for name, tag in sorted(result.tags.items()):
            self._write(f"  {name:<20} {tag:>12}")
        self.result = result
        self.exit_code = 0 if result.state is TrialState.COMPLETED else EXIT_FAILED
        if result.state is TrialState.COMPLETED and result.disturbed:
            self.note(
                f"other load contaminated this run: {result.disturbed}. Do not go by its times "
                "and rates; what it learned is not changed by that"
            )

    def waiting(self, trial: Trial, seconds: float, what: str) -> None:
        """Print what the trial waits for."""
        sys.stderr.write(f"waiting for {what} ({seconds:.0f} s)\n")

    def note(self, text: str) -> None:
        """Print a note on standard error."""
        sys.stderr.write(f"NOTE: {text}\n")

    def tick(self) -> None:
        """Print what the training has printed since the last call."""
        try:
            with self._log.open("rb") as file:
                file.seek(self._position)
                new = file.read()
        except FileNotFoundError:  # the process has not been started yet
            return
        self._position += len(new)
        if text := self._decoder.decode(new):
            sys.stdout.write(text)
            sys.stdout.flush()
            self._ends_line = text.endswith("\n")

    def _write(self, line: str) -> None:
        """Print the rest of the output, and then a line."""
        self.tick()
        begin = "" if self._ends_line else "\n"
        self._ends_line = True
        sys.stdout.write(f"{begin}{line}\n")
        sys.stdout.flush()
