"""The supervisor of one trial: starts its processes, hears them, and writes its row.

Whatever happens to a training process, an exit, a signal, no memory, silence, becomes a
:class:`TrialResult`. So one trial cannot hurt another or the sweep.
"""

from __future__ import annotations

import json
import platform
import shutil
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Protocol

from orchestrator.execution.base import Launch, Rank
from orchestrator.execution.cores import CoreLeases, Lease
from orchestrator.execution.servers import ForkedProcess, ServerError
from orchestrator.execution.telemetry import Telemetry
from orchestrator.trial import Report, TrialResult, TrialState

POLL_S = 0.25
"""How often a silent process is looked at."""
STOP_GRACE_S = 2.0
"""How long a stopped trial may take to leave its loop before it is killed."""
SILENCE_LIMIT_S = 3600.0
"""A process that has not reported for so long is taken to be stuck."""
LOG_LINES = 20


@dataclass(frozen=True, kw_only=True)
class Update:
    """A report, and the row that the trial would have if it ended with it."""

    report: Report
    so_far: TrialResult


class RankProcess(Protocol):
    """A process that trains one rank, on this node or on another."""

    def poll(self) -> int | None:
        """Its exit code, or None while it runs."""

    def hang_up(self) -> None:
        """Kills it and everything it has started."""


StartRank = Callable[[Launch, Rank], RankProcess]
"""Starts a rank other than 0."""


class Supervisor:
    """Runs one trial, one attempt after the other if it fails."""

    def __init__(
        self,
        launch: Launch,
        servers: Callable[[], Path],
        *,
        leases: CoreLeases | None = None,
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
        self._leases = leases or CoreLeases()
        self._gpus = gpus
        self._start_rank = start_rank or self._start_here
        self._lease: Lease | None = None
        self._main: ForkedProcess | None = None
        self._others: list[RankProcess] = []
        self._attempt = 0
        self._last: Report | None = None
        self._started_at = time.time()
        self._began = time.monotonic()
        self._heard = self._began
        self._telemetry = Telemetry()
        self._log = launch.scratch / "logs" / f"{launch.trial.id}.log"

    # -- life of a trial

    @property
    def has_started(self) -> bool:
        """Whether its processes have been started."""
        return self._main is not None

    def acquire_cores(self, timeout_s: float) -> bool:
        """Waits for the trial's cores; returns whether it got them."""
        self._lease = self._leases.acquire(
            self._launch.num_cores, self._launch.isolation, timeout_s=timeout_s
        )
        return self._lease is not None

    def start(self) -> None:
        """Starts every rank of the trial.

        Raises:
            ServerError: The fork server did not come up.
        """
        self._log.parent.mkdir(parents=True, exist_ok=True)
        if self._attempt == 0:
            shutil.rmtree(self._checkpoints, ignore_errors=True)
        self._telemetry = Telemetry(gpus=self._gpus[0])
        demand = self._launch.demand
        master = ("127.0.0.1", _free_port()) if demand.ranks > 1 else None
        ranks = [self._rank(index, master) for index in range(demand.ranks)]
        self._main = ForkedProcess(self._servers(), request(self._launch, ranks[0], self._log))
        # From here on, not from before: the server may have had its imports to do first.
        self._began = self._heard = time.monotonic()
        self._started_at = time.time() if self._attempt == 0 else self._started_at
        self._others = [self._start_rank(self._launch, rank) for rank in ranks[1:]]

    def next_update(self, timeout_s: float | None = None) -> Update | TrialResult | None:
        """Waits for the next report or for the end; None if neither came in time.

        After an :class:`Update`, :meth:`answer` must be called before this again.
        """
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while deadline is None or time.monotonic() < deadline:
            heard = self._listen()
            if isinstance(heard, TrialResult) and self._try_again(heard):
                continue
            if heard is not None:
                return heard
        return None

    def answer(self, *, stop: bool) -> None:
        """Tells the training process whether to go on after its report."""
        assert self._main is not None
        try:
            self._main.channel.send_bytes(json.dumps({"stop": stop}).encode())
        except OSError:
            return  # it has died; the next update says so
        if stop:
            self._listen_until_exit(STOP_GRACE_S)
            self.close()

    def close(self) -> None:
        """Kills what still runs and gives the cores back. Safe to call more than once."""
        self._hang_up()
        if self._lease is not None:
            self._lease.release()
        shutil.rmtree(self._checkpoints, ignore_errors=True)

    # -- one attempt

    def _listen(self) -> Update | TrialResult | None:
        assert self._main is not None
        self._telemetry.sample(self._main.pid)
        message = _receive(self._main.channel, POLL_S)
        if message is not None:
            self._heard = time.monotonic()
            return self._understood(message)
        if (code := self._main.poll()) is not None:
            late = _receive(self._main.channel, 0)
            return self._understood(late) if late else self._died(0, code)
        for index, other in enumerate(self._others, start=1):
            if (code := other.poll()) not in (None, 0):
                return self._died(index, code)
        return self._overdue()

    def _understood(self, message: dict[str, Any]) -> Update | TrialResult:
        if "report" in message:
            self._last = Report.from_json(message["report"])
            return Update(report=self._last, so_far=self._row(TrialState.STOPPED, ""))
        result = message["result"]
        row = self._row(TrialState(result["state"]), result["reason"])
        metrics = {**row.metrics, **result.get("metrics", {})}
        tags = {**row.tags, **result.get("tags", {})}
        return self._ended(
            replace(row, metrics=metrics, tags=tags, blocks=result.get("blocks", ()))
        )

    def _overdue(self) -> TrialResult | None:
        limit = self._launch.time_limit_s
        now = time.monotonic()
        if limit is not None and now - self._began > limit:
            reason = f"took longer than its time limit of {limit:g} s"
            return self._ended(self._row(TrialState.INFEASIBLE, reason))
        if now - self._heard > SILENCE_LIMIT_S:
            reason = f"no report for {SILENCE_LIMIT_S:g} s"
            return self._ended(self._row(TrialState.FAILED, reason))
        return None

    def _died(self, rank: int, code: int | None) -> TrialResult:
        who = f"rank {rank}" if self._launch.demand.ranks > 1 else "the training process"
        how = f"was killed by signal {-code}" if code and code < 0 else f"exited with code {code}"
        if code == -9 and self._telemetry.out_of_memory():
            reason = f"out of memory: the kernel killed {who} at {self._telemetry.peak_gib:.1f} GiB"
            return self._ended(self._row(TrialState.INFEASIBLE, reason))
        return self._ended(self._row(TrialState.FAILED, f"{who} {how}"))

    def _ended(self, row: TrialResult) -> TrialResult:
        self._listen_until_exit(STOP_GRACE_S)
        self._hang_up()
        if row.state is TrialState.FAILED:
            # A process that died before it had its own output left its words with the server.
            tail = tail_of(self._log, LOG_LINES) or tail_of(self._server_log(), LOG_LINES)
            return replace(row, reason=f"{row.reason}\n{tail}".rstrip())
        return row

    def _try_again(self, row: TrialResult) -> bool:
        """Whether a failed attempt is followed by another, which is then started."""
        if row.state is not TrialState.FAILED or self._attempt >= self._launch.retries:
            return False
        self._attempt += 1
        try:
            self.start()
        except ServerError:
            return False
        return True

    # -- the pieces

    def _server_log(self) -> Path:
        return self._servers().with_suffix(".log")

    @property
    def _checkpoints(self) -> Path:
        return self._launch.scratch / "checkpoints" / self._launch.trial.id

    def _rank(self, index: int, master: tuple[str, int] | None) -> Rank:
        assert self._lease is not None
        count = self._launch.demand.ranks
        share = max(len(self._lease.cores) // count, 1)
        own = self._lease.cores[index * share : (index + 1) * share] or self._lease.cores[-1:]
        bound = own if self._lease.isolation != "shared" else ()
        return Rank(
            index=index,
            world_size=count,
            cores=bound,
            num_cores=len(own),
            gpus=tuple(self._gpus[index]) if index < len(self._gpus) else (),
            master=master,
            attempt=self._attempt,
        )

    def _start_here(self, launch: Launch, rank: Rank) -> RankProcess:
        return ForkedProcess(self._servers(), request(launch, rank, self._log))

    def _listen_until_exit(self, timeout_s: float) -> None:
        assert self._main is not None
        self._main.poll(timeout_s)

    def _hang_up(self) -> None:
        for process in (self._main, *self._others):
            if process is not None:
                process.hang_up()
        self._others = []

    def _row(self, state: TrialState, reason: str) -> TrialResult:
        last, lease = self._last, self._lease
        metrics = {**(last.metrics if last else {}), **self._telemetry.figures()}
        return TrialResult(
            state=state,
            reason=reason,
            metrics=metrics,
            tags={**(last.tags if last else {}), "attempts": str(self._attempt + 1)},
            started_at=self._started_at,
            wall_s=round(time.time() - self._started_at, 3),
            node=platform.node(),
            device=self._telemetry.device,
            cores=len(lease.cores) if lease else None,
            isolation=str(lease.isolation) if lease else "",
        )


def request(launch: Launch, rank: Rank, log: Path) -> dict[str, Any]:
    """What a fork server is asked for, to run one rank of a trial."""
    return {"launch": launch.to_json(), "rank": rank.__dict__, "log": str(log)}


def tail_of(path: Path, num_lines: int) -> str:
    """The last lines of a trial's output."""
    if not path.exists():
        return ""
    return "\n".join(path.read_text(errors="replace").splitlines()[-num_lines:])


def _receive(channel: Connection, timeout_s: float) -> dict[str, Any] | None:
    """The next message, or None where none comes or the other end has gone."""
    try:
        if not channel.poll(timeout_s):
            return None
        message: dict[str, Any] = json.loads(channel.recv_bytes())
    except (EOFError, OSError):
        time.sleep(0.01)  # its exit status is on the way
        return None
    return message


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port
