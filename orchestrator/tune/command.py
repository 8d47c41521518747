"""The command ``tune``: processes of a script until it is known which loader settings are best."""

import argparse
import difflib
import json
import math
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any, Final

from orchestrator.arguments import Parser, a_path, command, whole_number
from orchestrator.errors import SweepError
from orchestrator.execution.leases import CoreLeases
from orchestrator.judge.sequential import EXIT_NOT_BETTER, Verdict
from orchestrator.locations import short
from orchestrator.system.import_path import environment_with
from orchestrator.texts import bounded_lines
from orchestrator.trial import Isolation
from orchestrator.tune.edit import with_arguments
from orchestrator.tune.plan import WITHIN, Confirm, Explore, Setting, Site, Work, wait_share

_HANGS_S: Final = 60.0
"""Time beyond its own after which a process of the script hangs."""
_LINES: Final = 12
"""Last lines of a failed script that are shown."""
_SENTENCES: Final = {
    "faster": "{script} trains {v.ratio:.2f} times as fast with {shown}\n",
    "slower": "{script} trains slower with {shown}, which was the fastest at first\n",
    "same": f"{{script}} trains as fast, within {WITHIN:.0%}, with {{shown}}\n",
    "not decided": "it is not decided whether {script} trains faster with {shown}\n",
}
_OF_TRAINER: Final = {
    "num_workers": "dataloader_num_workers", "prefetch_factor": "dataloader_prefetch_factor",
    "persistent_workers": "dataloader_persistent_workers", "pin_memory": "dataloader_pin_memory",
    "batch_size": "per_device_train_batch_size", "amp": "bf16",
}  # fmt: skip


def main(arguments: Sequence[str]) -> int:
    """Find the settings, confirm them, and print them.

    Returns:
        0 where other settings are faster, 3 where none is shown to be.

    Raises:
        SweepError: The script fails, or its training loop takes no loader that can be tuned.
    """
    options = _parser().parse_args(arguments)
    if not options.script.is_file():
        raise SweepError(f"tune: there is no script {options.script}")
    leases = CoreLeases()
    sys.stderr.write(f"tune: {options.script} runs for about {options.seconds} s\n")
    lease = leases.acquire(leases.num_cores, Isolation.EXCLUSIVE, timeout_s=0)
    if lease is None:
        sys.stderr.write(f"waiting for {leases.what_for(leases.num_cores)}\n")
        lease = leases.acquire(leases.num_cores, Isolation.EXCLUSIVE, timeout_s=float("inf"))
    assert lease is not None
    try:
        with TemporaryDirectory(prefix="tune-") as folder:
            return _Tuning(options, leases.num_cores, Path(folder)).run()
    finally:
        lease.release()


def _parser() -> Parser:
    parser = Parser(
        prog=command("tune"),
        usage="%(prog)s [options] train.py [its arguments]",
        description="Runs a PyTorch training script as it is, while settings of the DataLoader of "
        "its training loop take turns; prints those that train fastest. Ends with 0 where they are "
        "faster than the script's own, else with 3. The script's own files are written as ever.",
    )
    parser.takes("--loader", "N", whole_number(1), "number of the loader, where there are several")
    parser.takes("--batch-size", "N,N", _sizes,
                 "other batch sizes to try: they change what is learned", [])  # fmt: skip
    parser.switch("--amp", "try autocast to bfloat16: it changes what is learned")
    parser.takes("--seconds", "N", whole_number(10), "time that it may take (default: 110)", 110)
    parser.switch("--apply", "write the settings into the script")
    parser.takes("--json", "FILE", a_path, "write the result to this file")
    parser.takes("script", "train.py", a_path, "the script")
    parser.add_argument("arguments", metavar="...", nargs=argparse.REMAINDER, help="its arguments")
    return parser


def _sizes(text: str) -> list[int]:
    return [whole_number(1)(each) for each in text.split(",")]


class _Tuning:
    """The processes of a script.

    Args:
        options: Those of the command line.
        num_cores: Cores that the script may use.
        folder: Folder for the files of the processes.
    """

    def __init__(self, options: argparse.Namespace, num_cores: int, folder: Path) -> None:
        self._options, self._num_cores, self._folder = options, num_cores, folder
        self._began = time.monotonic()

    def run(self) -> int:
        """Find the settings, confirm them, and print them; return the exit code."""
        number, script = self._options.loader, self._options.script
        work = self._slices(loader=number and number - 1)
        plan = work.plan
        assert isinstance(plan, Explore)
        own, best = plan.own, plan.best()
        _print_found(work, plan, script)
        if best == own and plan.rounds < plan.least:
            raise SweepError(
                f"tune: {script} ended before its settings were timed",
                "let it train for more epochs, or on more data",
            )
        site = work.sites[work.loader or 0]
        if best == own:
            sys.stdout.write(f"{script} trains fastest as it is\n")
            return self._write("same", plan, site)
        sys.stderr.write(f"confirming {best.shown(own)} in another process\n")
        confirm = self._slices(plan=Confirm(own, best), loader=work.loader).plan
        assert isinstance(confirm, Confirm)
        verdict = confirm.verdict()
        word = verdict.verdict if verdict is not None else "not decided"
        shown = _arguments(site, best.changes(own))
        sys.stdout.write(_SENTENCES[word].format(script=script, shown=shown, v=verdict))
        _print_figures(plan, verdict)
        if not (best.batch_size or best.amp):
            sys.stdout.write(f"learning: {self._learned(own, best, work.loader)}\n")
        if word == "faster":
            self._patch(site, best.changes(own))
        return self._write(word, plan, site, verdict)

    def _slices(self, plan: Explore | Confirm | None = None, loader: int | None = None) -> Work:
        """Run processes until the plan ends; the script may be over sooner."""
        num_slices = 0
        while True:
            work = self._process(plan=plan, loader=loader)
            plan = work.plan
            if work.turn is None or plan is None or len(plan.slices) == num_slices:
                return work
            num_slices = len(plan.slices)

    def _process(self, **more: Any) -> Work:  # noqa: ANN401 - of Work
        """Run the script in a process that does what ``Work(**more)`` says; return what it found.

        Raises:
            SweepError: The script has failed.
        """
        options, file = self._options, Path(mkdtemp(dir=self._folder)) / "work"
        until = self._began + 0.93 * options.seconds
        asked = Work(
            began_s=time.monotonic(), until_s=until, slice_s=min(options.seconds / 110, 1.0),
            num_cores=self._num_cores, batch_sizes=options.batch_size, amp=options.amp, **more,
        )  # fmt: skip
        file.write_bytes(pickle.dumps(asked))
        log = file.with_suffix(".log")
        words = [sys.executable, "-P", "-m", "orchestrator.tune.probe", str(file)]
        words += [str(options.script), *options.arguments]
        hangs = ""
        with log.open("wb") as output, subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
            env=environment_with(), start_new_session=True,
        ) as process:  # fmt: skip
            try:
                process.wait(max(until - time.monotonic(), 0) + _HANGS_S)
            except subprocess.TimeoutExpired:
                hangs = "it hangs"
            finally:
                with suppress(ProcessLookupError):  # of workers that wait
                    os.killpg(process.pid, signal.SIGKILL)
        work: Work = pickle.loads(file.read_bytes())
        if hangs and work.turn is not None:
            hangs += f" with {work.turn}"
        if error := hangs or work.error:
            lines = log.read_text(errors="replace").splitlines()[-_LINES:]
            text = bounded_lines("\n".join(lines))
            raise SweepError(f"tune: {options.script}: {error}", f"its last lines:\n{text}")
        return work

    def _learned(self, own: Setting, other: Setting, loader: int | None) -> str:
        """Return whether the first batches and losses are the same with both settings."""

        def learned(setting: Setting) -> Sequence[Sequence[Any]]:
            return self._process(checked=setting, loader=loader).learned

        with ThreadPoolExecutor(2) as pool:  # they are not timed
            first, second = pool.map(learned, (own, other))
        number = min(len(first[1]), len(second[1]))
        same = [one[:number] == two[:number] for one, two in zip(first, second, strict=True)]
        if same[0] and same[1] and same[2]:
            return f"the first {number} batches and losses are the same, bit by bit"
        if same[0] and same[1]:
            return (
                f"the first {number} batches are the same, bit by bit; their losses differ, as "
                "the script's own random numbers do from run to run"
            )
        if same[0]:
            return (
                f"the first {number} batches have the same samples in the same order; their values "
                "differ, since each worker draws its own random augmentations"
            )
        return "the order of samples differs from run to run: the script seeds its shuffling itself"

    def _patch(self, site: Site | None, values: Mapping[str, Any]) -> None:
        """Show the change of the script; with ``--apply`` write it."""
        values = {name: value for name, value in values.items() if name != "amp"}
        if site is None or site.framework or not values:
            return
        file = Path(site.file)
        text = file.read_text("utf-8")
        new = with_arguments(text, site.line, site.column, values)
        if new is None:
            sys.stdout.write(f"{short(file)}:{site.line}: takes its arguments from elsewhere\n")
            return
        name, old, lines = str(short(file)), text.splitlines(True), new.splitlines(True)
        sys.stdout.write("".join(difflib.unified_diff(old, lines, name, name, n=1)))
        if self._options.apply:
            file.write_text(new, "utf-8")
            sys.stdout.write(f"written: {name}\n")

    def _write(
        self, word: str, plan: Explore, site: Site | None, verdict: Verdict | None = None
    ) -> int:
        """Write the result where it is asked for; return the exit code."""
        if self._options.json is not None:
            names = ("ratio", "low", "high", "pairs")
            figures = {name: verdict and getattr(verdict, name) for name in names}
            about = {
                "verdict": word, "settings": plan.best().changes(plan.own), **figures,
                "own": asdict(plan.own), "site": site and site._asdict(),
                "seconds": round(time.monotonic() - self._began, 1),
                "gains": {str(each): math.exp(gain) for each, gain in plan.gains.items()},
            }  # fmt: skip
            self._options.json.write_text(f"{json.dumps(about)}\n")
        return 0 if word == "faster" else EXIT_NOT_BETTER


def _arguments(site: Site | None, changes: Mapping[str, Any]) -> str:
    """Return arguments as the user writes them: of a DataLoader, or of TrainingArguments."""
    by_trainer = site is not None and site.framework == "transformers"
    names = _OF_TRAINER if by_trainer else {}
    text = ", ".join(f"{names.get(name, name)}={value!r}" for name, value in changes.items())
    return f"TrainingArguments({text})" if by_trainer else f"DataLoader(..., {text})"


def _print_found(work: Work, plan: Explore, script: Path) -> None:
    """Print the loader, and the speed with each setting."""
    size = f" of {work.batch_size}" if work.batch_size else ""
    places = [str(script) if s is None else f"{short(Path(s.file))}:{s.line}" for s in work.sites]
    sys.stdout.write(
        f"{places[work.loader or 0]}: the training loop's loader, {work.batches} batches{size}, "
        f"num_workers={plan.own.num_workers}\n"
    )
    for number, place in enumerate(places):
        if number != work.loader:
            sys.stdout.write(f"  another one: {place} (--loader {number + 1})\n")
    for setting, gain in sorted(plan.gains.items(), key=lambda item: -item[1]):
        speed = mean(each.samples_per_s for each in plan.slices if each.setting == setting)
        waits = wait_share(plan.slices, setting)
        sys.stdout.write(
            f"  {math.exp(gain):5.2f}x {speed:10,.0f} samples/s  waits {waits:4.0%}  "
            f"{setting.shown(plan.own)}\n"
        )
    for setting, why in plan.failed.items():
        sys.stdout.write(f"  fails: {setting.shown(plan.own)}: {why}\n")


def _print_figures(plan: Explore, verdict: Verdict | None) -> None:
    """Print what the answer rests on, and what bounds a step."""
    if verdict is not None:
        sys.stdout.write(
            f"confirmed: {verdict.ratio:.3f}x, 95 % interval {verdict.low:.3f} to "
            f"{verdict.high:.3f}, {verdict.pairs} pairs of slices that did not select it\n"
        )
    before, after = (wait_share(plan.slices, each) for each in (plan.own, plan.best()))
    bound = "the loader" if after > 0.5 else "the step itself"
    sys.stdout.write(
        f"bound: it waits for the loader {before:.0%} of the time, then {after:.0%}: {bound} takes "
        "most\n"
    )
