"""Bad requests, generated: each option and each field of what a sweep file makes, of wrong values.

Every one is wrong by the declaration of its option, or by the annotation of its field.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

HEAD: Final = """
from orchestrator import *
from orchestrator.search import *
from orchestrator.metrics import Goal

@knobs
class Config:
    lr: float = learning(default=0.1, gt=0, doc="step size")
    workers: int = systems(default=0, ge=0, doc="loader processes")
    mode: str = both(default="plain", doc="a word")

def train(config, run): raise AssertionError("nothing may be started")
async def awaited(config, run): pass
def generator(config, run): yield 1
async def async_generator(config, run): yield 1
def of_one(config): pass
def of_three(config, run, more): pass
class Called:
    async def __call__(self, config, run): pass
class Broken:
    def __repr__(self): raise RuntimeError("cannot be written")
    def __eq__(self, other): raise RuntimeError("cannot be compared")
    __hash__ = None
class Data:
    name, embedded, how_to_get = "own", True, "it is there"
    def at(self, variant): return self
    def present(self, folders): return True
    def headers(self, folders): return DataHeaders(name="own")
    def prepare(self, folders, *, download=False):
        return PreparedData(name="own", path=folders.cache, fingerprint="0")
"""

_NO_NUMBER: Final = ("'3'", "[3]", "{}", "object()", "Broken()", "train", "10**5000", "b'3'")
_NO_INT: Final = (*_NO_NUMBER, "-1", "1.5", "True", "float('nan')", "2**70")
_NO_FLOAT: Final = (*_NO_NUMBER, "float('nan')", "float('inf')", "True")
_NO_TEXT: Final = ("3", "None", "b'x'", "['x']", "object()", "Broken()", "'\\ud800'")
_NO_LIST: Final = ("3", "'text'", "None", "{'a': 1}", "object()", "Broken()", "Config")
_NO_SWITCH: Final = ("'yes'", "1", "None", "[]", "2.0", "Broken()")
_NO_FUNCTION: Final = ("None", "3", "'train'", "[]", "Config()", "object()")

_OF_TRAINABLE: Final = {
    "train": (*_NO_FUNCTION, "awaited", "generator", "async_generator", "of_one", "of_three",
              "Called()", "Config", "Data"),
    "config": ("None", "3", "'Config'", "Config()", "dict", "[]", "train", "object", "Broken()"),
    "data": (*_NO_LIST, "['mnist']", "[None]", "[Data]", "[Config]", "[3, 4]"),
    "reports": (*_NO_LIST, "['val_acc']", "[None]", "maximize('val_acc')", "[maximize]", "[['a']]"),
    "constraints": (*_NO_LIST, "['no']", "[None]", "train", "[3]"),
    "demand": (*_NO_FUNCTION, "Demand()", "Demand(ranks=2)"),
    "preload": (*_NO_LIST, "'torch'", "['torch', 3]", "['not a module']", "['']", "[None]"),
    "keeps_checkpoints": _NO_SWITCH,
    "warm": _NO_SWITCH,
    "name": _NO_TEXT,
}  # fmt: skip
_OF_DEMAND: Final = {
    "ranks": (*_NO_INT, "0", "None"), "gpus": (*_NO_INT, "None"), "workers": (*_NO_INT, "None"),
    "burst": (*_NO_INT, "0"), "allocator": (*_NO_TEXT, "'jemaloc'", "''"),
}  # fmt: skip
_OF_SWEEP: Final = {
    "trainable": ("None", "train", "Config", "'lenet'", "Broken()", "Trainable"),
    "question": _NO_TEXT,
    "space": ("3", "'lr'", "[0.1]", "train", "Broken()", "{'lr': 'x'}", "{'l': 1.0}", "{3: 1.0}",
              "{'lr': None}", "{'lr': choice()}", "{'lr': uniform(1, 0)}", "{'mode': 3}",
              "{'workers': choice(1.5)}", "{'workers': choice(2**70)}", "{'mode': '\\ud800'}",
              "{'mode': 'x' * 60_000}", "{'lr': loguniform(0, 1)}", "{'lr': choice(Broken())}"),
    "baseline": ("3", "'lr'", "train", "{'lr': choice(0.1, 0.2)}", "{'nothing': 1}", "Broken()"),
    "epochs": (*_NO_INT, "0", "None"), "steps": (*_NO_INT, "0"), "half_width": (*_NO_FLOAT, "1.5"),
    "objectives": (*_NO_LIST, "[]", "['val_acc']", "[maximize('nothing')]", "[None]",
                   "[maximize('val_acc')] * 4", "[at_least('val_acc', 0.9)]", "[maximize(3)]",
                   "[Objective('val_acc', 'largest')]", "[maximize('test_acc')]",
                   "[maximize('val_acc', tolerance='x')]", "[at_least('val_acc', 97)]"),
    "rule": ("3", "'fastest'", "knee", "weighted()", "weighted(nothing=1)", "fastest_within(3, 4)",
             "fastest_within('val_acc')", "weighted(val_acc='x')", "[]"),
    "costs": (*_NO_LIST, "['nothing']", "[3]", "['mode']"),
    "target": ("'x'", "-1", "97", "[]", "Broken()", "float('nan')", "maximize('nothing')"),
    "prices": ("3", "[]", "{'cpu': 1}", "{'cpu_hour': 'x'}", "{'cpu_hour': -1}", "{3: 4}"),
    "search": ("None", "3", "'grid'", "Grid", "Grid(points=0)", "Grid(points='3')", "Broken()",
               "Random(trials=0)", "Random('40')", "Optuna(sampler='tpee')", "Optuna(sampler=3)",
               "Optuna(trials=1.5)", "Factored(probes=0)", "Factored(confirm_steps=0)",
               "Random(10**12)",
               "Factored(seeds='2')", "Grid(trials=-1)", "Grid(points=10**9)"),
    "stopping": ("3", "'asha'", "Asha", "Asha(3)", "Asha('nothing')", "Asha(grace='x')", "[]",
                 "Asha(factor=1)", "Asha(factor='3')", "Asha(grace=0)", "Asha([None])"),
    "data": ("3", "'mnist'", "b'x'", "['own']", "Broken()"),
    "embedded_data": ("3", "'mnist'", "['own']", "Broken()"),
    "cores_per_trial": (*_NO_INT, "0", "None", "'node'"),
    "isolation": ("None", "'leased'", "3", "Isolation", "Broken()"),
    "repeats": (*_NO_INT, "0"), "max_repeats": (*_NO_INT, "0"), "confirm": _NO_INT,
    "max_confirm": _NO_INT, "finalists": (*_NO_INT, "0"), "check_isolated": _NO_INT,
    "interleaved": _NO_SWITCH,
    "accuracy_tolerance": (*_NO_FLOAT, "1", "-0.1"), "tie_margin": (*_NO_FLOAT, "1", "-0.1"),
    "time_limit_s": (*_NO_FLOAT, "0", "-1"), "memory_per_trial_gib": (*_NO_FLOAT, "0", "-1"),
    "retries": _NO_INT,
    "trial_s": ("3", "[]", "{'mnist': 3}", "{3: 4}", "'x'", "Broken()"),
    "published": (*_NO_LIST, "[3]", "['study']", "[Published]",
                  "[Published(source=3, knobs={}, figures={})]",
                  "[Published(source='s', knobs=[], figures={})]",
                  "[Published(source='s', knobs={'l': 1}, figures={})]",
                  "[Published(source='s', knobs={}, figures={'val_acc': 'x'})]"),
    "seed": (*_NO_INT, "2**31"),
}  # fmt: skip
_OF_DATA: Final = {
    "name": ("3", "None", "''"), "embedded": ("'yes'", "None"), "how_to_get": ("3", "None"),
    "at": ("3", "None"), "present": ("None", "lambda self: True", "lambda *_: 1 / 0"),
    "headers": ("3", "lambda *_: None", "lambda *_: {}['x']"),
    "prepare": (
        "None", "lambda *_: 3", "lambda *_, **__: None", "lambda *_, **__: PreparedData",
        "lambda *_, **__: PreparedData(name=3, path='x', fingerprint='0')",
        "lambda *_, **__: PreparedData(name='own', path='x', fingerprint='0')",
        "lambda *_, **__: 1 / 0",
    ),
}  # fmt: skip
_FILES: Final = (
    "", "SWEEP = 3", "SWEEP =", "SWEEPS = 1", "import nothing_there", "1 / 0", "x = y",
    "raise SystemExit(0)", "def f(:", "\x00", "exit()", "assert False",
    "from orchestrator import Sweap", "from orchestrator import *\nSWEEP = Sweep()",
    "from orchestrator import *\nSWEEP = Sweep(3, question='?', space={})",
    "from orchestrator import *\nSWEEP = Sweep", "import orchestrator.nothing", "SWEEP = lambda: 3",
    "from orchestrator import *\nSWEEP = [Sweep]", "(" * 300 + ")" * 300,
    "def f(): return f()\nf()",
)  # fmt: skip
_OPTIONS: Final = {
    "N": ("0x", "-1", "1.5", "", "x", "9" * 30, "1e3", "nan", "9" * 5000, "0,5", " "),
    "X": ("0", "-1", "x", "", "nan", "inf", "1e999", "1,5"),
    "30m": ("0", "-5m", "x", "", "5d", "9" * 400, "1h30m", "nan"),
    "NAME": ("nothing", "", "3", "grid,random", "\udcff"),
    "KNOB=VALUE": ("lr", "l=1", "lr=x", "lr=-1", "workers=1.5", "=", "mode=\udcff", "lr=nan"),
    "cpu_hour=0.04,gpu_hour=2.50": ("x", "cpu=1", "cpu_hour=x", "cpu_hour=-1", "", "cpu_hour"),
    "DIR": ("", "/dev/null/x", "/proc/nothing/x", "\udcff", "~nobody-has-this-name/x"),
    "RUN_DIR": ("", "nothing", "/dev/null", "/proc", "\udcff", "~nobody-has-this-name/x"),
    "NAME_OR_PATH": ("nothing", "./nothing", "/dev/null", "own@nothing/x", "\udcff", "a@b@c"),
    "ADDR": ("auto", "local", "", "x", "localhost", ":6379", "h:0", "h:x", "h:99999", "http://h:1",
             "ray://h:10001", "h:1:2", "h 1:6379", "::1:6379", "h:6379/", "\udcff:1"),
    "URI": ("", "nothing://x", "://", "sqlite", "http://", "\udcff", "sqlite:///\udcff"),
}  # fmt: skip
"""Wrong values of options by what the help calls them."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """A bad request.

    Attributes:
        kind: What of it is wrong, in a word.
        name: What of it is wrong.
        file: Content of its sweep file.
        arguments: Arguments beside that.
        codes: Exit codes that are right.
        prepare: Makes what else is in its folder.
        names_file: True where the sweep file is the first argument.
        module: Whose ``main`` takes the arguments.
        leaves: True where it may leave files behind.
    """

    kind: str
    name: str
    file: str | bytes
    arguments: tuple[str, ...] = ()
    codes: tuple[int, ...] = (2,)
    prepare: Callable[[Path], object] | None = None
    names_file: bool = True
    module: str = "orchestrator.cli"
    leaves: bool = False


def all_requests() -> Iterator[Request]:
    """Yield every bad request."""
    yield from _of_options()
    for text in _FILES:
        yield Request(kind="sweep files", name=repr(text[:40]), file=text)
    for field, values in _OF_TRAINABLE.items():
        for value in values:
            file = HEAD + sweep(of_trainable={field: value})
            yield Request(kind="trainables", name=f"{field}={value[:40]}", file=file)
    for field, values in _OF_SWEEP.items():
        for value in values:
            file = HEAD + sweep(of_sweep={field: value})
            yield Request(kind="sweeps", name=f"{field}={value[:40]}", file=file)
    for field, values in _OF_DEMAND.items():
        for value in values:
            demand = f"lambda config, machine: Demand({field}={value})"
            file = HEAD + sweep(of_trainable={"demand": demand})
            yield Request(kind="trainables", name=f"Demand({field}={value[:40]})", file=file)
    for member, values in _OF_DATA.items():
        for value in values:
            file = f"{HEAD}Data.{member} = {value}\n{sweep(of_trainable={'data': '[Data()]'})}"
            words = ("--plan",) if member == "headers" else ()  # which alone reads them
            yield Request(
                kind="data sets", name=f"{member} = {value[:40]}", file=file, arguments=words
            )


def _of_options() -> Iterator[Request]:
    from orchestrator.driver.options import DECLARATIONS
    from orchestrator.driver.options.declaration import flag

    whole = HEAD + sweep()
    for name, option in DECLARATIONS.items():
        values = _OPTIONS.get(option.metavar, ())
        if name in ("data_root", "experiment"):  # no data: no such folder; any name is one
            values = ("", "\udcff")
        for value in values:
            words = (f"{flag(name)}={value}",)
            yield Request(kind="options", name=repr(words[0][:60]), file=whole, arguments=words)
    more: tuple[tuple[str, ...], ...] = (
        ("--nothing",), ("a.py", "b.py"), ("--resume", "x", "--out", "y"),
        ("--executor", "replay"), ("--cores", "3"), ("--max-cost", "3"), ("--table", "x"),
        ("--no-mlflow", "--tracking-uri", "sqlite:///x"), ("--plan=yes",), ("--epochs",),
        ("--address", "h:1", "--executor", "inline"), ("--warm-start", "x"), ("--data", "own"),
    )  # fmt: skip
    for several in more:
        yield Request(kind="options", name=" ".join(several), file=whole, arguments=several)


def sweep(
    of_trainable: Mapping[str, str] = MappingProxyType({}),
    of_sweep: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Return the end of a sweep file, with some fields as given."""
    own = {"train": "train", "config": "Config", "reports": "[maximize('val_acc')]"}
    fields = {"question": "'?'", "space": "Config(lr=choice(0.1, 0.2))", **of_sweep}
    trainable = fields.pop("trainable", f"Trainable({_arguments({**own, **of_trainable})})")
    return f"\nSWEEP = Sweep({trainable}, {_arguments(fields)})\n"


def _arguments(values: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in values.items())
