"""File systems that are full, read-only or gone: one sentence, and nothing is lost.

    python -m benchmarks.reliability.file_systems

Each place that a run writes to is a small file system of its own, in a namespace of the command. It
is filled, made read-only or emptied before the run, or in its middle. It takes the rights to mount.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from benchmarks.reliability.forked import Ended, command, preload
from benchmarks.reliability.made_trials import TRIAL_S, make_trials_up
from benchmarks.reliability.table import Counts, table
from benchmarks.side_by_side import environment_lines
from orchestrator.arguments import Parser

NUM_TRIALS: Final = 4
SWEEP: Final = """
import time
from orchestrator import Isolation, Sweep, Trainable, both, choice, knobs, maximize
from orchestrator.search import Grid


@knobs
class Config:
    lr: float = both(default=1.0, gt=0, doc="a number")


def train(config, run):
    for epoch in run.epochs():
        for _ in run.batches([1] * 30, samples=lambda batch: 8):
            time.sleep(0.01)
        run.checkpoint({"epoch": epoch})
        run.report(val_acc=0.5)


SWEEP = Sweep(
    Trainable(train, Config, reports=[maximize("val_acc")], preload=(), name="written"),
    question="What is lost?", space=Config(lr=choice(1.0, 2.0, 3.0, 4.0)), epochs=2, search=Grid(),
    confirm=0, max_confirm=0, max_repeats=1, check_isolated=0, isolation=Isolation.SHARED,
)
"""
PLACES: Final = {
    "run directory": "out", "folder of run directories": "runs", "TMPDIR": "tmp",
    "cache of data": "cache", "folder of core leases": "leases", "home": "home",
    "folder of MLflow's database": "mlflow", "folder of the sweep file": "sweeps",
}  # fmt: skip
"""Places that a run writes to, each with its folder here."""
OF_TRIALS: Final = ("TMPDIR", "folder of core leases")
"""Places that trials' own processes use; elsewhere the trials are made up."""

_LIBC: Final = ctypes.CDLL(None, use_errno=True)
_NEW_MOUNTS: Final = 0x00020000
_READ_ONLY, _REMOUNT, _PRIVATE, _ALL = 1, 32, 1 << 18, 1 << 14


def _mount(kind: bytes, place: Path | str, flags: int, data: bytes = b"") -> None:
    if _LIBC.mount(kind, os.fsencode(place), kind, flags, data):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(place))


def mounted(place: Path, size: str) -> None:
    """Give this process a file system of its own at ``place``, with what was there."""
    if _LIBC.unshare(_NEW_MOUNTS):
        raise OSError(ctypes.get_errno(), "mounts cannot be unshared")
    _mount(b"none", "/", _PRIVATE | _ALL)
    content = {path.name: path.read_bytes() for path in place.iterdir() if path.is_file()}
    _mount(b"tmpfs", place, 0, f"size={size}".encode())
    for name, data in content.items():
        (place / name).write_bytes(data)


def filled(place: Path) -> None:
    """Leave no room at ``place``."""
    with suppress(OSError), (place / ".filling").open("wb") as file:
        while True:
            file.write(b"x" * 65536)
            file.flush()


def read_only(place: Path) -> None:
    """Make ``place`` read-only, as a kernel does after an error of its disk."""
    for _ in range(50):  # refused while a file is open for writing: then what is new is refused
        with suppress(OSError):
            _mount(b"tmpfs", place, _READ_ONLY | _REMOUNT)
            return
        time.sleep(0.02)
    filled(place)


def removed(place: Path) -> None:
    """Remove all that is in ``place``."""
    for path in place.iterdir():
        shutil.rmtree(path, ignore_errors=True)
        with suppress(OSError):
            path.unlink()


FAULTS: Final[dict[str, Callable[[Path], None]]] = {
    "full": filled, "read-only": read_only, "removed": removed,
}  # fmt: skip


def _once_a_trial_has_ended(journal: Path, fault: Callable[[Path], None], place: Path) -> None:
    """Make the fault once the journal has a trial that has finished."""
    while True:
        with suppress(OSError):
            if b'"finished"' in journal.read_bytes():
                break
        time.sleep(0.01)
    fault(place)


def outcome(place: str, fault: str, when: str, folder: Path) -> tuple[Ended, Counts]:
    """Run a sweep with a fault, then go on with it without; see that nothing is lost."""
    for name in PLACES.values():
        (folder / name).mkdir()
    (folder / "sweeps" / "written.py").write_text(SWEEP)
    own = folder / PLACES[place]
    kept = folder / "kept"
    run = folder / ("runs" if place == "folder of run directories" else "out") / "run"
    env = {
        "TMPDIR": str(folder / "tmp"), "SWEEP_CACHE": str(folder / "cache"),
        "SWEEP_LEASES": str(folder / "leases"), "HOME": str(folder / "home"), TRIAL_S: "0.3",
    }  # fmt: skip
    words: list[str | Path] = [
        folder / "sweeps" / "written.py", "--out", run, "--executor", "inline",
        "--tracking-uri", f"sqlite:///{folder}/mlflow/mlflow.db",
    ]  # fmt: skip
    if place != "folder of MLflow's database":
        words = [*words[:-2], "--no-mlflow"]

    def before() -> None:
        tempfile.tempdir = env["TMPDIR"]
        mounted(own, "3m" if "MLflow" not in place else "6m")
        if when == "before":
            FAULTS[fault](own)
        else:
            waiting = (run / "journal.jsonl", FAULTS[fault], own)
            threading.Thread(target=_once_a_trial_has_ended, args=waiting, daemon=True).start()
        # The file system goes with the process: what is in it at the end is looked at afterwards.
        if place not in OF_TRIALS:
            make_trials_up()
        _at_the_end(lambda: shutil.copytree(run, kept, symlinks=True))

    ended = command(words, folder=folder, env=env, before=before, timeout_s=90)
    first = _finished(kept)
    counts = Counts(
        rounds=1, hung=int(ended.code is None), tracebacks=int(ended.has_traceback),
        wrong=int(not _well(ended)),
    )  # fmt: skip
    if not first:  # nothing was started, or a fault before the first trial
        return ended, counts
    shutil.rmtree(run, ignore_errors=True)
    run.parent.mkdir(exist_ok=True)
    shutil.copytree(kept, run)
    (folder / "sweeps" / "written.py").write_text(SWEEP)
    for name in PLACES.values():
        (folder / name).mkdir(exist_ok=True)

    def again_before() -> None:
        tempfile.tempdir = env["TMPDIR"]
        if place not in OF_TRIALS:
            make_trials_up()

    again = command(
        [folder / "sweeps" / "written.py", "--resume", run, *words[3:]], folder=folder, env=env,
        before=again_before, timeout_s=90,
    )  # fmt: skip
    second = _finished(run)
    resumed = Counts(
        lost=NUM_TRIALS - len(second), repeated=sum(count > 1 for count in second.values()),
        hung=int(again.code is None), wrong=int(again.code not in (0, None)),
        tracebacks=int(again.has_traceback and not ended.has_traceback),
    )  # fmt: skip
    return Ended(code=ended.code, output=f"{again.output}\n-- resumed: {again.code}"), (
        counts + resumed
    )


def _well(ended: Ended) -> bool:
    """Return True if a command did what it was asked, or said in a sentence why it could not."""
    if ended.code in (0, None):
        return True
    return ended.code in (1, 2) and "error: " in ended.output


def _finished(run: Path) -> Counter[str]:
    """Return how often each trial of a run has finished."""
    journal = run / "journal.jsonl"
    lines = journal.read_bytes().splitlines() if journal.exists() else []
    events = [json.loads(line) for line in lines if line.endswith(b"}")]
    return Counter(event["trial_id"] for event in events if event["event"] == "finished")


def _at_the_end(act: Callable[[], object]) -> None:
    """Call ``act`` when this process leaves by ``os._exit``."""
    leave = os._exit

    def leaving(code: int) -> None:
        with suppress(OSError, shutil.Error):
            act()
        leave(code)

    os._exit = leaving  # type: ignore[assignment]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; return 1 where something went wrong."""
    parser = Parser(prog="python -m benchmarks.reliability.file_systems")
    parser.add_argument("--only", default="", help="part of a place's or a fault's name")
    options = parser.parse_args(arguments)
    preload()
    totals = dict.fromkeys(PLACES, Counts())
    for place in PLACES:
        for fault in FAULTS:
            for when in ("meanwhile", "before"):
                if options.only not in f"{place} {fault} {when}":
                    continue
                with tempfile.TemporaryDirectory(
                    prefix="fs-", ignore_cleanup_errors=True
                ) as folder:
                    ended, counts = outcome(place, fault, when, Path(folder))
                totals[place] += counts
                if not counts.is_clean or options.only:
                    text = f"-- {place}: {fault}, {when}: {ended.code}\n{ended.output[-2500:]}\n"
                    sys.stderr.write(text)
    print("\n".join(environment_lines("pandas", "torch")), end="\n\n")
    print(table(totals.items(), first="full, read-only, removed", without=("leaks",)))
    return 0 if sum(totals.values(), Counts()).is_clean else 1


if __name__ == "__main__":
    sys.exit(main())
