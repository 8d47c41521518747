"""A sweep from its file to its recommendation."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import sys
import tempfile
import time
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from threading import Thread
from types import FrameType
from typing import Any

from orchestrator.commands import typed
from orchestrator.driver.analyst import Analyst
from orchestrator.driver.assembly import (
    Request,
    check_search,
    make_executor,
    make_factory,
    make_search,
    prepared_data,
    read_request,
)
from orchestrator.driver.loop import ControlLoop
from orchestrator.driver.sweep_json import (
    changes_since,
    require_same_question,
    restored_options,
    sweep_record,
)
from orchestrator.driver.trials import TrialFactory
from orchestrator.errors import refusing_os_errors
from orchestrator.execution.base import Executor
from orchestrator.execution.placement import capped, cores_of_trial, local_machine
from orchestrator.execution.ray.token import use_token_if_there_is_one
from orchestrator.storage.journal import Event, Journal, read_journal
from orchestrator.storage.run_directory import RunDirectory, read_sweep, require_new
from orchestrator.tracking.base import Tracker
from orchestrator.tracking.console.tracker import ConsoleTracker
from orchestrator.tracking.mlflow import MlflowMirror, checked_uri, default_uri

DEFAULT_RUNS = Path("runs")
STDERR = 2
EXIT_UNFINISHED = 1
EXIT_INTERRUPTED = 128 + signal.SIGINT
EXIT_TERMINATED = 128 + signal.SIGTERM

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Errors of a disk that is full, of a quota, and of a limit on the size of files."""


class Terminated(KeyboardInterrupt):
    """SIGTERM, which ends a driver as Ctrl-C does, with an exit code of its own.

    Attributes:
        was_raised: Whether it was: Ray makes a plain ``KeyboardInterrupt`` of one that comes while
            it is within its own code.
    """

    was_raised = False


def print_plan(options: Namespace) -> int:
    """Prints what would run; returns the exit code."""
    from orchestrator.driver.plan import make_plan
    from orchestrator.driver.plan_text import plan_lines

    with refusing_os_errors():
        request = _request(options)
    options, machine = request.options, local_machine()
    plan = make_plan(
        request.sweep,
        machine,
        num_cores=cores_of_trial(request.sweep.cores_per_trial, machine),
        max_concurrent=1 if options.executor == "inline" else options.max_concurrent,
        runs=DEFAULT_RUNS / request.file.stem,
        data=request.dataset.name if request.dataset else "",
    )
    cores_note = capped(request.sweep.cores_per_trial, machine)
    elsewhere = "planned for this machine; the cluster at --address is not asked"
    notes = [request.data_note, cores_note, elsewhere if options.address else ""]
    sys.stdout.write("\n".join([*map(_note, filter(None, notes)), *plan_lines(plan)]) + "\n")
    return 0


def _note(text: str) -> str:
    return "NOTE: " + text.replace("\n", "\n      ")


def drive(options: Namespace, command_line: Sequence[str]) -> int:
    """Runs a sweep, or the rest of one; returns the exit code."""
    Terminated.was_raised = False
    before = signal.signal(signal.SIGTERM, _terminate)
    try:
        return _drive(options, command_line)
    except Terminated:
        sys.stderr.write("terminated before anything was started\n")
        return EXIT_TERMINATED
    finally:
        signal.signal(signal.SIGTERM, before)


def _terminate(_number: int, _frame: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # from here on all is taken down
    Terminated.was_raised = True
    raise Terminated


def _drive(options: Namespace, command_line: Sequence[str]) -> int:
    with refusing_os_errors():
        request = _request(options)
        directory = _run_directory(request)
    executor = None
    folder = Path(tempfile.mkdtemp(prefix="sweep-"))
    try:
        past = _past(directory)
        require_same_question(past, request.sweep, directory.path)
        if request.data_note:
            sys.stderr.write(f"{_note(request.data_note)}\n")
        with refusing_os_errors():
            data = prepared_data(request)
        executor = make_executor(request, folder)
        signal.signal(signal.SIGTERM, _terminate)  # Ray has set its own
        factory = make_factory(request, data, executor.machine(), folder)
        record = sweep_record(factory, request, command_line)
        try:
            return _run(request, factory, record, directory, executor, past)
        except KeyboardInterrupt:
            how = _how_to_go_on(record, directory.path)
            sys.stderr.write(f"interrupted: tables may be missing, the journal is not\n{how}\n")
            return EXIT_TERMINATED if Terminated.was_raised else EXIT_INTERRUPTED
        except OSError as error:
            if error.errno not in _NO_ROOM:
                raise
            how = _how_to_go_on(record, directory.path)
            sys.stderr.write(f"error: there is no room left to write: {error}\n{how}\n")
            return EXIT_UNFINISHED
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if executor is not None:
            executor.close()
        shutil.rmtree(folder, ignore_errors=True)
        directory.release()


def _request(options: Namespace) -> Request:
    """All that can be known to be wrong before data is touched or anything is started."""
    if options.resume is not None:
        options = restored_options(options, read_sweep(options.resume))
    if options.address:
        use_token_if_there_is_one()
    request = read_request(options)
    if not options.address:  # another cluster's machine is known once it has answered
        check_search(request.sweep, local_machine())
    if not options.no_mlflow:  # in full, for a resumption from another folder
        options.tracking_uri = checked_uri(options.tracking_uri or default_uri(DEFAULT_RUNS))
    return request


def _past(directory: RunDirectory) -> list[Event]:
    return list(read_journal(directory.journal)) if directory.journal.exists() else []


def _run_directory(request: Request) -> RunDirectory:
    options = request.options
    if options.resume is not None:
        return RunDirectory(options.resume)
    stamp = time.strftime("%Y-%m-%dT%H-%M-%S")
    path = options.out or DEFAULT_RUNS / request.file.stem / stamp
    require_new(path)
    return RunDirectory(path)


def _run(
    request: Request,
    factory: TrialFactory,
    record: dict[str, Any],
    directory: RunDirectory,
    executor: Executor,
    past: Sequence[Event],
) -> int:
    notes = changes_since(past, record, directory.path)
    if cores_note := capped(request.sweep.cores_per_trial, factory.machine):
        notes.append(cores_note)
    trackers = _trackers(request, directory.path)
    search = make_search(factory, Analyst(record))
    runner = ControlLoop(factory, search, Journal(directory.journal), trackers)
    runner.replay(past)  # what it refuses has to find the run as it was
    directory.write_sweep(record)
    code = EXIT_UNFINISHED
    try:
        runner.open(record, past=past, notes=notes)
        with _first_signal(partial(_interrupt, runner)) as received:
            executor.run(runner)
        code = 128 + received[0] if received else 0
    finally:
        with _first_signal(_say_that_it_ends) as late, _closing(executor):
            runner.close(code)
            _leave(directory.path, record, trackers, code)
    if late and not code:
        sys.stderr.write(f"{_how_to_go_on(record, directory.path)}\n")
        return 128 + late[0]
    return code


@contextmanager
def _closing(executor: Executor) -> Iterator[None]:
    """Closes ``executor`` meanwhile: for a second or two Ray only waits for its processes."""
    closing = Thread(target=executor.close)
    closing.start()
    try:
        yield
    finally:
        closing.join()


def _trackers(request: Request, run_dir: Path) -> list[Tracker]:
    console = ConsoleTracker()
    if request.options.no_mlflow:
        return [console]
    return [console, MlflowMirror(run_dir, request.options.tracking_uri, say=console.note)]


def _leave(
    run_dir: Path, record: Mapping[str, Any], trackers: Sequence[Tracker], code: int
) -> None:
    """Writes tables, report and recommendation, then says where everything is."""
    from analysis.report.summary import summary
    from analysis.report.write import write_all
    from analysis.tables.load import load_run
    from analysis.tables.run_tables import with_run_intervals
    from orchestrator.storage.tables import write_tables

    try:
        write_tables(run_dir, complete=with_run_intervals)
        recommendation = write_all(run_dir)
    finally:
        said = [line for tracker in trackers for line in tracker.close(code)]
    lines = [*summary(load_run(run_dir), recommendation, run_dir=run_dir), *said]
    if code:
        lines.append(_how_to_go_on(record, run_dir))
    sys.stdout.write("\n".join(lines) + "\n")
    sys.stdout.flush()


def _how_to_go_on(record: Mapping[str, Any], run_dir: Path) -> str:
    words: list[str | Path] = [Path(record["file"]), "--resume", str(run_dir)]
    return f"to go on: {typed('orchestrator', words)}"


def _interrupt(runner: ControlLoop) -> None:
    runner.interrupted = True


def _say_that_it_ends() -> None:
    # A signal may come amid another write, which must not be entered again, and to nobody.
    with suppress(OSError):
        os.write(STDERR, b"ending once everything is written; again to end at once\n")


@contextmanager
def _first_signal(act: Callable[[], None]) -> Iterator[list[int]]:
    """Within it the first Ctrl-C or SIGTERM has ``act`` called; a second one ends all at once.

    An exception that a signal raises amid an import may leave the lock of all imports taken.
    Ray imports while it is closed in a thread of its own, which would then wait for ever.
    """
    received: list[int] = []
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def receive(number: int, _frame: FrameType | None) -> None:
        received.append(number)
        signal.signal(number, before[signal.Signals(number)])
        act()

    for number in before:
        signal.signal(number, receive)
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
