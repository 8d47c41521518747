"""A simulated machine: its clock, its executor, and one driver after another on its disk."""

from __future__ import annotations

import io
import random
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from orchestrator.data import DataFolders
from orchestrator.driver import assembly, run, trackers
from orchestrator.driver.options.options import Options
from orchestrator.driver.planning.spending import Spending
from orchestrator.driver.record import read_past
from orchestrator.driver.request import Request
from orchestrator.driver.trials import TrialFactory
from orchestrator.errors import SweepError
from orchestrator.execution.supervision.paused import forget, put_by, take_up
from orchestrator.kernel import executor as kernel_executor
from orchestrator.kernel import journal as kernel_journal
from orchestrator.kernel.events import Event, Finished, Started
from orchestrator.kernel.executor import Executor, Needs, Source
from orchestrator.kernel.journal import read_journal
from orchestrator.kernel.parts import Fold
from orchestrator.replay.executor import ReplayExecutor
from orchestrator.replay.segment import segment_of
from orchestrator.rules import SelectionRule
from orchestrator.storage.files import RunDirectory, RunFile, replace_file, table_ids
from orchestrator.storage.sweep_record import read_sweep
from orchestrator.trial import Trial, TrialResult, TrialState
from tests.simulation.disk import Died, Disk, Fault
from tests.simulation.sweeps import Case, Made, Remembering

_COLUMNS = "trial_id,state\n"
SAFE_S = 1.0
"""Seconds on the run's clock after which the end of a trial survives a power cut."""


@dataclass
class Clock:
    """Seconds since the machine was made, and what the wall clock adds to them."""

    elapsed: float = 1000.0
    offset: float = 1.7e9

    def monotonic(self) -> float:
        return self.elapsed

    def time(self) -> float:
        return self.elapsed + self.offset


class Simulated(ReplayExecutor):
    """Plays made runs on the machine's clock. A driver may die at each of its steps."""

    def __init__(self, case: Case, machine: MachineState) -> None:
        self._its = machine
        super().__init__(Made(), case.machine, began_at=machine.clock.elapsed)

    now = Executor.now  # as of trials that are real

    @property
    def _now(self) -> float:
        return self._its.clock.elapsed

    @_now.setter
    def _now(self, at: float) -> None:
        self._its.clock.elapsed = at

    def run(self, conductor: Any) -> None:  # noqa: ANN401 - a conductor
        super().run(_Stepping(conductor, self._its))

    def _play(self, trial: Trial, group: Any) -> Any:  # noqa: ANN401 - both private
        launch = next(one for one in group.launch.each() if one.trial is trial)
        begun = 0
        try:
            begun = take_up(launch)
        except OSError:
            self._its.notes.append("trained from the beginning")
        else:
            if begun and (launch.checkpoints / "state").read_bytes() != _state(trial, begun):
                self._its.wrong.append(f"trial {trial.id} fails at its checkpoint of {begun}")
        play = super()._play(trial, group)
        part = segment_of(play.run, trial.budget, begun=begun, evaluate_test=trial.evaluate_test)
        return replace(play, part=part, begun=begun)

    def _end(self, play: Any, conductor: Any) -> bool:  # noqa: ANN401
        launch = next(one for one in play.group.launch.each() if one.trial is play.trial)
        trial = play.trial
        if (pause := trial.budget.pause_after) and play.part.state is TrialState.STOPPED:
            launch.checkpoints.mkdir(parents=True, exist_ok=True)
            (launch.checkpoints / "state").write_bytes(_state(trial, pause))
            try:
                put_by(launch)
            except OSError:
                self._its.notes.append("paused without a checkpoint")
        elif play.part.state is TrialState.COMPLETED:
            forget(launch)
        self._paused.pop(trial.curve, None)
        has_ended = super()._end(play, conductor)
        self._paused.pop(trial.curve, None)
        return has_ended


def _state(trial: Trial, epochs: int) -> bytes:
    return f"{trial.curve} after {epochs};".encode() * 100


class _Stepping:
    """A conductor with a step before and after each call."""

    def __init__(self, conductor: Any, machine: MachineState) -> None:  # noqa: ANN401
        self._conductor, self._its = conductor, machine

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        found = getattr(self._conductor, name)
        if not callable(found):
            return found

        def call(*given: Any) -> Any:  # noqa: ANN401
            self._its.disk.step()
            self._conductor.tick()
            answer = found(*given)
            self._its.disk.step()
            return answer

        return call


class Said(Fold):
    """What the user has seen to have ended, and when."""

    def __init__(self, machine: MachineState) -> None:
        self._its = machine

    def apply(self, event: Event) -> None:
        its = self._its
        if isinstance(event, Started) and event.trial_id in its.ended:
            its.wrong.append(f"trial {event.trial_id} had ended, and runs again")
        elif isinstance(event, Finished) and event.result.state is not TrialState.NOT_RUN:
            its.said[event.trial_id] = its.clock.elapsed
            its.results[event.trial_id] = event.result


@dataclass
class MachineState:
    """A machine, its disk and what its user has seen.

    Attributes:
        said: Time at which each trial's end was shown.
        ended: Trials that have ended, as the disk has it.
        wrong: What must not be.
        output: Everything that was printed.
    """

    case: Case
    root: Path
    rng: random.Random
    clock: Clock = field(default_factory=Clock)
    said: dict[str, float] = field(default_factory=dict)
    results: dict[str, TrialResult] = field(default_factory=dict)
    ended: set[str] = field(default_factory=set)
    wrong: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    output: list[str] = field(default_factory=list)
    num_steps: int = 0
    spent_s: float = 0.0
    has_ended: bool = False

    def __post_init__(self) -> None:
        self.disk = Disk(self.root, self.rng)
        self.run_dir = self.root / "runs" / "sweep" / "now"

    def drive(self, fault: Fault | None, *, is_refused: bool = False) -> int | None:
        """Run a driver; return its exit code, None where it died. Then judge the disk."""
        out, code, began = io.StringIO(), None, self.clock.elapsed
        acts = {"jump": self._jump, "interrupt": lambda: signal.raise_signal(signal.SIGINT)}
        self.parts: Any = None
        with _patched(self), redirect_stdout(out), redirect_stderr(out):
            try:
                with self.disk.process(fault, **acts):
                    code = self._process()
            except (Died, KeyboardInterrupt):  # the latter before anything was started
                pass
            except SweepError as error:
                code = 2
                out.write(f"error: {error.message}\n")
        if self.parts is not None:
            self.parts._lock.close()
        self.spent_s += self.clock.elapsed - began
        self.num_steps = self.disk.num_steps
        self.output.append(out.getvalue())
        if not is_refused:
            self.judge(fault, code)
        elif code != 2 or len(out.getvalue().splitlines()) != 1:
            self.wrong.append(f"is not refused in a sentence: {out.getvalue()}")
        return code

    def damage(self) -> None:
        """Damage a file: what is lost is made again, or the run is refused until it is restored."""
        rng, journal = self.rng, self.run_dir / RunFile.JOURNAL
        lines = journal.read_bytes().splitlines(keepends=True) if journal.exists() else []
        states = sorted(self.run_dir.glob("paused/*-*/state"))
        what = rng.choice(["record", "checkpoint", "line", "journal"])
        if what == "record" and len(lines) > 1:
            (self.run_dir / RunFile.SWEEP).unlink(missing_ok=True)
        elif what == "checkpoint" and states:
            rng.choice(states).write_bytes(b"damaged")
        elif what == "line" and len(lines) > 2:
            place = rng.randrange(len(lines) - 1)
            found = lines[place]
            at = rng.randrange(len(found) - 1)
            new = b"" if rng.random() < 0.3 else found[:at] + b"~" + found[at + 1 :]
            self._refuse(journal, [*lines[:place], new, *lines[place + 1 :]], lines)
        elif what == "journal" and table_ids(self.run_dir):
            self._refuse(journal, rng.choice([None, [], lines[:2]]), lines)

    def _refuse(self, journal: Path, now: list[bytes] | None, then: list[bytes]) -> None:
        journal.unlink() if now is None else journal.write_bytes(b"".join(now))
        self.drive(None, is_refused=True)
        if (journal.read_bytes() if journal.exists() else None) != (
            None if now is None else b"".join(now)
        ):
            self.wrong.append("a journal that was refused has changed")
        journal.write_bytes(b"".join(then))
        self.disk.keep()

    def _jump(self) -> None:
        self.clock.offset += self.rng.uniform(-1e4, 1e4)

    def _process(self) -> int:
        """Do what the command line does: resume what is there, else begin."""
        case, run_dir = self.case, self.run_dir
        before = read_sweep(run_dir) if self._is_run else None
        directory = self.parts = RunDirectory(run_dir)
        try:
            past = read_past(run_dir, case.record)
            options = Options(no_mlflow=True, time_budget=case.time_budget_s)
            folders = DataFolders(root=self.root, cache=self.root)
            request = Request(
                options=options, file=Path(case.record.file), sweep=case.sweep,
                folders=folders, here=case.machine, before=before,
            )  # fmt: skip
            executor = Simulated(case, self)
            spending = Spending(request.budgets, case.plan, executor.now)
            factory = TrialFactory(
                sweep=case.sweep,
                needs=Needs(source=Source(), data="", folders=folders, fingerprint=""),
                machine=case.machine,
                num_cores=1,
                scratch=self.root / "scratch",
                capacity=case.record.capacity,
                paused_dir=directory.paused,
                time_budget=lambda: spending.time_budget,
            )
            parts = run._Prepared.__new__(run._Prepared)
            parts.request, parts.directory, parts.executor = request, directory, executor
            parts.factory, parts.record, parts.spending = factory, case.record, spending
            parts.past, parts.load = past, None
            return run._explaining_the_end(parts)
        finally:
            if not self.disk.is_dead:
                directory.release()

    @property
    def _is_run(self) -> bool:
        """True where the user resumes: there is a record, or the end of a trial was shown."""
        has_record = (self.run_dir / RunFile.SWEEP).exists()
        return has_record or bool(self.ended)

    def judge(self, fault: Fault | None, code: int | None) -> None:
        journal = self.run_dir / RunFile.JOURNAL
        ends: set[str] = set()
        if journal.exists():
            try:
                ends = {e.trial_id for e in read_journal(journal) if isinstance(e, Finished)}
            except SweepError as error:
                self.wrong.append(f"after {fault}: {error.message}")
        loses = fault is not None and (fault.kind == "cut" or fault.is_error)
        for trial_id, at in self.said.items():
            is_safe = code in (0, 3) or not loses or self.clock.elapsed - at > SAFE_S
            if trial_id not in ends and is_safe:
                self.wrong.append(f"after {fault}: the end of {trial_id}, shown, is lost")
        self.said = {trial_id: at for trial_id, at in self.said.items() if trial_id in ends}
        self.ended = {*self.said}
        self.has_ended |= code == 0
        self.wrong += [f"after {fault}: {text}" for text in _odd_messages(self.output[-1])]
        if code == 2 and "has ended this run" in self.output[-1]:
            self.has_ended |= (self.run_dir / RunFile.ANSWER).exists()
        elif code == 2 and not (fault is not None and fault.is_error):
            self.wrong.append(f"after {fault}: refused: {self.output[-1].splitlines()[-1]}")


def _odd_messages(text: str) -> Iterator[str]:
    if "Traceback" in text:
        yield "a traceback"
    for line in text.splitlines():
        _, mark, message = line.partition("error: ")
        if mark and (not message or ("Errno" in message and "/" not in message)):
            yield f"a message without a file: {line!r}"


@contextmanager
def _patched(machine: MachineState) -> Iterator[None]:
    """Give a driver the machine's clock, the judge that remembers and tables that are quick."""
    clock = SimpleNamespace(time=machine.clock.time, monotonic=machine.clock.monotonic)
    make = trackers.make_trackers

    def make_trackers(*given: Any) -> Any:  # noqa: ANN401
        return make(*given)[0], Said(machine)

    with ExitStack() as stack:
        for place, name, new in (
            (kernel_executor, "time", clock),
            (kernel_executor, "_ZERO", machine.clock.offset),
            (kernel_journal, "time", clock),
            (assembly, "Analyst", Remembering),
            (run, "make_trackers", make_trackers),
            (run, "write_results", _write_results),
        ):
            stack.enter_context(patch.object(place, name, new))
        yield


def _write_results(
    run_dir: Path, rule: SelectionRule, close: Callable[[], Sequence[str]]
) -> tuple[list[str], bool]:
    """Write the rows only, as the driver writes its tables: from the journal, by a rename."""
    events = read_journal(run_dir / RunFile.JOURNAL)
    ends = {each.trial_id: each.result.state for each in events if isinstance(each, Finished)}
    text = "".join(f"{trial_id},{state}\n" for trial_id, state in ends.items())
    replace_file(run_dir / RunFile.TRIALS_TEXT, lambda path: path.write_text(f"{_COLUMNS}{text}"))
    replace_file(run_dir / RunFile.ANSWER, lambda path: path.write_text("the answer"))
    return [], True
