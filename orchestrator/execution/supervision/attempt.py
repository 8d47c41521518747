"""Attempt: one try at a trial, from the start of its processes to one outcome.

Whatever happens to a training process (an exit, a signal, no memory, a stall) becomes a
:class:`TrialResult`. So one trial cannot hurt another or the sweep.
"""

import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from orchestrator.execution.leases import CoreLeases, Lease
from orchestrator.execution.process.fork_client import ForkedProcess, RankEnd, tail_of
from orchestrator.execution.process.messages import Message, Result
from orchestrator.execution.process.ranks import LOOPBACK, RankGroup, RankProcess, ranks_of
from orchestrator.execution.supervision import endings
from orchestrator.execution.supervision.attempt_monitor import AttemptMonitor, Progress
from orchestrator.kernel.executor import Launch, Rank, SliceEnd, Update
from orchestrator.provenance.environment import node_tags
from orchestrator.trial import TrialResult, TrialState

STOP_GRACE_S = 2.0
"""Longest wait for a stopped trial to leave its loop before it is killed."""


@dataclass(kw_only=True)
class Host:
    """A node, as the trials of a launch use it.

    Attributes:
        leases: Its cores.
        server: Returns the socket of the fork server of a launch.
        gpus: For each rank, the GPUs that it may use.
        address: Its address for ranks on other nodes.
        name: Its name in the rows of trials.
        notes: Texts for the user that were not taken yet.
    """

    leases: CoreLeases
    server: Callable[[Launch], Path]
    gpus: Sequence[Sequence[str]] = ((),)
    address: str = LOOPBACK
    name: str = field(default_factory=platform.node)
    notes: list[str] = field(default_factory=list)

    def start(self, launch: Launch, rank: Rank) -> RankProcess:
        """Start a rank other than 0."""
        return ForkedProcess(self.server(launch), launch, rank)

    def close(self) -> None:
        """Give back what the launch has taken of other nodes."""


class Attempt:
    """Try at a trial: a process for each rank, the messages of rank 0, and one row.

    Attributes:
        progress: State of the trial.
        restored_epochs: Epochs that the process found in a checkpoint; None until it has
            sent its first figures.
        may_end_otherwise: False if another attempt would fail in the same way.
    """

    def __init__(
        self, launch: Launch, lease: Lease, host: Host, progress: Progress, tags: Mapping[str, str]
    ) -> None:
        """Start every rank on the cores of ``lease``.

        Args:
            launch: The trial.
            lease: Its cores; the caller keeps the lease.
            host: The node.
            progress: State of the trial, for an attempt that continues from a checkpoint the one
                of the attempt before.
            tags: Tags of every row of this attempt; ``attempts`` is its number, from 1.

        Raises:
            ServerError: A fork server did not come up.
            LookupError: The trial's allocator is not installed.
        """
        self._launch, self._lease, self._host, self._tags = launch, lease, host, tags
        self.progress = progress
        self.restored_epochs: int | None = None
        self.may_end_otherwise = True
        self._completed: TrialResult | None = None
        self._is_leaving = False
        ranks = ranks_of(launch, lease, host.gpus, host.address)
        # Before the fork: it counts the kernel's kills for memory from here on.
        here = ranks[: len(ranks) // launch.demand.nodes]
        self._monitor = AttemptMonitor(launch, here, lease, host.leases, progress.now)
        self._group = RankGroup(launch, ranks, host.server(launch), host.start)
        # After the fork: the server may have had its imports to do first.
        progress.start()

    def next_event(self, timeout_s: float) -> Update | SliceEnd | TrialResult | None:
        """Wait for the next report, the end of the time slice, or the outcome.

        Returns:
            None where nothing came in time.
        """
        if excess := self._monitor.excess(self._group.pids):
            return self._out_of_memory(excess)
        # Checked first: a trial may report all the time.
        if reason := self._monitor.overdue() or self._monitor.fills_disk():
            return self._ended(self._row(TrialState.INFEASIBLE, reason))
        message = self._group.receive(timeout_s)
        if message is None:
            return self._exited()
        self._monitor.message_arrived()
        return self._handled(message)

    def begin_slice(self) -> None:
        """Begin the next time slice of a trial that was paused at the end of its last one."""
        # Clock and counters start while the processes are still stopped: all they do is in both.
        self.progress.start()
        self._monitor.telemetry.sample(self._group.pids, now=True)
        self._group.thaw()
        # The signal continues loader workers; the training process waits for this message.
        self._group.send("slice")

    def stop(self) -> None:
        """End the trial: it may leave its loop at its next report, if that comes soon."""
        self._group.send("stop")
        self._group.poll(STOP_GRACE_S)
        self.close()

    def close(self) -> None:
        """Kill what still runs. Safe to call more than once.

        A process that has sent its result exits first. That takes some milliseconds,
        in which the kernel frees its memory.
        """
        if self._is_leaving:
            self._group.poll(STOP_GRACE_S)
            self._is_leaving = False
        self._group.hang_up()
        self._monitor.telemetry.shared.remove()

    # -- messages

    def _handled(self, message: Message) -> Update | SliceEnd | TrialResult | None:
        match message:
            case {"slice_end": progress}:
                return self._pause() or SliceEnd(progress=progress)
            case {"report": report}:
                self.progress.last, self.restored_epochs = report, report.restored_epochs
                return Update(report=report, so_far=self._row(TrialState.STOPPED, ""))
            case {"result": result}:
                return self._result(result, has_more=message.get("more", False))
        if self._completed is None:  # they are measured after the training
            reason = "it sent ceilings before its result"
            return self._ended(self._row(TrialState.FAILED, reason))
        return self._left(endings.with_measurements(self._completed, message["ceilings"]))

    def _result(self, result: Result, *, has_more: bool) -> TrialResult | None:
        """Return the row of a trial that has sent its result, unless its ceilings follow."""
        self._monitor.telemetry.sample(self._group.pids, now=True)
        self.restored_epochs = result.get("restored_epochs", 0)
        self._host.notes.extend(result.get("notes", ()))
        self.may_end_otherwise = bool(result.get("again", True))
        ending = endings.result_ending(result, self._monitor.telemetry)
        if ending[0] is TrialState.FAILED and self._group.others:
            # Perhaps because another rank is lost: then that rank knows the cause.
            ending = self._first_failure({0: RankEnd(code=0, result=result)})
        row = endings.with_measurements(self._row(*ending), result)
        if not has_more:
            return self._left(row)
        self._completed = row
        return None

    def _pause(self) -> TrialResult | None:
        """Stop all processes of the trial; return its row if it ends for its memory.

        The training process waits for its next slice anyway. Its loader workers do not.
        """
        # Stopped before it is sampled: loader workers have run until now.
        self._group.freeze()
        self.progress.pause()
        excess = self._monitor.excess(self._group.pids, pauses=True)
        return self._out_of_memory(excess) if excess else None

    # -- ends

    def _exited(self) -> Update | SliceEnd | TrialResult | None:
        """Return the outcome if no message came because a process has ended or is stuck."""
        if (code := self._group.poll()) is not None:
            # Its last message may have come after the wait for one and before it exited.
            if last := self._group.receive(0):
                return self._handled(last)
            ending = endings.exit_ending("the training process", code, self._monitor.telemetry)
            if self._group.others:
                ending = self._first_failure({0: RankEnd(code=code)})
            return self._ended(self._row(*ending))
        if self._group.failed_ranks():
            return self._lost_a_rank()
        reason = self._monitor.stalled()
        return self._ended(self._row(TrialState.FAILED, reason)) if reason else None

    def _lost_a_rank(self) -> TrialResult | None:
        """Return the row if a rank other than 0 has failed.

        Rank 0 may be about to fail from it, or be the cause. Its result has its measurements.
        """
        result = self._group.result_within(endings.RANKS_WITHIN_S)
        if result is not None and result["state"] != TrialState.COMPLETED:
            return self._result(result, has_more=False)
        return self._ended(self._row(*self._first_failure({})))

    def _first_failure(self, of_rank_0: Mapping[int, RankEnd]) -> endings.Ending:
        """Return the ending of a trial of several ranks, once ranks that fail with it have ended.

        Args:
            of_rank_0: End of rank 0; empty if it is still running after the wait for it.
        """
        others = self._group.failed_ranks(endings.RANKS_WITHIN_S if of_rank_0 else 0.0)
        ends = {**of_rank_0, **others}
        ending, self.may_end_otherwise = endings.first_failure(ends, self._monitor.telemetry)
        return ending

    def _out_of_memory(self, excess: str) -> TrialResult:
        """End a trial with too much memory; its row has the figures of its last report."""
        last = self.progress.last
        at = f"after step {last.step}" if last else "before its first report"
        return self._ended(self._row(TrialState.INFEASIBLE, f"out of memory {at}: {excess}"))

    def _left(self, row: TrialResult) -> TrialResult:
        """Return the row of a process that has sent its last message, and so is about to exit."""
        self._is_leaving = True
        # A completed trial exits while its row is on its way; close() waits for that.
        return row if row.state is TrialState.COMPLETED else self._ended(row)

    def _ended(self, row: TrialResult) -> TrialResult:
        """Kill what still runs; return the row, with the end of the output if it failed."""
        row = endings.keep_completed(self._completed, row)
        # Closed before the output is read: by then everything has been written.
        self.close()
        if row.state is TrialState.FAILED:
            # A process that died before it had its own output wrote to the server's.
            server = self._host.server(self._launch)
            output = tail_of(self._launch.log) or tail_of(server.with_suffix(".log"))
            return replace(row, reason=f"{row.reason}\n{output}".rstrip())
        return row

    def _row(self, state: TrialState, reason: str) -> TrialResult:
        """Return the row that the trial has if it ends now."""
        telemetry, progress = self._monitor.telemetry, self.progress
        last, earlier_epochs = progress.last, progress.earlier_epochs
        tags = {**node_tags(), "allocator": self._launch.demand.allocator}
        tags |= {**(last.tags if last else {}), **self._monitor.tags(), **self._tags}
        metrics = {**(last.metrics if last else {}), **telemetry.figures()}
        if 0 < earlier_epochs <= (self.restored_epochs or 0):
            metrics["earlier_epochs"] = earlier_epochs  # of an earlier trial of the curve
        return TrialResult(
            state=state,
            reason=reason,
            metrics=metrics,
            tags=tags,
            started_at=progress.began_at,
            wall_s=round(progress.now(), 3),
            node=self._host.name,
            device=telemetry.gpus.device,
            cores=len(self._lease.cores),
            isolation=str(self._lease.isolation),
        )
