"""A sweep from its file to its recommendation."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from orchestrator.arguments import typed
from orchestrator.driver import signals
from orchestrator.driver.assembly import make_executor, make_factory, make_loop, require_nodes
from orchestrator.driver.options.options import Options
from orchestrator.driver.planning.plan import num_rows, planned
from orchestrator.driver.planning.spending import Spending, require_room
from orchestrator.driver.planning.text import note
from orchestrator.driver.record import sweep_record
from orchestrator.driver.request import prepared_data, read_request
from orchestrator.driver.resumption import past_of
from orchestrator.driver.trackers import (
    Outputs,
    close_trackers,
    make_trackers,
    showing,
    write_results,
)
from orchestrator.errors import SweepError, refusing_os_errors
from orchestrator.execution.placement import cap_note
from orchestrator.kernel.executor import Executor, ExecutorLost
from orchestrator.kernel.journal import Journal
from orchestrator.kernel.loop import ControlLoop
from orchestrator.storage.files import RunDirectory
from orchestrator.storage.runs import DEFAULT_RUNS
from orchestrator.system.disk import private_folder
from orchestrator.texts import bounded_lines
from orchestrator.tracking.trackers import Trackers
from orchestrator.trial import TrialState

EXIT_UNFINISHED = 1
EXIT_NO_ANSWER = 3
"""Every planned trial has a row, and nothing can be recommended."""

_INTERRUPTED = (
    "interrupted: no further trial starts, and the running ones are ended (resuming runs them "
    "again); then the tables and the report of what has run are written, in seconds"
)


def run(options: Options, command_line: Sequence[str]) -> int:
    """Run a sweep, or the rest of one; return the exit code."""
    with signals.signals_raise():
        try:
            return _run(options, command_line)
        except KeyboardInterrupt:
            code = signals.exit_code_of_interrupt()
            word = "interrupted" if code == 128 + signal.SIGINT else "terminated"
            text = f"{word} before anything was started"
        except ExecutorLost as lost:
            text, code = f"error: {lost}; no trial was started", EXIT_UNFINISHED
        sys.stderr.write(f"{text}\n")
        if options.resume is not None:
            sys.stderr.write(f"to resume: {typed('orchestrator', ['--resume', options.resume])}\n")
        return code


def _run(options: Options, command_line: Sequence[str]) -> int:
    with ExitStack() as stack:
        try:
            with refusing_os_errors():
                parts = _Prepared(options, command_line, stack)
            code = _explaining_the_end(parts)
            _run_at_the_end(options.on_end, parts.directory.path, code)
            return code
        finally:
            signals.ignore_signals()  # from here on everything is taken down


def _run_at_the_end(command: str | None, run_dir: Path, code: int) -> None:
    """Run the command of ``--on-end``; a wrong exit code of it is printed and changes nothing."""
    if command is None:
        return
    environment = {"SWEEP_RUN": str(run_dir.absolute()), "SWEEP_EXIT_CODE": str(code)}
    done = subprocess.run(command, shell=True, check=False, env={**os.environ, **environment})
    if done.returncode:
        sys.stderr.write(f"NOTE: --on-end {command}: exit code {done.returncode}\n")


class _Prepared:
    """A run that is about to start: a checked request and the parts made of it.

    Args:
        options: The options.
        command_line: The words that they were read from.
        stack: Takes the parts down.
    """

    def __init__(self, options: Options, command_line: Sequence[str], stack: ExitStack) -> None:
        self.request = request = read_request(options)
        is_here = not request.options.address
        runs = DEFAULT_RUNS / request.file.stem
        self.directory = (
            RunDirectory(options.resume) if options.resume else RunDirectory.new(options.out, runs)
        )
        # Taken down in reverse: the executor, its folder, and the run directory's lock last.
        stack.callback(self.directory.release)
        self.past = past_of(request)
        if request.data_note:
            sys.stderr.write(f"{note(request.data_note)}\n")
        with showing(f"preparing {request.data} ..." * (request.dataset is not None)):
            data = prepared_data(request)
        request.warm_start.require_data(data.fingerprint if data else "")
        name, plan = data.name if data is not None else "", None
        if is_here:
            plan = planned(request, request.here, name, self.past.configs)
            if request.before is None:
                require_room(plan, request.options.budgets)
        # Not in the run directory: the path of a Unix socket has at most 107 characters.
        folder = private_folder()
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        with showing("starting Ray, some seconds ..." * (request.options.executor_name == "ray")):
            self.executor = make_executor(request, folder, plan.trial_s if plan else None)
        stack.callback(self.executor.close)
        signals.raise_if_terminated()  # Ray may have caught it
        # On a cluster the run directory may be on this node alone.
        curves_dir = self.directory.curves if is_here else None
        self.factory = make_factory(request, data, self.executor.machine(), folder, curves_dir)
        with showing("checking the code and the data on every node ..." * (not is_here)):
            require_nodes(self.executor, self.factory)
        if plan is None:
            plan = planned(request, self.factory.machine, name, self.past.configs)
        self.spending = Spending(request.options.budgets, plan, self.executor.now)
        asked = replace(self.factory, sweep=plan.sweep)
        record = sweep_record(asked, request, command_line)
        self.record = replace(record, num_planned=num_rows(plan), **self.executor.facts)

    def how_to_resume(self) -> str:
        if not self.directory.has_begun:
            return "nothing was started: start it again"
        if self.record.replayed:
            return "a replay cannot be resumed: start it again"
        words: list[str | Path] = [Path(self.record.file), "--resume", str(self.directory.path)]
        return f"to resume: {typed('orchestrator', words)}"


def _explaining_the_end(parts: _Prepared) -> int:
    """Run the trials; write how to resume if an interrupt or the file system ends them."""
    try:
        return _run_trials(parts)
    except KeyboardInterrupt:
        if not parts.directory.has_begun:
            raise
        text = "interrupted: the tables and the report may be missing, the journal is not"
        text = "\n" * sys.stderr.isatty() + text  # below the keys that were pressed
        sys.stderr.write(f"{text}\n{parts.how_to_resume()}\n")
        return signals.exit_code_of_interrupt()
    except OSError as error:
        sys.stderr.write(f"error: {error}\n{parts.how_to_resume()}\n")
        return EXIT_UNFINISHED


def _run_trials(parts: _Prepared) -> int:
    parts.past.require_same(parts.record, "ground")
    cores = cap_note(parts.request.sweep.cores_per_trial, parts.factory.machine)
    notes = [*parts.request.notes, *parts.past.notes(parts.record), *([cores] if cores else [])]
    clock, path = parts.executor.now, parts.directory.path
    journal = Journal(parts.directory.journal, now=clock)
    spending, past, factory = parts.spending, parts.past, parts.factory
    loop, search, analyst = make_loop(
        factory, parts.record, journal, spending, parts.request.warm_start
    )
    console, mirror = make_trackers(parts.request, analyst, path, past.events, clock)
    if parts.request.before is None:
        # A journal without it would be a run that can be neither read nor resumed.
        parts.record.write(path)
    named = parts.request.sweep.trackers
    own = Trackers(named, path, past.events, loop.note) if named else None
    for fold in (console, mirror, own, Outputs(path, factory.scratch, loop.note)):
        if fold is not None:
            loop.follow(fold)
    try:
        loop.restore(past.events)
        past.require_extended(search)
    except SweepError:  # nothing is written: a run that is refused stays as it was
        journal.close()
        raise
    if parts.request.before is not None:
        parts.record.write(path)
    analyst.write_candidates(path)
    code = EXIT_UNFINISHED
    # Not within: a journal that lacks its first line gets no other, and no tables.
    loop.open(parts.record.to_json(), past=past.events, notes=notes, trials=past.trials)
    try:

        def interrupt() -> None:
            loop.interrupt()
            console.interrupted(_INTERRUPTED)

        with signals.first_signal(interrupt) as received:
            lost = _lost(parts.executor, loop)
        # The code that a shell returns for a process that this signal has ended.
        code = 128 + received[0] if received else EXIT_UNFINISHED if lost else 0
        states = {result.state for result in loop.results.values()}
        if not code and TrialState.NOT_RUN not in states:  # a resumed run has nothing left to run
            shutil.rmtree(parts.directory.curves, ignore_errors=True)
    finally:
        with signals.first_signal(signals.announce_the_end) as late, ThreadPoolExecutor(1) as pool:
            # Meanwhile: for a second or two Ray only waits for its processes.
            pool.submit(parts.executor.close)
            # Before the tables, which are made from the journal.
            loop.close(code)
            console.phase("no trial runs any more: writing the tables and the report ...")
            if spending.cuts:
                replace(parts.record, cuts=spending.cuts).write(path)
            analyst.write_candidates(path)
            lines, recommends = write_results(
                path, parts.record.rule, lambda: close_trackers(console, own, mirror, code)
            )
            lines += parts.executor.last_lines()
            if code:
                lines.append(parts.how_to_resume())
            sys.stdout.write("\n".join(lines) + "\n")
            sys.stdout.flush()
    if late and not code:
        sys.stderr.write(f"{parts.how_to_resume()}\n")
        return 128 + late[0]
    return code or (0 if recommends else EXIT_NO_ANSWER)


def _lost(executor: Executor, loop: ControlLoop) -> bool:
    """Run the trials; return True, with the reason noted, if they could not continue."""
    try:
        executor.run(loop)
    except (ExecutorLost, SweepError) as lost:  # of the sweep's own code, for a config chosen now
        if loop.interrupted:  # a signal to all processes of a job or a service ends Ray's as well
            return True
        loop.interrupt()
        reason = getattr(lost, "message", lost)
        loop.note(f"ended early: {reason}; trials that were running have no row")
        sys.stderr.write(f"error: {bounded_lines(str(lost))}\n")
        return True
    return False
