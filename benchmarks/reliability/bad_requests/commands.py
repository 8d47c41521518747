"""Requests of strangers to the other commands: train, init, clean, and those of the analysis."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from benchmarks.reliability.bad_requests.cases import Request
from benchmarks.reliability.bad_requests.paths import PATHS, make_places

RUN: Final = "run"
"""A finished run, in the folder of each request."""
_ANALYSIS: Final = "orchestrator.analysis.__main__"
_EITHER: Final = (0, 2)

_COMMANDS: Final = (
    ((), (2,)), (("sho", RUN), (2,)), (("show",), (2,)), (("show", RUN, "more"), (2,)),
    (("front",), (2,)), (("compare", RUN), (2,)), (("compare", RUN, RUN), (0,)),
    (("compare", RUN, "nothing"), (2,)), (("front", RUN, "--objectives", ""), (2,)),
    (("front", RUN, "--objectives", ","), (2,)),
    (("front", RUN, "--objectives", "val_acc,val_acc"), (2,)),
    (("front", RUN, "--objectives", "nothing"), (2,)),
    (("front", RUN, "--objectives", "maximize:nothing"), (2,)),
    (("front", RUN, "--objectives", "maximise:val_acc"), (2,)),
    (("front", RUN, "--objectives", ":val_acc"), (2,)),
    (("front", RUN, "--objectives", "maximize:"), (2,)),
    (("front", RUN, "--objectives", "maximize:maximize:val_acc"), (2,)),
    (("front", RUN, "--objectives", "mode"), (2,)),
    (("front", RUN, "--objectives", "params.mode"), (2,)),
    (("front", RUN, "--objectives", "trial_id"), (2,)),
    (("front", RUN, "--objectives", "maximize:params.mode"), (2,)),
    (("front", RUN, "--objectives", "maximize:group"), (2,)),
    (("front", RUN, "--objectives", "maximize:trial_ids"), (2,)),
    (("front", RUN, "--objectives", "maximize:lr"), _EITHER),
    (("front", RUN, "--objectives", "a,b,c,d"), (2,)),
    (("front", RUN, "--objectives", "x" * 9999), (2,)),
    (("front", RUN, "--objectives", "val_acc,samples_per_s,step_ms,epochs"), (2,)),
    (("front", RUN, "--objectives"), (2,)), (("front", RUN, "--objectives", "\udcff"), (2,)),
    (("front", RUN, "--objectives", "minimize:val_acc"), (0,)),
    (("front", RUN, "--json", "--json"), (0,)), (("front", RUN, "--out", "x"), (2,)),
    (("show", RUN, "--jsn"), (2,)), (("export", RUN, "--format", "cvs"), (2,)),
    (("export", RUN, "--format", ""), (2,)), (("export", RUN, "--format", "CSV"), _EITHER),
    (("export", RUN, "--format"), (2,)), (("export", RUN, "--format", "csv,parquet"), (2,)),
    (("export", RUN, "--format", "\udcff"), (2,)), (("export", RUN, "--out", RUN), (2,)),
    (("export", RUN, "--out", ""), (2,)), (("export", RUN, "--format", "xlsx"), (0,)),
    (("compare", RUN, RUN, "--tolerance", "nan"), (2,)),
    (("compare", RUN, RUN, "--tolerance", "inf"), (2,)),
    (("compare", RUN, RUN, "--tolerance", "-0.1"), (2,)),
    (("compare", RUN, RUN, "--tolerance", "1"), (2,)),
    (("compare", RUN, RUN, "--tolerance", "3%"), (2,)),
    (("compare", RUN, RUN, "--tolerance", ""), (2,)),
    (("compare", RUN, RUN, "--tolerance", "0,03"), (2,)),
    (("compare", RUN, RUN, "--tolerance", "1e-400"), (0,)),
    (("compare", RUN, RUN, "--tolerance", "0.99999"), (0,)),
    (("compare", RUN, RUN, "--across", ""), (2,)),
    (("compare", RUN, RUN, "--across", "nothing"), (2,)),
    (("compare", RUN, RUN, "--across", "versions.torc"), (2,)),
    (("compare", RUN, RUN, "--across", "versions.torch", "--across", "versions.torch"), (0,)),
    (("compare", RUN, RUN, "--again", RUN), (2,)),
    (("compare", RUN, RUN, "--again", "x", "y"), (2,)),
    (("compare", RUN, RUN, "--again", RUN, RUN), (0,)), (("compare", RUN, RUN, "--again"), (2,)),
    (("open", RUN, "--tracking-uri", "sqlite:///x"), (2,)), (("open", RUN, "--out", "x"), (2,)),
    (("show", "experiment", "--tracking-uri", "sqlite:///nothing.db"), (2,)),
    (("show", "x", "--tracking-uri", ""), (2,)), (("show", "x", "--tracking-uri", "nothing"), (2,)),
    (("show", "x", "--tracking-uri", "http://127.0.0.1:1"), (2,)),
    (("show", "x", "--tracking-uri", "sqlite:///a_file"), (2,)),
    (("show", "x", "--tracking-uri", "sqlite:///a_pipe"), (2,)),
    (("show", "x", "--tracking-uri", "sqlite:///a_folder"), (2,)),
    (("show", "x", "--tracking-uri", "sqlite:////dev/zero"), (2,)),
    (("show", "x", "--tracking-uri", "postgresql://u:p@127.0.0.1:1/d"), (2,)),
    (("show", "x", "--tracking-uri", "\udcff"), (2,)),
    (("show", "x", "--tracking-uri", "http://127.0.0.1:99999"), (2,)),
    (("show", "x", "--tracking-uri", "http://[::1"), (2,)), (("\udcff",), (2,)), (("",), (2,)),
    (("--",), (2,)), (("-1",), (2,)), (("show", "--json"), (2,)), (("--version",), _EITHER),
)  # fmt: skip
"""Arguments of the analysis, with the exit codes that are right."""

_OTHERS: Final = (
    (("train",), (2,)), (("train", "nothing"), (2,)), (("train", RUN), (2,)),
    (("train", RUN, "more"), (2,)), (("train", RUN, "--epochs", "0"), (2,)),
    (("train", RUN, "--epochs", "x"), (2,)), (("train", RUN, "--epoch", "-1"), (2,)),
    (("train", RUN, "--epocks", "1"), (2,)), (("train", RUN, "--seed", "-1"), (2,)),
    (("train", RUN, "--seed", "nan"), (2,)), (("train", RUN, "--save", ""), (2,)),
    (("train", RUN, "--save", "a_folder"), (2,)), (("train", RUN, "--save", "a_pipe"), (2,)),
    (("train", RUN, "--save", "no/such/x.pt"), (2,)), (("train", RUN, "--save", "n" * 300), (2,)),
    (("train", RUN, "--save", "a_loop"), (2,)), (("train", RUN, "--save", "/dev/full"), (2,)),
    (("train", RUN, "--save", "/proc/x"), (2,)), (("train", RUN, "--data", "own"), (2,)),
    (("train", RUN, "--data", ""), (2,)), (("train", RUN, "--data", "a_folder"), (2,)),
    (("train", RUN, "--data-root", ""), (2,)), (("train", RUN, "--data-root", "a_file"), (2,)),
    (("train", RUN, "--download"), (2,)), (("train", RUN, "--json"), (2,)),
    (("train", "\udcff"), (2,)), (("train", "-h"), (0,)), (("clean", "--help"), (0,)),
    (("init", "--help"), (0,)), (("clean", "--dry"), (2,)), (("clean", "--dry-run"), (0,)),
    (("clean", "--dry-rum"), (2,)), (("clean", "x"), (2,)),
    (("clean", "--keep-cache", "--dry-run", "--dry-run"), (0,)), (("clean", "--dry-run=yes"), (2,)),
    (("clean", "-x"), (2,)), (("init", "a", "b"), (2,)), (("init", "--folder", "x"), (2,)),
    (("init", "a_file"), (2,)), (("init", "a_file/x"), (2,)), (("init", "a_pipe"), (2,)),
    (("init", "a_loop"), (2,)), (("init", "a_dead_link"), _EITHER), (("init", ""), (2,)),
    (("init", "/dev/null"), (2,)), (("init", "/proc/x"), (2,)), (("init", "n" * 300), (2,)),
    (("init", "~nobody-has-this/x"), (2,)), (("init", "\udcff"), (2,)),
    (("init", "new\nline"), _EITHER), (("init", "deep/er/and/deeper"), (0,)),
)  # fmt: skip
"""Arguments of the other commands, likewise."""


def requests_of_commands(finished: Path) -> Iterator[Request]:
    """Yield the requests; each has a copy of the run ``finished`` in its folder."""
    for words, codes in _COMMANDS:
        yield _request("analysis", words, codes, finished, _ANALYSIS)
    for path in PATHS:
        for command in ("show", "front", "export", "open"):
            yield _request("analysis of paths", (command, "--", path), (2,), finished, _ANALYSIS)
        for command in ("show", "export") if path != "/" else ():  # which can be written to
            words = (command, RUN, f"--out={path}")
            yield _request("analysis to paths", words, _EITHER, finished, _ANALYSIS)
        yield _request("other commands", ("train", "--", path), (2,), finished)
    for words, codes in _OTHERS:
        yield _request("other commands", words, codes, finished)
    for name, change in _TAMPERED.items():
        yield _request(
            "train of a changed run", ("train", RUN), (2,), finished, more=change, name=name
        )


def _request(
    kind: str,
    words: tuple[str, ...],
    codes: tuple[int, ...],
    finished: Path,
    module: str = "orchestrator.cli",
    *,
    more: Callable[[Path], object] = lambda _folder: None,
    name: str = "",
) -> Request:
    def prepare(folder: Path) -> None:
        make_places(folder)
        shutil.copytree(finished, folder / RUN)
        more(folder)

    return Request(
        kind=kind, name=name or repr(" ".join(words)[:70]), file="", arguments=words, codes=codes,
        prepare=prepare, names_file=False, module=module, leaves=codes != (2,),
    )  # fmt: skip


def _recommending(content: Any) -> Callable[[Path], object]:  # noqa: ANN401 - JSON
    def change(folder: Path) -> None:
        path = folder / RUN / "recommended.json"
        given = {**json.loads(path.read_text()), "config": content}
        path.write_text(json.dumps(given))

    return change


def _recorded(**fields: Any) -> Callable[[Path], object]:  # noqa: ANN401 - JSON
    def change(folder: Path) -> None:
        path = folder / RUN / "sweep.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))

    return change


_TAMPERED: Final[dict[str, Callable[[Path], object]]] = {
    **{
        f"it recommends {content!r:.40}": _recommending(content)
        for content in (
            None, [], 3, "lr", {"lr": None}, {"lr": "x"}, {"lr": [0.1]}, {"lr": {}}, {"l": 1.0},
            {"": 1}, {"lr": 1e999}, {"lr": True}, {"mode": 3}, {"mode": "x" * 9999},
            {"mode": "\ud800"}, {"lr": 10**400}, {"mode": None, "lr": None}, {"lr=0.1": 1},
        )
    },
    **{
        f"it records {name} = {value!r:.40}": _recorded(**{name: value})
        for name, value in (
            ("file", ""), ("file", "/"), ("file", "/dev/zero"), ("file", "a_pipe"),
            ("file", "\ud800"), ("file", "x\0y"), ("file", 3), ("file", "n" * 300 + ".py"),
            ("file", "a_file"), ("trainable", "another"), ("data", "own"), ("data", "\ud800"),
            ("budget", {"epochs": 0}), ("budget", {"epochs": "x"}), ("options", {"data_root": 3}),
            ("options", []), ("options", {"data_root": "x\0y"}),
        )
    },
}  # fmt: skip
"""Changes of a run that is to be trained from."""
