"""An allocator left at its default shows in a trial's faults per step."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator import Demand
from orchestrator.execution.leases import CoreLeases
from orchestrator.execution.process.fork_client import ForkServers
from orchestrator.system.allocators import allocator_environment, find_jemalloc
from orchestrator.trial import TrialState
from tests.orchestrator.execution.supervised import PRELOAD, launch_of, run

MIB = 40
"""Over 32 MiB glibc's default maps memory anew each time, whatever was given back before."""
INSTALLED = ["tuned", "default", *(["jemalloc"] if find_jemalloc() else [])]


@pytest.fixture(scope="module")
def servers() -> Iterator[ForkServers]:
    """Fork servers of every allocator."""
    made = ForkServers()
    made.warm([(allocator, PRELOAD) for allocator in INSTALLED])
    yield made
    made.close()


def faults_per_step(servers: ForkServers, folder: Path, allocator: str) -> float:
    demand = Demand(allocator=allocator)
    launch = launch_of(folder, allocator, act="allocate", mib=MIB, demand=demand)
    result = run(launch, servers, CoreLeases(folder / "locks")).result
    assert result.state is TrialState.COMPLETED, result.reason
    return result.metrics["faults_per_step"]


BROUGHT = {
    "LD_PRELOAD": "/opt/lib/libjemalloc.so.2 /opt/lib/libfaketime.so:libtcmalloc_minimal.so.4",
    "GLIBC_TUNABLES": "glibc.malloc.trim_threshold=1:glibc.rtld.optional_static_tls=2048",
    "MALLOC_TOP_PAD_": "1",
    "MALLOC_CONF": "dirty_decay_ms:0",
    "LANG": "C.UTF-8",
}


@pytest.mark.parametrize("allocator", ["default", "tuned"])
def test_another_allocator_of_the_user_s_is_taken_out(allocator: str) -> None:
    found = allocator_environment(allocator, BROUGHT)
    assert found["LD_PRELOAD"] == "/opt/lib/libfaketime.so"
    assert found["GLIBC_TUNABLES"] == "glibc.rtld.optional_static_tls=2048"
    assert found["LANG"] == "C.UTF-8"
    assert "MALLOC_CONF" not in found
    assert found.get("MALLOC_TOP_PAD_", "") == ("" if allocator == "default" else str(2**28))
    assert "LD_PRELOAD" not in allocator_environment(allocator, {"LD_PRELOAD": "libmimalloc.so"})
    assert "GLIBC_TUNABLES" not in allocator_environment(allocator, {"LANG": "C"})


@pytest.mark.skipif(find_jemalloc() is None, reason="jemalloc is not installed")
def test_jemalloc_keeps_what_it_has(servers: ForkServers, tmp_path: Path) -> None:
    found = allocator_environment("jemalloc", BROUGHT)["MALLOC_CONF"]
    assert found == "dirty_decay_ms:-1,muzzy_decay_ms:-1", "and not the user's own"
    default = faults_per_step(servers, tmp_path, "default")
    jemalloc = faults_per_step(servers, tmp_path, "jemalloc")
    assert jemalloc < default / 10, (jemalloc, default)


def test_the_default_allocator_shows_in_the_faults(servers: ForkServers, tmp_path: Path) -> None:
    tuned = faults_per_step(servers, tmp_path, "tuned")
    default = faults_per_step(servers, tmp_path, "default")
    assert default == pytest.approx(MIB * 2**20 / 4096, rel=0.1), "every page, in every step"
    assert tuned < default / 10, (tuned, default)
