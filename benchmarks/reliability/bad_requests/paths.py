"""Paths of strangers, for each option that takes one, and options that repeat or contradict."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from benchmarks.reliability.bad_requests.cases import HEAD, Request, sweep

_INLINE: Final = ("--executor", "inline", "--no-mlflow")
_WHOLE: Final = HEAD + sweep(of_sweep={"confirm": "0", "max_confirm": "0", "max_repeats": "1"})
_EITHER: Final = (0, 2, 3)

PATHS: Final = (
    "a_file", "a_folder", "a_pipe", "a_socket", "a_loop", "a_dead_link", "a_file/below",
    "a_loop/below", "/dev/zero", "/dev/full", "/dev/null", "/dev/stdin", "/proc/self/mem",
    "/proc/self/fd/0", "/proc/1", "/", ".", "..", " ", "\n", "a\nb", "-", "--", "-x", "~", "*",
    "$NO_SUCH_NAME", "n" * 300, "x/" * 2500 + "x", "\u202e\U0001f600", "file:///tmp", "s3://bucket/x",
    "a@b", "@", "a_folder/../a_pipe", "a_link_to_pipe", "run_of_pipes", "run_of_folders",
    "run_of_nothing", "run_of_nulls", "run_of_links",
)  # fmt: skip
"""Paths; :func:`make_places` makes those that begin with a letter."""
_RUNS: Final = ("run_of_pipes", "run_of_folders", "run_of_nothing", "run_of_nulls", "run_of_links")
_FILES_OF_RUNS: Final = (
    "sweep.json", "journal.jsonl", "trials.parquet", "curves.parquet", "steps.parquet",
    "recommended.json", "report.html", "warm_start.json",
)  # fmt: skip

_TAKES_A_PATH: Final = {
    "--data-root": _EITHER, "--data": (2,), "--out": _EITHER, "--resume": (2,),
    "--warm-start": (2,), "--table": (2,),
}  # fmt: skip
"""Options with a path, and the exit codes that are right."""

_SEVERAL: Final = (
    (("--trials", "3", "--trials", "4"), _EITHER), (("--trials", "3", "--trials", "x"), (2,)),
    (("--set", "lr=0.1", "lr=0.1"), _EITHER), (("--set", "lr=0.1", "--set", "lr=0.2"), (2,)),
    (("--set", "lr=0.1,0.2"), (2,)), (("--set", "lr=1e-400"), (2,)), (("--set", "lr=1_0"), _EITHER),
    (("--set", "lr=\u0661"), _EITHER), (("--set", "lr= 0.1"), _EITHER),
    (("--set", "lr=0x1p-3"), (2,)), (("--set", "lr=" + "9" * 5000), (2,)),
    (("--set", "workers=" + "9" * 5000), (2,)), (("--set", "workers=9223372036854775808"), (2,)),
    (("--set", "workers=0b1"), (2,)), (("--set", "mode="), _EITHER),
    (("--set", "mode=a=b"), _EITHER), (("--set", "mode=\x1b[2J"), (2,)),
    (("--set", "mode=" + "x" * 5000), (2,)), (("--set", "=1"), (2,)), (("--set", "lr"), (2,)),
    (("--set", "LR=0.1"), (2,)), (("--set", "lr=None"), (2,)), (("--set", "lr=choice(0.1)"), (2,)),
    (("--set", "__class__=3"), (2,)), (("--set", ""), (2,)), (("--set",), (2,)),
    (("--set", "mode=\U0001f600"), _EITHER), (("--set", "lr=true"), (2,)),
    (("--set", "workers=1.0"), (2,)), (("--cost", "cpu_hour=1,cpu_hour=2"), (2,)),
    (("--cost", "cpu_hour=1,,"), (2,)), (("--cost", ","), (2,)), (("--cost", "cpu_hour=nan"), (2,)),
    (("--cost", "cpu_hour=inf"), (2,)), (("--cost", "CPU_HOUR=1"), (2,)),
    (("--cost", "cpu_hour=1e999"), (2,)), (("--cost", "cpu_hour==1"), (2,)),
    (("--cost", "cpu_hour=0"), _EITHER), (("--cost", "cpu_hour=0", "--max-cost", "1"), (2,)),
    (("--cost", "gpu_hour=1", "--max-cost", "1e-300"), _EITHER),
    (("--cost", "cpu_hour=1e308", "--max-cost", "1e308"), _EITHER),
    (("--core-hours", "1e-320"), _EITHER), (("--time-budget", "0.0000001s"), (2, 3)),
    (("--time-budget", "1e3s"), (2,)), (("--time-budget", "5 m"), (2,)),
    (("--time-budget", "\u0665m"), _EITHER), (("--time-budget", "999999999h"), _EITHER),
    (("--time-budget", ".5h"), _EITHER), (("--trials", "\u0663"), _EITHER),
    (("--trials", "1_0"), _EITHER), (("--trials", "+3"), _EITHER), (("--trials", " 3 "), _EITHER),
    (("--trials", "0b11"), (2,)), (("--trials", "3.0"), (2,)), (("--trials=--trials",), (2,)),
    (("--trials", "-0"), (2,)), (("--trials", "2147483647"), _EITHER),
    (("--repeats", "2147483647"), (2,)), (("--confirm", "2147483647"), (2,)),
    (("--epochs", "2147483647"), _EITHER), (("--steps", "2147483647"), _EITHER),
    (("--retries", "2147483647"), _EITHER), (("--seed", "2147483647"), _EITHER),
    (("--seed", "2147483648"), (2,)), (("--max-concurrent", "2147483647"), _EITHER),
    (("--cores-per-trial", "2147483647"), _EITHER), (("--search", "GRID"), (2,)),
    (("--search", "grid "), (2,)), (("--search", "factored", "--trials", "1"), _EITHER),
    (("--search", "random", "--trials", "1"), _EITHER),
    (("--search", "sobol", "--trials", "3"), _EITHER),
    (("--search", "gp", "--trials", "2"), _EITHER),
    (("--search", "nsga2", "--trials", "2", "--seed", "0"), _EITHER), (("--trial", "3"), (2,)),
    (("--no", "x"), (2,)), (("--isolation", "LEASED"), (2,)), (("--isolation", ""), (2,)),
    (("--executor", "Inline"), (2,)), (("--download",), _EITHER),
    (("--download", "--data", "own"), (2,)), (("--plan", "--resume", "a_folder"), (2,)),
    (("--plan", "--plan"), _EITHER), (("--out", "a_folder", "--out", "b"), _EITHER),
    (("--resume", "x", "--resume", "y"), (2,)), (("--warm-start", "x", "y", "z"), (2,)),
    (("--warm-start", "run_of_nothing", "--search", "tpe"), (2,)),
    (("--warm-start", ".", "--resume", "."), (2,)),
    (("--executor", "replay", "--table", "run_of_pipes"), (2,)),
    (("--executor", "replay", "--table", "run_of_nulls", "--cores", "9" * 9), (2,)),
    (("--address", "127.0.0.1:1", "--plan"), _EITHER),
    (("--address", "h:6379", "--executor", "replay"), (2,)),
    (("--tracking-uri", "sqlite:///a_folder"), (2,)),
    (("--tracking-uri", "sqlite:///a_pipe"), (2,)), (("--tracking-uri", "sqlite:///a_file"), (2,)),
    (("--tracking-uri", "sqlite:///no/such/folder/x.db"), _EITHER),
    (("--tracking-uri", "sqlite:////dev/null"), (2,)),
    (("--tracking-uri", "sqlite:///a_loop"), (2,)),
    (("--tracking-uri", "sqlite:///" + "n" * 300), (2,)),
    (("--tracking-uri", "sqlite://host/x"), (2,)),
    (("--tracking-uri", "http://127.0.0.1:1"), (0,)),
    (("--tracking-uri", "http://[::1"), (2,)), (("--tracking-uri", "http://127.0.0.1:99999"), (2,)),
    (("--tracking-uri", "http:///"), (2,)), (("--tracking-uri", "ftp://x"), (2,)),
    (("--tracking-uri", "runs"), (2,)), (("--tracking-uri", "file:///tmp/x"), (2,)),
    (("--tracking-uri", "postgresql://u:p@127.0.0.1:1/x"), (0,)),
    (("--tracking-uri", "mysql://"), _EITHER),
    (("--tracking-uri", "http://nosuchhost.invalid:5000"), (0,)),
    (("--tracking-uri", "http://a b:5000"), (2,)), (("--", "sweep.py"), (2,)), (("@a_file",), (2,)),
    (("-h", "x"), (0,)), (("--versio",), (2,)), (("--helpp",), (2,)), (("train",), (2,)),
    (("init",), (2,)), (("clean", "x"), (2,)), (("-",), (2,)), (("",), (2,)),
)  # fmt: skip
"""Arguments after the sweep file, with the exit codes that are right."""


def requests_of_paths() -> Iterator[Request]:
    """Yield the requests."""
    for option, codes in _TAKES_A_PATH.items():
        for path in PATHS:
            if (option, path) == ("--out", "/"):  # which can be written to
                continue
            more = ("--executor", "replay") if option == "--table" else _INLINE
            more = (*more, "--search", "tpe") if option == "--warm-start" else more
            words = (f"{option}={path}", *more)
            right = (2,) if option in ("--resume", "--table", "--warm-start") else codes
            yield _request("paths", f"{option}={path}", words, right)
    for several, codes in _SEVERAL:
        has_place = {"--executor", "--address", "--tracking-uri"} & set(several)
        own = (
            ("--executor", "inline")
            if "--tracking-uri" in several
            else ()
            if has_place
            else _INLINE
        )
        yield _request("options together", " ".join(several), (*own, *several), codes)


def _request(kind: str, name: str, words: tuple[str, ...], codes: tuple[int, ...]) -> Request:
    return Request(
        kind=kind, name=repr(name[:60]), file=_WHOLE, arguments=words, codes=codes,
        prepare=make_places, leaves=codes != (2,),
    )  # fmt: skip


def make_places(folder: Path) -> None:
    """Make what the paths name."""
    (folder / "a_file").write_text("text\n")
    (folder / "a_folder").mkdir()
    os.mkfifo(folder / "a_pipe")
    (folder / "a_link_to_pipe").symlink_to("a_pipe")
    (folder / "a_loop").symlink_to("a_loop")
    (folder / "a_dead_link").symlink_to("gone")
    here = Path.cwd()
    os.chdir(folder)  # a socket's path is short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("a_socket")
    os.chdir(here)
    for name in _RUNS:
        (folder / name).mkdir()
        for file in _FILES_OF_RUNS:
            path = folder / name / file
            if name == "run_of_pipes":
                os.mkfifo(path)
            elif name == "run_of_folders":
                path.mkdir()
            elif name == "run_of_nulls":
                path.symlink_to("/dev/null")
            elif name == "run_of_links":
                path.symlink_to(path.name)
