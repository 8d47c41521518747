"""The warm start of a request: what its search is told of first."""

from __future__ import annotations

from dataclasses import replace

from orchestrator.data import PreparedData
from orchestrator.driver.earlier_runs import Here, read_warm_start
from orchestrator.driver.request import Request
from orchestrator.driver.warm_start import kept_warm_start
from orchestrator.execution.placement import cores_of_trial
from orchestrator.provenance.environment import environment


def with_warm_start(request: Request) -> Request:
    """Return the request with what its search is told of first, and a note of that.

    A resumed run is told what it was told when it was started.

    Raises:
        SweepError: See :func:`read_warm_start`; or what was told is not there any more.
    """
    options = request.options
    if request.before is not None:
        assert options.resume is not None, "a run before this one is one that is resumed"
        return replace(request, warm_start=kept_warm_start(options.resume, request.before))
    if not options.warm_start:
        return request
    found = environment(request.file)
    if request.replay is not None:
        table = request.replay.table.sweep
        found = {"hardware": table.hardware, "versions": table.versions}
    num_cores = cores_of_trial(request.sweep.cores_per_trial, request.here)
    here = Here(
        hardware=None if options.address else found["hardware"],
        versions=found["versions"],
        num_cores=None if options.address else num_cores,
    )
    warm_start = read_warm_start(options.warm_start, request.sweep, request.here, here)
    return replace(request, warm_start=warm_start, notes=(*request.notes, *warm_start.notes))


def require_same_data(request: Request, data: PreparedData | None) -> None:
    """Check that the earlier runs of a new run were on the same data.

    Raises:
        RunDirectoryError: One of them was not.
    """
    if request.before is not None:
        return
    fingerprint = data.fingerprint if data else ""
    if request.replay is not None:
        fingerprint = request.replay.table.sweep.data_fingerprint
    request.warm_start.require_data(fingerprint)
