"""The supervisor of one trial: starts its processes, hears them, and writes its row.

Whatever happens to a training process, an exit, a signal, no memory, silence, becomes a
:class:`TrialResult`. So one trial cannot hurt another or the sweep.
"""

from __future__ import annotations

import json
import math
import os
import platform
import shutil
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from orchestrator.execution.base import LEAVE_SIGNAL, Launch, Rank, SliceEnd, Started, Update
from orchestrator.execution.leases import CoreLeases, Lease
from orchestrator.execution.process.failures import GAVE_UP
from orchestrator.execution.process.fork_client import ForkedProcess, ServerError
from orchestrator.execution.process.messages import measured, receive, result_within, tail_of
from orchestrator.execution.process.ranks import RankProcess, StartRank, ranks_of, request
from orchestrator.execution.supervision import endings
from orchestrator.execution.supervision.active_clock import ActiveClock
from orchestrator.execution.supervision.attempt_monitor import AttemptMonitor
from orchestrator.provenance.node_tags import node_tags
from orchestrator.trial import Report, TrialResult, TrialState

POLL_S = 0.25
"""How often a silent process is looked at."""
STOP_GRACE_S = 2.0
"""How long a stopped trial may take to leave its loop before it is killed."""
LAST_WORDS_S = 0.5
"""How long a trial with too much memory may take to say how far it has come."""


class Supervisor:
    """Runs one trial, one attempt after the other if it fails."""

    def __init__(
        self,
        launch: Launch,
        servers: Callable[[], Path],
        *,
        leases: CoreLeases,
        gpus: Sequence[Sequence[str]] = ((),),
        start_rank: StartRank | None = None,
    ) -> None:
        """Prepares to run ``launch``; nothing is started yet.

        Args:
            launch: The trial and what it needs.
            servers: Gives the socket of the fork server to use.
            leases: This node's cores.
            gpus: For each rank, the GPUs that it may use.
            start_rank: How ranks other than 0 are started. Default: here.
        """
        self._launch = launch
        self._servers = servers
        self._leases = leases
        self._gpus = gpus
        self._start_rank = start_rank or self._start_here
        self._lease: Lease | None = None
        self._main: ForkedProcess | None = None
        self._others: list[RankProcess] = []
        self._attempt = 0
        self._num_failures = 0
        self._is_retry = False
        self._held: dict[str, Any] | None = None
        self._disturbed: TrialResult | None = None
        self._notes: list[str] = []
        self._last: Report | None = None
        self._completed: TrialResult | None = None
        self._time = ActiveClock()
        self._started_at, self._started_s = time.time(), self._time.now()
        self._monitor: AttemptMonitor | None = None
        self._is_leaving = False
        self._name = f"trial {launch.trial.id[:6]}"
        self._log = launch.scratch / "logs" / f"{launch.trial.id}.log"

    # -- life of a trial

    @property
    def has_started(self) -> bool:
        """Whether its processes have been started."""
        return self._main is not None

    def take_notes(self) -> list[str]:
        """What the user should know of how trials run here; each is handed out once."""
        notes, self._notes = self._notes, []
        return notes

    def start(self, lease: Lease) -> None:
        """Starts every rank of the trial on the cores of ``lease``, which stays its holder's.

        Raises:
            ServerError: The fork server did not come up.
        """
        self._lease = lease
        self._start()

    def _start(self) -> None:
        server = self._servers()
        if not server.parent.is_dir():
            raise ServerError(f"{server.parent} has gone, and with it who runs the sweep")
        self._log.parent.mkdir(parents=True, exist_ok=True)
        self._completed = None
        if self._attempt == 0:
            shutil.rmtree(self._checkpoints, ignore_errors=True)
        assert self._lease is not None
        ranks = ranks_of(self._launch, self._lease, self._gpus, self._attempt)
        self._monitor = AttemptMonitor(
            self._launch, ranks, self._lease, self._leases, self._time.now
        )
        self._main = ForkedProcess(server, request(self._launch, ranks[0], self._log))
        # From here on, not from before: the server may have had its imports to do first.
        self._watch.begins()
        if self._attempt == 0:
            self._started_at, self._started_s = time.time(), self._time.now()
        self._others = [self._start_rank(self._launch, rank) for rank in ranks[1:]]

    def next_update(
        self, timeout_s: float | None = None
    ) -> Update | Started | SliceEnd | TrialResult | None:
        """Waits for the next report, the turn's end or the trial's; None if none came in time.

        Meanwhile the trial trains on: nobody's thinking about a report is in its times.
        """
        deadline = math.inf if timeout_s is None else time.monotonic() + timeout_s
        while True:
            heard = self._listen(min(max(deadline - time.monotonic(), 0.0), POLL_S))
            if isinstance(heard, TrialResult):
                if self._try_again(heard):
                    continue
                if self._run_again(heard):
                    return Started()
                return endings.of_two(self._disturbed, heard)
            if heard is not None or time.monotonic() >= deadline:
                return heard

    def resume(self) -> None:
        """Lets a trial that was stopped go on; one that waits for its turn has the next one."""
        self._time.resume()
        self._watch.look_now(self._pids)
        self._process.resume()
        if self._launch.interleaved:
            with suppress(OSError):  # it may have been killed meanwhile
                self._process.channel.send_bytes(json.dumps({"turn": True}).encode())

    def pause(self) -> TrialResult | None:
        """Stops all processes of the trial; returns its row where it is ended for its memory."""
        self._process.pause()
        self._time.pause()
        if (excess := self._watch.pause(self._pids)) is not None:
            self.resume()
            return self._over_limit(excess)
        return None

    def stop(self) -> None:
        """Ends the trial: it may leave its loop at its next report, if that comes soon."""
        with suppress(OSError):  # it may have ended by itself
            self._process.channel.send_bytes(json.dumps({"stop": True}).encode())
            self._process.poll(STOP_GRACE_S)
        self.close()

    def close(self) -> None:
        """Kills what still runs. Safe to call more than once.

        A process that has said its last word may exit by itself first: some milliseconds, in
        which the kernel takes its memory apart.
        """
        self._hang_up()
        shutil.rmtree(self._checkpoints, ignore_errors=True)

    # -- one attempt

    def _listen(self, poll_s: float) -> Update | Started | SliceEnd | TrialResult | None:
        if (excess := self._watch.look(self._pids)) is not None:
            return self._over_limit(excess)
        if late := self._watch.overdue():  # however often it reports
            return self._ended(self._row(TrialState.INFEASIBLE, late))
        message, self._held = self._held or receive(self._process.channel, poll_s), None
        if message is not None:
            self._watch.stall.heard()
            return self._gone_on(message) or self._understood(message)
        if (code := self._process.poll()) is not None:
            last = receive(self._process.channel, 0)
            return self._gone_on(last) or self._understood(last) if last else self._died(0, code)
        for index, other in enumerate(self._others, start=1):
            if (code := other.poll()) not in (None, 0):
                return self._died(index, code)
        stuck = self._watch.stall.stuck()
        return self._ended(self._row(TrialState.FAILED, stuck)) if stuck else None

    def _gone_on(self, message: dict[str, Any]) -> Started | None:
        """What is said before a retry's first figures, which are kept for after it."""
        figures = message.get("report") or message.get("result")
        if not self._is_retry or figures is None:
            return None
        self._is_retry, self._held = False, message
        return Started(restored_epochs=figures.get("restored_epochs", 0))

    def _understood(self, message: dict[str, Any]) -> Update | SliceEnd | TrialResult | None:
        if "slice_end" in message:
            return self.pause() or SliceEnd(progress=message["slice_end"])
        if "unbound" in message:
            self._without_cores(message["unbound"])
            return None
        if "report" in message:
            self._last = Report.from_json(message["report"])
            return Update(report=self._last, so_far=self._row(TrialState.STOPPED, ""))
        self._watch.look_now(self._pids)
        if self._completed is not None:
            return self._left(measured(self._completed, message["ceilings"]))
        state, reason = endings.told(message["result"], self._watch.telemetry)
        if state is TrialState.FAILED and (cause := endings.gave_up(self._others, self._log)):
            state, reason = cause
        row = measured(self._row(state, reason), message["result"])
        if not message.get("more"):
            return self._left(row)
        self._completed = row
        return None

    def _died(self, rank: int, code: int | None) -> TrialResult:
        who = f"rank {rank}" if self._launch.demand.ranks > 1 else "the training process"
        ending = endings.died(who, code, self._watch.telemetry)
        if code == GAVE_UP:
            ending = endings.gave_up(self._others, self._log) or ending
        return self._ended(self._row(*ending))

    def _left(self, row: TrialResult) -> TrialResult:
        """Of a process that has said its last word, and so is about to exit."""
        self._is_leaving = True
        return row if row.state is TrialState.COMPLETED else self._ended(row)

    def _ended(self, row: TrialResult) -> TrialResult:
        # A trial that has completed has, whatever becomes of it while its ceilings are taken.
        row = endings.without_ceilings(self._completed, row)
        self._hang_up()
        if row.state is TrialState.FAILED:
            # A process that died before it had its own output left its words with the server.
            tail = tail_of(self._log) or tail_of(self._servers().with_suffix(".log"))
            return replace(row, reason=f"{row.reason}\n{tail}".rstrip())
        return row

    def _try_again(self, row: TrialResult) -> bool:
        """Whether a failed attempt is followed by another, which is then started."""
        if row.state is not TrialState.FAILED or self._num_failures >= self._launch.retries:
            return False
        self._num_failures += 1
        self._is_retry = True
        if not self._start_again():
            return False
        reason = row.reason.strip().partition("\n")[0]
        self._notes.append(f"{self._name} is tried again, since it failed: {reason}")
        return True

    def _run_again(self, row: TrialResult) -> bool:
        """Whether a disturbed trial runs again from its beginning, which it does once."""
        disturbed = row.tags.get("contaminated", "false")
        if row.state is not TrialState.COMPLETED or self._disturbed or disturbed == "false":
            return False
        self._hang_up()
        shutil.rmtree(self._checkpoints, ignore_errors=True)
        if not self._start_again():
            return False
        self._disturbed = row
        self._notes.append(f"{self._name} is run again, since other load disturbed it: {disturbed}")
        self._is_retry, self._last = False, None
        self._started_at, self._started_s = time.time(), self._time.now()
        return True

    def _start_again(self) -> bool:
        self._attempt += 1
        try:
            self._start()
        except (ServerError, LookupError, OSError):
            return False  # the row of the attempt before stands
        return True

    # -- what it may have

    def _over_limit(self, num_bytes: int) -> TrialResult:
        """Ends a trial with too much memory; it is asked first how far it has come."""
        with suppress(ProcessLookupError):
            os.kill(self._process.pid, LEAVE_SIGNAL)
        words = result_within(self._process.channel, LAST_WORDS_S) or {}
        reported = f"after step {self._last.step}" if self._last else "before its first report"
        reason = self._watch.over_limit(num_bytes, words.get("at") or reported)
        row = self._row(TrialState.INFEASIBLE, reason)
        return self._ended(replace(row, metrics={**row.metrics, **words.get("metrics", {})}))

    def _without_cores(self, reason: str) -> None:
        """The trial goes on, on whichever cores the kernel gives it."""
        self._watch.without_cores()
        self._notes.append(f"a process could not be bound to its cores: {reason}")

    @property
    def _watch(self) -> AttemptMonitor:
        assert self._monitor is not None, "it has been started"
        return self._monitor

    @property
    def _process(self) -> ForkedProcess:
        assert self._main is not None, "it has been started"
        return self._main

    @property
    def _pids(self) -> list[int]:
        return [self._process.pid, *(other.pid for other in self._others)]

    # -- the pieces

    @property
    def _checkpoints(self) -> Path:
        return self._launch.scratch / "checkpoints" / self._launch.trial.id

    def _start_here(self, launch: Launch, rank: Rank) -> RankProcess:
        return ForkedProcess(self._servers(), request(launch, rank, self._log))

    def _hang_up(self) -> None:
        if self._is_leaving:
            self._process.poll(STOP_GRACE_S)
            self._is_leaving = False
        for process in (self._main, *self._others):
            if process is not None:
                process.hang_up()
        self._others = []

    def _row(self, state: TrialState, reason: str) -> TrialResult:
        last, lease = self._last, self._lease
        telemetry = self._watch.telemetry
        self._notes += [telemetry.note] if telemetry.note else []
        node = {**node_tags(), "allocator": self._launch.demand.allocator}
        tags = {**node, **(last.tags if last else {}), **self._watch.tags()}
        tags |= endings.rerun_tag(self._disturbed)
        return TrialResult(
            state=state,
            reason=reason,
            metrics={**(last.metrics if last else {}), **telemetry.figures()},
            tags={**tags, "attempts": str(self._attempt + 1)},
            started_at=self._started_at,
            wall_s=round(self._time.now() - self._started_s, 3),
            node=platform.node(),
            device=telemetry.device,
            cores=len(lease.cores) if lease else None,
            isolation=str(lease.isolation) if lease else "",
        )
