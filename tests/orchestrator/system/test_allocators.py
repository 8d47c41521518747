"""Allocators of real processes: one left at its default shows in page faults."""

import os

import pytest

from orchestrator.system.allocators import allocator_environment, find_jemalloc
from tests.helping import python

MIB = 40
"""Over 32 MiB glibc's default maps memory anew for each allocation, and returns it at once."""
NUM_ALLOCATIONS = 20
ALLOCATE = f"""
import ctypes, resource
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
def touch():
    block = libc.malloc({MIB << 20})
    ctypes.memset(block, 1, {MIB << 20})
    libc.free(block)
touch()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range({NUM_ALLOCATIONS}):
    touch()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults_per_allocation(allocator: str) -> float:
    done = python("-c", ALLOCATE, env=allocator_environment(allocator, os.environ))
    return int(done.stdout) / NUM_ALLOCATIONS


@pytest.mark.parametrize("allocator", ["tuned", "jemalloc"])
def test_an_allocator_keeps_its_memory(allocator: str) -> None:
    if allocator == "jemalloc" and find_jemalloc() is None:
        pytest.skip("jemalloc is not installed")
    assert faults_per_allocation(allocator) < MIB * 2**20 / 4096 / 10


USERS_OWN = {
    "LD_PRELOAD": "/opt/lib/libjemalloc.so.2 /opt/lib/libfaketime.so:libtcmalloc_minimal.so.4",
    "MALLOC_TOP_PAD_": "1",
    "MALLOC_CONF": "dirty_decay_ms:0",
    "LANG": "C.UTF-8",
}


@pytest.mark.parametrize(("allocator", "top_pad"), [("default", None), ("tuned", str(2**28))])
def test_another_allocator_of_the_user_is_taken_out(allocator: str, top_pad: str | None) -> None:
    environment = allocator_environment(allocator, USERS_OWN)
    assert environment["LD_PRELOAD"] == "/opt/lib/libfaketime.so"
    assert environment["LANG"] == "C.UTF-8"
    assert "MALLOC_CONF" not in environment
    assert environment.get("MALLOC_TOP_PAD_") == top_pad


def test_jemalloc_that_is_not_installed_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("orchestrator.system.allocators.find_jemalloc", lambda: None)
    with pytest.raises(LookupError, match="jemalloc is not installed"):
        allocator_environment("jemalloc", {})
