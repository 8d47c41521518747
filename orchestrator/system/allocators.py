"""Allocators of host memory: environment variables that a process has to be started with.

By default glibc returns freed memory to the kernel, and faults it in again page by page. The same
training loop in fresh processes ran at 9.8 to 14.4 k images/s so, with up to 5,000 page faults a
step in the slow ones, and at 13.4 to 14.9 k where glibc keeps its memory (``tuned``). jemalloc
returns by default what was not used for ten seconds. Interleaved on one core, LeNet ran at 11.7 k
images/s so, at 18.3 k where jemalloc keeps its memory, and at 17.7 k with ``tuned``.

An allocator reads these variables once, when its process starts. So they cannot be set in a
process that is forked: each allocator has its fork server.
"""

import ctypes.util
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

_LIBRARY = re.compile(r"lib(jemalloc|tcmalloc|mimalloc|tbbmalloc|hoard|snmalloc)[^/]*$")
"""Allocators that a user may have put into ``LD_PRELOAD``."""

_JEMALLOC_VARIABLE = "MALLOC_CONF"

# -1: unused pages are never given back to the kernel.
_KEEPING = "dirty_decay_ms:-1,muzzy_decay_ms:-1"

# Each of these also ends glibc's own adjustment of its thresholds, see mallopt(3).
_TUNED = {
    "MALLOC_TRIM_THRESHOLD_": str(2**32),
    "MALLOC_MMAP_THRESHOLD_": str(2**32),
    "MALLOC_TOP_PAD_": str(2**28),
}


def allocator_environment(allocator: str, environment: Mapping[str, str]) -> dict[str, str]:
    """Return ``environment``, changed so that a process started with it uses ``allocator``.

    Args:
        allocator: ``default``, ``tuned`` or ``jemalloc``.
        environment: Environment to start from. Settings of other allocators are taken out.

    Raises:
        LookupError: jemalloc is asked for and not installed.
    """
    settings = (*_TUNED, _JEMALLOC_VARIABLE)
    changed = {k: v for k, v in environment.items() if k not in settings}
    # What a user has set for all programs would change what each of the allocators means.
    preloaded = re.split(r"[ :]+", changed.pop("LD_PRELOAD", ""))
    kept = [library for library in preloaded if library and not _LIBRARY.search(library)]
    if allocator == "tuned":
        changed.update(_TUNED)
    if allocator == "jemalloc":
        library = find_jemalloc()
        if library is None:
            raise LookupError("jemalloc is not installed")
        # In front: of several libraries with a malloc the loader takes the first one's.
        kept.insert(0, library)
        changed[_JEMALLOC_VARIABLE] = _KEEPING
    return {**changed, "LD_PRELOAD": ":".join(kept)} if kept else changed


# Cached: find_library starts ldconfig, and a compiler or linker where that finds nothing.
@cache
def find_jemalloc() -> str | None:
    """Return the path or name of jemalloc's shared library, or None if it is not installed."""
    name = ctypes.util.find_library("jemalloc")
    if name is None:
        return None
    folders = ("/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib")
    paths = (Path(folder) / name for folder in folders)
    return next((str(path) for path in paths if path.exists()), name)
