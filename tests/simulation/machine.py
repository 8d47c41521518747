"""A simulated machine: its clock, its executor, and one driver after another on its disk."""

import io
import random
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

from orchestrator.data import DataFolders
from orchestrator.driver import assembly, run, trackers
from orchestrator.driver.options.options import Options
from orchestrator.driver.planning.spending import Spending
from orchestrator.driver.request import Request
from orchestrator.driver.resumption import Past, past_events
from orchestrator.driver.trials import TrialFactory
from orchestrator.errors import SweepError
from orchestrator.execution.supervision.paused import forget, put_by, take_up
from orchestrator.kernel import executor, journal, loop
from orchestrator.kernel.events import Event, Finished, Started
from orchestrator.kernel.executor import Executor, Needs, Source
from orchestrator.kernel.journal import read_journal
from orchestrator.kernel.parts import Fold
from orchestrator.replay import executor as replay
from orchestrator.replay.executor import ReplayExecutor
from orchestrator.replay.segment import segment_of
from orchestrator.rules import SelectionRule
from orchestrator.storage.files import RunDirectory, RunFile, replace_file, table_ids
from orchestrator.storage.sweep_record import read_sweep
from orchestrator.trial import Trial, TrialState
from tests.simulation.disk import Died, Disk, Fault
from tests.simulation.sweeps import Case, Remembering, made

SAFE_S = 1.0
"""Seconds on the run's clock after which the end of a trial survives a power cut."""


DECODE = lru_cache(maxsize=2**14)(journal.decode)
"""The same lines are read several times by each driver, and by the judge."""


class Clock:
    """Seconds since the machine was made, and what the wall clock adds to them."""

    elapsed, offset = 1000.0, 1.7e9

    def monotonic(self) -> float:
        return self.elapsed

    perf_counter = monotonic

    def time(self) -> float:
        return self.elapsed + self.offset


class Simulated(ReplayExecutor):
    """Plays made runs on the machine's clock. A driver may die at each of its steps."""

    def __init__(self, machine: "MachineState") -> None:
        self._its = machine
        super().__init__(made, machine.case.machine, began_at=machine.clock.elapsed)

    now = Executor.now  # as of trials that are real
    _conductor: Any = None

    def _advance(self, at: float) -> None:
        """Advance the clock; meanwhile an executor calls ``tick`` several times a second."""
        clock = self._its.clock
        if self._conductor is not None and at > clock.elapsed + SAFE_S:
            clock.elapsed += SAFE_S / 2
            self._conductor.tick()
        clock.elapsed = at

    _now = property(lambda self: self._its.clock.elapsed, _advance)

    def run(self, conductor: Any) -> None:  # noqa: ANN401 - a conductor
        self._conductor = conductor
        super().run(_Stepping(conductor, self._its))

    def _play(self, trial: Trial, group: Any) -> Any:  # noqa: ANN401 - both private
        launch = next(one for one in group.launch.each() if one.trial is trial)
        begun = 0
        with suppress(OSError):  # it is trained from the beginning
            begun = take_up(launch)
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
            with suppress(OSError):  # it is paused without a checkpoint
                put_by(launch)
        elif play.part.state is TrialState.COMPLETED:
            forget(launch)
        has_ended = super()._end(play, conductor)
        self._begun.pop(trial.curve, None)
        return has_ended


def _state(trial: Trial, epochs: int) -> bytes:
    return f"{trial.curve} after {epochs};".encode() * 100


class _Stepping:
    """A conductor with a step before each call."""

    def __init__(self, conductor: Any, machine: "MachineState") -> None:  # noqa: ANN401
        self._conductor, self._its = conductor, machine

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        self._its.disk.step()
        self._conductor.tick()
        return getattr(self._conductor, name)


class Shown(Fold):
    """Trials that the user has seen to end, and when."""

    def __init__(self, machine: "MachineState") -> None:
        self._its = machine

    def apply(self, event: Event) -> None:
        its = self._its
        if isinstance(event, Started) and event.trial_id in its.ended:
            its.wrong.append(f"trial {event.trial_id} had ended, and runs again")
        elif isinstance(event, Finished) and event.result.state is not TrialState.NOT_RUN:
            its.shown[event.trial_id] = its.clock.elapsed


class MachineState:
    """A machine and its disk; when each trial's end was shown, and which have ended by the disk.

    ``wrong`` lists violations.
    """

    def __init__(self, case: Case, root: Path, rng: random.Random) -> None:
        self.case, self.root, self.rng = case, root, rng
        self.clock, self.disk = Clock(), Disk(root, rng)
        self.run_dir = root / "runs" / "sweep" / "now"
        self.journal = self.run_dir / RunFile.JOURNAL
        self.shown, self.ended = dict[str, float](), set[str]()
        self.wrong, self.output, self.has_ended = list[str](), "", False

    def drive(self, fault: Fault | None, *, is_refused: bool = False) -> None:
        """Run a driver to its end or death. Then judge the disk."""
        out, code = io.StringIO(), None
        acts = {"jump": self._jump, "interrupt": lambda: signal.raise_signal(signal.SIGINT)}
        with _patched(self), redirect_stdout(out), redirect_stderr(out):
            try:
                with self.disk.process(fault, **acts), ExitStack() as stack:
                    code = self._process(stack)
            except (Died, KeyboardInterrupt):  # the latter before anything was started
                pass
            except SweepError as error:
                code = 2
                out.write(f"error: {error.message}\n")
        self.output = out.getvalue()
        if not is_refused:
            self.judge(fault, code)
        elif code != 2 or len(self.output.splitlines()) != 1:
            self.wrong.append(f"is not refused in a sentence: {self.output}")

    def damage(self) -> None:
        """Damage a file: it is made again, or the run is refused until it is restored."""
        rng, path = self.rng, self.journal
        lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
        num = sum(line.endswith(b"\n") and b"\0" not in line for line in lines)  # not torn
        states = sorted(self.run_dir.glob("paused/*-*/state"))
        what = rng.choice(["record", "checkpoint", "line", "journal"])
        if what == "record" and len(lines) > 1:
            (self.run_dir / RunFile.SWEEP).unlink(missing_ok=True)
        elif what == "checkpoint" and states:
            rng.choice(states).write_bytes(b"damaged")
        elif what == "line" and num > 2:
            place, new = rng.randrange(num - 1), b""
            if rng.random() < 0.7:
                at = rng.randrange(lines[place].rindex(b',"line"'))
                new = lines[place][:at] + b"~" + lines[place][at + 1 :]
            self._refuse([*lines[:place], new, *lines[place + 1 :]], lines)
        elif what == "journal" and table_ids(self.run_dir):
            self._refuse(rng.choice([[], lines[:2]]), lines)

    def _refuse(self, now: list[bytes], then: list[bytes]) -> None:
        self.journal.write_bytes(b"".join(now))
        self.drive(None, is_refused=True)
        if self.journal.read_bytes() != b"".join(now):
            self.wrong.append("a journal that was refused has changed")
        self.journal.write_bytes(b"".join(then))
        self.disk.keep()

    def _jump(self) -> None:
        self.clock.offset += self.rng.uniform(-1e4, 1e4)

    def _process(self, stack: ExitStack) -> int:
        """Do what the command line does: resume what is there, else begin."""
        case, run_dir = self.case, self.run_dir
        is_run = (run_dir / RunFile.SWEEP).exists() or bool(self.ended)
        before = read_sweep(run_dir) if is_run else None
        directory = RunDirectory(run_dir)
        stack.callback(
            lambda: directory._lock.close() if self.disk.is_dead else directory.release()
        )
        folders, plays = DataFolders(root=self.root, cache=self.root), Simulated(self)
        request = Request(
            options=Options(no_mlflow=True, time_budget=case.time_budget_s),
            file=Path(case.record.file), sweep=case.sweep, folders=folders, here=case.machine,
            before=before,
        )  # fmt: skip
        spending = Spending(request.options.budgets, case.plan, plays.now)
        parts = run._Prepared.__new__(run._Prepared)
        parts.request, parts.directory, parts.executor = request, directory, plays
        parts.past = Past(run_dir=run_dir, events=past_events(run_dir), record=case.record)
        parts.record, parts.spending = case.record, spending
        parts.factory = TrialFactory(
            sweep=case.sweep,
            needs=Needs(source=Source(), data="", folders=folders, fingerprint=""),
            machine=case.machine, num_cores=1, capacity=case.record.capacity,
            scratch=self.root / "scratch", curves_dir=directory.curves,
        )  # fmt: skip
        return run._explaining_the_end(parts)

    def judge(self, fault: Fault | None, code: int | None) -> None:
        """Compare what is on the disk after a driver with what was shown."""
        wrong, events = ["a traceback"] * ("Traceback" in self.output), list[Event]()
        for line in self.output.splitlines():  # each message of the system names a file
            if "Errno" in line and "/" not in line.partition("Errno")[2]:
                wrong.append(f"a message without a file: {line!r}")
        try:
            events = list(read_journal(self.journal)) if self.journal.exists() else []
        except SweepError as error:
            wrong.append(error.message)
        ends = [event for event in events if isinstance(event, Finished)]
        self.ended = {e.trial_id for e in ends if e.result.state is not TrialState.NOT_RUN}
        may_lose = fault is not None and (fault.kind == "cut" or fault.is_error) and code != 0
        for trial_id in self.shown.keys() - self.ended:
            if not may_lose or self.clock.elapsed - self.shown[trial_id] > SAFE_S:
                wrong.append(f"the end of {trial_id}, shown, is lost")
            del self.shown[trial_id]
        self.has_ended |= code == 0
        if code == 2 and not (fault is not None and fault.is_error):
            wrong.append(f"refused: {self.output.splitlines()[-1]}")
        self.wrong += [f"after {fault}: {text}" for text in wrong]


@contextmanager
def _patched(machine: MachineState) -> Iterator[None]:
    """Give a driver the machine's clock, the judge that remembers and tables that are quick."""
    make = trackers.make_trackers
    with ExitStack() as stack:
        for place, name, new in (
            (executor, "time", machine.clock),
            (executor, "_ZERO", machine.clock.offset),
            *((module, "time", machine.clock) for module in (journal, loop, replay)),
            (assembly, "Analyst", Remembering),
            (assembly, "candidates_of", lambda *_: machine.case.candidates),
            (run, "make_trackers", lambda *given: (make(*given)[0], Shown(machine))),
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
    rows = [f"{trial_id},{state}\n" for trial_id, state in ends.items()]
    text = "".join(["trial_id,state\n", *rows])
    replace_file(run_dir / RunFile.TRIALS_TEXT, lambda path: path.write_text(text))
    replace_file(run_dir / RunFile.ANSWER, lambda path: path.write_text("the answer"))
    return [], True
