"""Requests that are hostile, or typed in haste: options, what surrounds them, sweeps, resumptions.

Options as a word processor has them, values at the ends of what numbers hold, contradictions of
what was asked and what is there, files of other encodings.
"""

from __future__ import annotations

import codecs
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from benchmarks.reliability.bad_requests.cases import HEAD, Request, sweep
from benchmarks.reliability.bad_requests.paths import make_places

_INLINE: Final = ("--executor", "inline", "--no-mlflow")
_SHORT: Final = {"confirm": "0", "max_confirm": "0", "max_repeats": "1"}
_WHOLE: Final = HEAD + sweep(of_sweep=_SHORT)
_EITHER: Final = (0, 2, 3)
_ANSWERED: Final = (0, 3)
_RUN: Final = "run"

_OPTIONS: Final = (
    (("\u2014trials", "3"), (2,)), (("\u2013\u2013trials", "3"), (2,)), (("-trials", "3"), (2,)),
    (("---trials", "3"), (2,)), (("--TRIALS", "3"), (2,)), (("--data_root", "x"), (2,)),
    (("--trials 3",), (2,)), (("--trials", "3", "4"), (2,)), (("--trial=3",), (2,)),
    (("--res", "x"), (2,)), (("--conf", "0"), (2,)), (("--ver",), (2,)), (("--pl",), (2,)),
    (("-help",), (2,)), (("-v",), (2,)), (("--set", "lr", "=", "0.1"), (2,)),
    (("--set", "lr:0.1"), (2,)), (("--set", "\u201clr=0.1\u201d"), (2,)),
    (("--set", "lr\uff1d0.1"), (2,)), (("--set", "l\u0433=0.1"), (2,)),
    (("--set", "lr=0.1;workers=2"), (2,)), (("--set", "{'lr': 0.1}"), (2,)),
    (("--set", "lr=1e309"), (2,)), (("--set", "lr=5e-324"), _ANSWERED),
    (("--set", "lr=1.7976931348623157e308"), _ANSWERED), (("--set", "lr=\uff10.\uff11"), _EITHER),
    (("--set", "workers=9223372036854775807"), _EITHER), (("--set", "workers=-0"), _ANSWERED),
    (("--set", "lr=-0.0"), (2,)), (("--set", "mode=a\nb"), _ANSWERED),
    (("--set", "mode=\ufeffx"), _ANSWERED),
    (("--trials", "3.", "--plan"), (2,)), (("--trials", "\u00b3"), (2,)),
    (("--trials", "\uff13"), _EITHER), (("--seed", "2147483647", "--repeats", "2"), _EITHER),
    (("--time-budget", "1e-9h"), (2,)), (("--time-budget", "infm"), (2,)),
    (("--time-budget", "2099-01-01"), (2,)), (("--time-budget", "12:30"), (2,)),
    (("--core-hours", "1e308"), _EITHER), (("--core-hours", "5e-324"), _EITHER),
    (("--gpu-hours", "1"), (2,)),
    (("--cost", "cpu_hour=5e-324", "--max-cost", "5e-324"), _EITHER),
    (("--cost", "cpu_hour=0.04;gpu_hour=2"), (2,)), (("--cost", "cpu_hour=$0.04"), (2,)),
    (("--cost", "0.04"), (2,)), (("--confirm", "0", "--repeats", "100000", "--plan"), _EITHER),
    (("--no-mlflow=true",), (2,)), (("--no-mlflow", "no"), (2,)),
    (("--search", "grid", "--trials", "1"), _ANSWERED), (("--search", "nsga2"), _EITHER),
    (("--executor", "replay", "--download"), (2,)), (("--reuse-repeats",), (2,)),
    (("--nodes", "2"), (2,)), (("--download", "--plan"), _EITHER), (("a_folder",), (2,)),
    (("--out", "a_folder", "--plan"), _EITHER), (("--data", "a_folder"), (2,)),
    (("--experiment", "x", "--no-mlflow"), (2,)), (("--isolation", "shared,leased"), (2,)),
)  # fmt: skip
"""Arguments after the sweep file, with the exit codes that are right."""

_OF_SWEEP: Final = (
    ("space", "{'lr': uniform(5e-324, 1.7e308)}", "Random(4)", _EITHER),
    ("space", "{'lr': loguniform(5e-324, 1.7e308)}", "Random(4)", _EITHER),
    ("space", "{'lr': uniform(0.1, 1.0, step=1e-9)}", "Random(4)", _EITHER),
    ("space", "{'lr': uniform(0.1, 1.0, step=1e-9)}", "Optuna(4)", _EITHER),
    ("space", "{'lr': uniform(0.1, 1.0, step=1e-9)}", "Grid()", _EITHER),
    ("space", "{'lr': uniform(0.1, 1.0, step=float('inf'))}", "Grid()", (2,)),
    ("space", "{'lr': uniform(1.0, 1e300, step=1e-300)}", "Grid()", (2,)),
    ("space", "{'lr': uniform(0.1, 1.0, step=float('nan'))}", "Grid()", (2,)),
    ("space", "{'lr': normal(0.1, 0)}", "Grid()", _EITHER),
    ("space", "{'lr': normal(0.1, 0)}", "Random(3)", _EITHER),
    ("space", "{'workers': integers(0, 2**63 - 1)}", "Grid()", _EITHER),
    ("space", "{'workers': integers(0, 2**63 - 1)}", "Random(4)", _EITHER),
    ("space", "{'workers': integers(0, 2**63 - 1)}", "Optuna(4)", _EITHER),
    ("space", "{'workers': integers(1, 2**63 - 1, log=True)}", "Optuna(4)", _EITHER),
    ("space", "{'workers': integers(0, 10**400)}", "Grid()", (2,)),
    ("space", "{'mode': choice(*map(str, range(20_000)))}", "Random(3)", _EITHER),
    ("space", "{'mode': choice('a', 'A', 'a ', 'a\\u00a0', '\\u0430')}", "Grid()", _EITHER),
    ("space", "{'mode': choice('e\\u0301', '\\u00e9')}", "Grid()", _EITHER),
    ("space", "{'mode': choice('1', 'nan', 'None', 'True', '1e3')}", "Grid()", _EITHER),
    ("space", "{'lr': choice(1, 1.0, 1 + 1e-16)}", "Grid()", _EITHER),
    ("space", "{'lr': choice(0.1, 0.1 + 1e-17, 0.1 + 1e-16)}", "Grid()", _EITHER),
    ("space", "{'lr': {'grid_search': []}}", "Grid()", (2,)),
    ("space", "{'lr': {'grid_search': 3}}", "Grid()", (2,)),
    ("space", "{'lr': {'grid_search': None}}", "Grid()", (2,)),
    ("space", "{'lr': {'grid_search': 'ab'}}", "Grid()", (2,)),
    ("space", "None", "Grid()", (2,)), ("space", "{None: 1}", "Grid()", (2,)),
    ("space", "[('lr', 0.1)]", "Grid()", (2,)),
    ("objectives", "[maximize('val_acc'), minimize('val_acc')]", "Grid()", (2,)),
    ("objectives", "[maximize('val_acc'), maximize('val_acc', tolerance=0.1)]", "Grid()", (2,)),
    ("objectives", "[maximize('samples_per_s'), at_least('val_acc', 0.9), at_most('val_acc', 0.8)]",
     "Grid()", (2,)),
    ("objectives", "[minimize('cost')]", "Grid()", (2,)),
    ("objectives", "[minimize('peak_gpu_gib'), maximize('val_acc')]", "Grid()", (2,)),
    ("objectives", "[minimize('time_to_accuracy_s')]", "Grid()", _EITHER),
    ("objectives", "[maximize('val_acc'), at_most('peak_rss_gib', 1e-9)]", "Grid()", _ANSWERED),
    ("objectives", "[maximize('val\\u200b_acc')]", "Grid()", (2,)),
    ("objectives", "[maximize('val_\\u0430cc')]", "Grid()", (2,)),
    ("epochs", "2**63 - 1", "Grid()", _EITHER), ("epochs", "2**63", "Grid()", (2,)),
    ("retries", "2**63", "Grid()", (2,)), ("finalists", "2**63", "Grid()", (2,)),
    ("time_limit_s", "1e-300", "Grid()", _EITHER), ("seed", "2**31 - 1", "Optuna(3)", _EITHER),
    ("trial_s", "{'x': float('inf')}", "Grid()", (2,)),
    ("prices", "{'cpu_hour': 5e-324}", "Grid()", _EITHER),
    ("tie_margin", "5e-324", "Grid()", _ANSWERED), ("question", "'?' * 20_000", "Grid()", _EITHER),
    ("constraints", "[lambda c, m: c.lr.nothing]", "Grid()", (2,)),
    ("constraints", "[lambda c, m: 'no' if c.lr > 0.15 else 3]", "Grid()", (2,)),
    ("constraints", "[lambda c, m: [][0]]", "Random(3)", (2,)),
)  # fmt: skip
"""A field of a sweep, its value, the search, and the exit codes that are right."""

_DATES: Final = (
    "datetime.date(2026, 1, 1)", "datetime.timedelta(hours=1)", "decimal.Decimal('0.1')",
    "fractions.Fraction(1, 10)", "numpy.float32(0.1)", "numpy.array([0.1])", "numpy.nan",
    "pathlib.Path('0.1')", "uuid.uuid4()", "torch.tensor(0.1)", "collections.Counter('x')",
    "memoryview(b'x')", "...", "NotImplemented", "range(10**18)", "iter(())", "slice(3)",
)  # fmt: skip
"""Values of other libraries, in the place of a number."""

_TEXTS: Final[dict[str, Callable[[str], bytes]]] = {
    "a mark of byte order": lambda text: codecs.BOM_UTF8 + text.encode(),
    "UTF-16": lambda text: text.encode("utf-16"), "UTF-32": lambda text: text.encode("utf-32"),
    "Latin-1": lambda text: text.replace("What", "\xe9t\xe9").encode("latin-1"),
    "carriage returns": lambda text: text.replace("\n", "\r\n").encode(),
    "a comment": lambda text: f"// by hand\n{text}".encode(),
    "a comma too much": lambda text: text.replace("\n}", ",\n}").encode(),
    "single quotes": lambda text: text.replace('"', "'").encode(),
    "NaN": lambda text: text.replace('"seed": 0', '"seed": NaN').encode(),
    "a date": lambda text: text.replace('"seed": 0', '"seed": "2026-11-26"').encode(),
    "a seed below 0": lambda text: text.replace('"seed": 0', '"seed": -1').encode(),
    "keys twice": lambda text: text.replace('"seed": 0', '"seed": 0, "seed": 1').encode(),
    "a list": lambda text: f"[{text}]".encode(), "a text": lambda text: json.dumps(text).encode(),
    "twice": lambda text: (text + text).encode(), "gzip": lambda _: b"\x1f\x8b\x08\x00" + b"x" * 99,
    "YAML": lambda _: b"seed: 0\nname: made\n", "spaces": lambda _: b" \n" * 99,
    "deep": lambda _: b"[" * 99_999, "a number": lambda _: b"1e999",
}  # fmt: skip
"""Encodings of ``sweep.json`` that an editor or a script may leave."""
_READ: Final = ("carriage returns",)
"""Those that are JSON all the same."""

_RESUMED: Final = (
    (("--resume", _RUN), _ANSWERED), (("--resume", f"./{_RUN}/../{_RUN}/"), _ANSWERED),
    (("--plan", "--resume", _RUN), (0,)), (("--resume", _RUN, "--out", "x"), (2,)),
    (("--resume", _RUN, "--executor", "replay", "--table", _RUN), (2,)),
    (("--resume", _RUN, "--executor", "replay"), (2,)), (("--resume", _RUN, "--table", _RUN), (2,)),
    (("--resume", _RUN, "--trials", "3"), (2,)), (("--resume", _RUN, "--seed", "5"), (2,)),
    (("--resume", _RUN, "--search", "random"), (2,)), (("--resume", _RUN, "--set", "lr=1"), (2,)),
    (("--resume", _RUN, "--set", "lr"), (2,)), (("--resume", _RUN, "--data", "own"), (2,)),
    (("--resume", _RUN, "--repeats", "2"), (2,)), (("--resume", _RUN, "--confirm", "2"), (2,)),
    (("--resume", _RUN, "--epochs", "9"), (2,)), (("--resume", _RUN, "--steps", "9"), (2,)),
    (("--resume", _RUN, "--isolation", "shared"), (2,)),
    (("--resume", _RUN, "--cost", "cpu_hour=1"), _EITHER),
    (("--resume", _RUN, "--max-cost", "1"), (2,)), (("--resume", _RUN, "--warm-start", _RUN), (2,)),
    (("--resume", f"{_RUN}/journal.jsonl"), (2,)), (("--resume", f"{_RUN}/sweep.json"), (2,)),
    (("--resume", f"{_RUN}/report.html"), (2,)), (("--resume", _RUN.upper()), (2,)),
    (("--resume", f"{_RUN}\u200b"), (2,)), (("--resum", _RUN), (2,)), ((_RUN,), (2,)),
    ((f"{_RUN}/sweep.json",), (2,)), (("resume", _RUN), (2,)),
    (("sweep.py", "--resume", _RUN), (2,)),
    (("sweep.py", "--out", _RUN), (2,)), (("sweep.py", "--warm-start", _RUN), (2,)),
    (("sweep.py", "--warm-start", _RUN, _RUN, "--search", "tpe"), (2,)),
    (("sweep.py", "--executor", "replay", "--table", _RUN), (2,)),
    (("--executor", "replay", "--table", _RUN), (2,)),
    (("--executor", "replay", "--table", f"{_RUN}/trials.parquet"), (2,)),
    (("--executor", "replay", "--table", _RUN, "--nodes", "2147483647"), (2,)),
)  # fmt: skip
"""Arguments about a finished run, with the exit codes that are right."""


def requests_that_are_odd(finished: Path) -> Iterator[Request]:
    """Yield the requests; those about a run have a copy of ``finished`` in their folder."""
    for words, codes in _OPTIONS:
        own = () if {"--executor", "--no-mlflow"} & set(words) else _INLINE
        yield Request(
            kind="odd options", name=repr(" ".join(words)[:60]), file=_WHOLE,
            arguments=(*own, *words), codes=codes, prepare=make_places, leaves=codes != (2,),
        )  # fmt: skip
    for field, value, search, codes in _OF_SWEEP:
        yield _sweep(f"{field}={value} of {search}", {field: value, "search": search}, codes)
    for value in _DATES:
        module = value.partition(".")[0]
        head = f"import {module}\n" if module.isidentifier() and "." in value else ""
        for field in ("space", "seed", "epochs", "tie_margin", "question"):
            given = f"{{'lr': {value}}}" if field == "space" else value
            yield _sweep(f"{field}={given}", {field: given}, _EITHER, head)
    for about, codes in _RESUMED:
        yield _of_run(" ".join(about), about, codes, finished, lambda _folder: None)
    for name, encoded in _TEXTS.items():
        codes = _ANSWERED if name in _READ else (2,)
        yield _of_run(f"sweep.json: {name}", ("--resume", _RUN), codes, finished, _edited(encoded))


def _sweep(name: str, fields: dict[str, str], codes: tuple[int, ...], head: str = "") -> Request:
    text = f"{head}{HEAD}{sweep(of_sweep={**_SHORT, **fields})}"
    return Request(
        kind="odd sweeps", name=name[:70], file=text, arguments=_INLINE, codes=codes,
        leaves=codes != (2,),
    )  # fmt: skip


def _of_run(
    name: str,
    words: tuple[str, ...],
    codes: tuple[int, ...],
    finished: Path,
    change: Callable[[Path], object],
) -> Request:
    def prepare(folder: Path) -> None:
        shutil.copytree(finished, folder / _RUN)
        change(folder / _RUN)

    return Request(
        kind="odd resumptions", name=repr(name[:60]), file=_WHOLE, arguments=words, codes=codes,
        prepare=prepare, names_file=False, leaves=codes != (2,),
    )  # fmt: skip


def _edited(encoded: Callable[[str], bytes]) -> Callable[[Path], object]:
    def change(run_dir: Path) -> None:
        path = run_dir / "sweep.json"
        path.write_bytes(encoded(path.read_text()))

    return change
