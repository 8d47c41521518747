"""The executors by their name on the command line.

Each is imported when it is made: Ray takes seconds, and ``--help`` must not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Final

from orchestrator.driver.signals import has_come
from orchestrator.errors import RunDirectoryError, SweepError

if TYPE_CHECKING:
    from orchestrator.execution.process.fork_servers import ForkServers
    from orchestrator.kernel.executor import Executor
    from orchestrator.replay.setup import Replay

Preload = Sequence[tuple[str, tuple[str, ...]]]
"""Allocators and the modules that their fork servers import."""


_NEEDED_LATER: Final = (
    "orchestrator.analysis.report.write",
    "orchestrator.analysis.report.page",
    "orchestrator.analysis.report.plot",
)
"""What the driver imports while Ray comes up, or short trials run: it takes a second."""


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """The surroundings that an executor is made for.

    Attributes:
        folder: A private one for all that the run leaves outside its run directory.
        preload: Fork servers to start right away.
        file: The sweep file, which a cluster's workers need as well.
        address: Address of an existing cluster, or None.
        max_concurrent: Most trials at the same time, or None for what fits.
        replay: The recorded runs to play, for the executor that does.
        is_long: True where a trial is known to take longer than a short one.
    """

    folder: Path
    preload: Preload
    file: Path
    address: str | None = None
    max_concurrent: int | None = None
    replay: Replay | None = None
    is_long: bool = False


def _inline(surroundings: Surroundings) -> Executor:
    from orchestrator.execution.inline import InlineExecutor

    return InlineExecutor(surroundings.preload, folder=surroundings.folder)


def _ray(surroundings: Surroundings) -> Executor:
    from orchestrator.execution.process.fork_servers import ForkServers

    servers = ForkServers(folder=surroundings.folder)
    if surroundings.address is not None:
        return _started_ray(surroundings, servers)
    servers.warm(surroundings.preload)  # their imports go on while Ray is imported and starts
    if surroundings.is_long:
        return _started_ray(surroundings, servers)
    from orchestrator.execution.inline import InlineExecutor
    from orchestrator.execution.local import LocalExecutor

    return LocalExecutor(
        InlineExecutor(servers=servers),
        lambda: _started_ray(surroundings, servers),
        imports=["orchestrator.execution.ray.executor", *_NEEDED_LATER],
    )


def _started_ray(surroundings: Surroundings, servers: ForkServers) -> Executor:
    address, folder = surroundings.address, surroundings.folder
    from orchestrator.execution.ray.executor import RayExecutor
    from orchestrator.execution.ray.local_ray import CannotStart
    from orchestrator.execution.ray.runtime_env import runtime_environment

    shipped = folder / "shipped"
    try:
        return RayExecutor(
            address=address,
            max_concurrent=surroundings.max_concurrent,
            runtime_env=runtime_environment(surroundings.file, shipped) if address else None,
            preload=surroundings.preload,
            folder=folder,
            servers=servers,
            imports=_NEEDED_LATER,
            is_over=has_come,
        )
    except ConnectionError as error:
        raise RunDirectoryError(
            f"--address {address}: no Ray cluster answers there: {error}",
            "start one with `ray start --head`, or leave --address out",
        ) from None
    except CannotStart as error:
        raise SweepError(
            f"Ray does not start on this machine ({error}); --executor inline goes without it"
        ) from None


def _replay(surroundings: Surroundings) -> Executor:
    assert surroundings.replay is not None, "a replay has a table"
    return surroundings.replay.executor(surroundings.max_concurrent)


@dataclass(frozen=True, kw_only=True)
class ExecutorKind:
    """An executor that the command line can name.

    Attributes:
        doc: Meaning, a few words of plain text.
        make: Makes it, its fork servers already on their way up.
        on_clusters: True where it runs trials on an existing cluster too.
        one_at_a_time: True where it never runs two trials at the same time.
        simulated: True where it plays recorded runs, and nothing is measured.
    """

    doc: str
    make: Callable[[Surroundings], Executor]
    on_clusters: bool = False
    one_at_a_time: bool = False
    simulated: bool = False


DEFAULT_EXECUTOR: Final = "ray"

EXECUTORS: Final[Mapping[str, ExecutorKind]] = {
    "ray": ExecutorKind(doc="Ray Tune", make=_ray, on_clusters=True),
    "inline": ExecutorKind(
        doc="one trial after the other without it", make=_inline, one_at_a_time=True
    ),
    "replay": ExecutorKind(doc="recorded runs on a simulated clock", make=_replay, simulated=True),
}
"""The executors by name. A new one is its file in ``execution`` and its entry here."""


@contextmanager
def closing(executor: Executor) -> Iterator[None]:
    """Close ``executor`` meanwhile: for a second or two Ray only waits for its processes."""
    thread = Thread(target=executor.close)
    thread.start()
    try:
        yield
    finally:
        thread.join()
