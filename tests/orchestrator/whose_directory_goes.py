"""``python -m orchestrator``, whose run directory goes once a trial has finished.

``$GOES`` says how: it is ``removed``, or ``moved`` beside.
"""

import os
import shutil
import sys
import time
from pathlib import Path
from threading import Thread

from orchestrator.cli import main


def _take(out: Path) -> None:
    journal = out / "journal.jsonl"
    while not (journal.exists() and b'"finished"' in journal.read_bytes()):
        time.sleep(0.01)
    if os.environ["GOES"] == "removed":
        shutil.rmtree(out)
    else:
        out.rename(out.with_name("moved"))


if __name__ == "__main__":
    out = Path(sys.argv[sys.argv.index("--out") + 1])
    Thread(target=_take, args=(out,), daemon=True).start()
    sys.exit(main(sys.argv[1:]))
