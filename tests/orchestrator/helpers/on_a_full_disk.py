"""``python -m orchestrator`` on a disk where files cannot grow once a trial has finished.

With ``$ROOM_BYTES`` no file can be larger from the beginning.
"""

import os
import resource
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

from orchestrator.cli import main


def _fill(journal: Path) -> None:
    """Limit files as a full disk does: later writes fail, the processes live on."""
    while not (journal.exists() and b'"finished"' in journal.read_bytes()):
        time.sleep(0.01)
    _limit(journal.stat().st_size)


@contextmanager
def no_file_larger_than(num_bytes: int) -> Iterator[None]:
    """Limit the files of this process meanwhile: writing beyond fails, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    _limit(num_bytes)
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def _limit(num_bytes: int) -> None:
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (num_bytes, most))


if __name__ == "__main__":
    out = sys.argv[sys.argv.index("--out") + 1]
    if "ROOM_BYTES" in os.environ:
        _limit(int(os.environ["ROOM_BYTES"]))
    else:
        Thread(target=_fill, args=(Path(out, "journal.jsonl"),), daemon=True).start()
    sys.exit(main(sys.argv[1:]))
