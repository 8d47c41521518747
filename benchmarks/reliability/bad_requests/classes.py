"""Config classes, functions of configs, searches and rules of strangers, each in a sweep file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from benchmarks.reliability.bad_requests.cases import HEAD, Request, sweep
from benchmarks.reliability.bad_requests.files import ANSWERED

_INLINE: Final = ("--executor", "inline", "--no-mlflow")
_EITHER: Final[tuple[int, ...]] = (0, 2, 3)
_SHORT: Final = {"confirm": "0", "max_confirm": "0", "max_repeats": "1"}

_FIELDS: Final = (
    "lr = learning(default=0.1, doc='x')", "lr: float", "lr: float = 0.1", "lr: float = None",
    "lr: None = learning(default=None, doc='x')", "lr: 'Nope' = learning(default=0.1, doc='x')",
    "lr: float | None = learning(default=None, doc='x')",
    "lr: int | str = learning(default=1, doc='x')",
    "lr: list[int] = learning(default=[1], doc='x')", "lr: dict = learning(default={}, doc='x')",
    "lr: bytes = learning(default=b'', doc='x')", "lr: complex = learning(default=1j, doc='x')",
    "lr: object = learning(default=1, doc='x')", "lr: type = learning(default=int, doc='x')",
    "lr: Any = learning(default=1, doc='x')", "lr: 3 = learning(default=1, doc='x')",
    "lr: tuple = learning(default=(1,), doc='x')",
    "lr: tuple[int, int] = learning(default=(1, 2), doc='x')",
    "lr: tuple[str, ...] = learning(default=('a',), doc='x')",
    "lr: tuple[int, ...] = learning(default=(), doc='x')",
    "lr: tuple[int, ...] = learning(default=(1, 'x'), doc='x')",
    "lr: Color = learning(default=Color.RED, doc='x')",
    "lr: Literal[None] = learning(default=None, doc='x')",
    "lr: Literal[b'x'] = learning(default=b'x', doc='x')",
    "lr: Literal[Color.RED] = learning(default=Color.RED, doc='x')",
    "lr: Literal[()] = learning(default=1, doc='x')",
    "lr: Literal['a'] = learning(default='b', doc='x')",
    "lr: Literal['\\ud800'] = learning(default='\\ud800', doc='x')",
    "lr: Literal[10**30] = learning(default=10**30, doc='x')",
    "lr: Literal[float('nan')] = learning(default=float('nan'), doc='x')",
    "lr: Literal['x' * 9000] = learning(default='x' * 9000, doc='x')", "lr: float = learning()",
    "lr: float = learning(default=0.1)", "lr: float = learning(default=0.1, doc=None)",
    "lr: float = learning(default=0.1, doc=3)", "lr: float = learning(0.1, 'x')",
    "lr: float = learning(default=0.1, doc='x', unit=3)",
    "lr: float = learning(default=0.1, doc='x', gee=0)",
    "lr: float = learning(default=0.1, doc='x', ge='0')",
    "lr: float = learning(default=0.1, doc='x', gt=float('nan'))",
    "lr: float = learning(default=0.1, doc='x', ge=5, le=1)",
    "lr: float = learning(default=0.1, doc='x', lt=0.1)",
    "lr: float = learning(default=float('inf'), doc='x')",
    "lr: float = learning(default=10**400, doc='x')", "lr: int = learning(default=True, doc='x')",
    "lr: bool = learning(default=1, doc='x')",
    "lr: str = learning(default='a', ge=0, doc='x')",
    "lr: Literal['a', 'b'] = learning(default='a', lt=3, doc='x')",
    "lr: int = learning(default=2**70, doc='x')", "lr: str = learning(default=3, doc='x')",
    "lr: float = learning(default=lambda: 0.1, doc='x')",
    "lr: float = learning(default=0.1, doc='x', applies=3)",
    "lr: float = learning(default=0.1, doc='x', applies=True)",
    "lr: float = both(default=0.1, doc='x', role='systems')", "lr: ClassVar[float] = 3",
    "lr: Annotated[float, 3] = 0.1", "lr: Final = 3", "pass", "def lr(self): pass",
    "__slots__ = ('lr',)", "lr: float = field(default=0.1)", "lr: InitVar[float] = 0.1",
    "lr: float = both",
    "lr: float = both(default=both, doc='x')",
)  # fmt: skip
"""Bodies of a config class, each of which has something wrong."""

_ODD_FIELDS: Final = (
    "lr: bool = learning(default=True, ge=0, doc='x')",
    "\u03bb: float = learning(default=0.1, doc='x')", "_lr: float = learning(default=0.1, doc='x')",
    "lr: float = learning(default=0.1, doc='x'); LR: float = learning(default=0.1, doc='x')",
    "state: float = learning(default=0.1, doc='x')",
    "items: float = learning(default=0.1, doc='x')",
    "trial_id: float = learning(default=0.1, doc='x')",
    "seed: int = learning(default=1, doc='x'); stage: int = learning(default=1, doc='x')",
    "config: int = learning(default=1, doc='x'); run: int = learning(default=1, doc='x')",
    "self: int = learning(default=1, doc='x'); given: int = learning(default=1, doc='x')",
    "val_acc: float = learning(default=0.1, doc='x')",
    "__lr: float = learning(default=0.1, doc='x')", "__eq__: int = learning(default=1, doc='x')",
    "__dict__: int = learning(default=1, doc='x')", "__init__: int = learning(default=1, doc='x')",
    "__class__: int = learning(default=1, doc='x')",
    "__knobs__: int = learning(default=1, doc='x')",
    "samples_per_s: float = learning(default=1.0, doc='x')",
    f"{'n' * 300}: float = learning(default=0.1, doc='x')",
    "lr: float = learning(default=0.1, doc='x' * 99_999)",
    "lr: float = learning(default=0.1, doc='<b>\\x1b[2J\\n\\ud83d\\ude00', unit='%{}')",
    "lr: Literal[1, 'a', True] = learning(default='a', doc='x')",
    "lr: Literal['a', 'a'] = learning(default='a', doc='x')",
    "lr: Literal['', ' ', ',', '=', '\\\"'] = learning(default='', doc='x')",
    "lr: Literal[0.1, 1] = learning(default=1, doc='x')",
    "lr: Literal[1, True] = learning(default=True, doc='x')",
    "lr: Literal['true', True] = learning(default=True, doc='x')",
    "lr: Literal[1, '1'] = learning(default='1', doc='x')",
    "lr: Literal['None', 'nan'] = learning(default='nan', doc='x')",
    "lr: tuple[int, ...] = learning(default=[15, 10], doc='x')",
    "lr: str = learning(default='', doc='')", "lr: float = learning(default=5e-324, doc='x')",
    "lr: float = learning(default=-0.0, doc='x')", "lr: int = learning(default=2**63 - 1, doc='x')",
    "lr: float = learning(default=1, doc='x')",
    "lr: float = learning(default=0.1, doc='x', applies=lambda c: 1 / 0)",
    "lr: float = learning(default=0.1, doc='x', applies=lambda c: c.nothing)",
    "lr: float = learning(default=0.1, doc='x', applies=lambda: True)",
    "lr: float = learning(default=0.1, doc='x', applies=lambda c: None)",
    "lr: float = learning(default=0.1, doc='x', applies=lambda c: 'yes')",
    "lr: float = learning(default=0.1, doc='x', applies=lambda c: Broken())",
    "lr: float = learning(default=0.1, doc='x', applies=lambda c: exit())",
    "lr: float = learning(default=0.1, doc='x', applies=lambda c: c.lr > 0)",
    "lr: float = learning(default=0.1, doc='x', applies=awaited)",
    "a: int = learning(default=1, doc='x', applies=lambda c: c.b > 1); "
    "b: int = learning(default=1, doc='x', applies=lambda c: c.a > 1)",
)  # fmt: skip
"""Bodies that are odd, and may be refused or run."""

_CLASSES: Final = (
    "import dataclasses\n@dataclasses.dataclass\nclass Own:\n    lr: float = 0.1",
    "import dataclasses\n@knobs\n@dataclasses.dataclass\nclass Own:\n    lr: float = 0.1",
    "import dataclasses\n@dataclasses.dataclass\n@knobs\nclass Own:\n"
    "    lr: float = both(default=0.1, doc='x')",
    "class Own(Config): pass", "class Own(Config):\n    more: float = both(default=0.1, doc='x')",
    "@knobs\nclass Own(Config):\n    lr: int = both(default=1, doc='x')",
    "@knobs\nclass Own(Config):\n    lr: float = 0.1",
    "@knobs\nclass Own(Config):\n    lr: ClassVar[float] = 1",
    "@knobs\nclass Own(Config):\n    def __init__(self): pass",
    "@knobs\nclass Own(Config):\n    __slots__ = ()",
    "@knobs\nclass Own(Config):\n    def __post_init__(self): raise ValueError",
    "@knobs\nclass Own(Config):\n    @property\n    def lr(self): return 3",
    "@knobs\nclass Own(dict):\n    lr: float = both(default=0.1, doc='x')",
    "@knobs\nclass Own(int):\n    lr: float = both(default=0.1, doc='x')",
    "@knobs\nclass Own(Exception):\n    lr: float = both(default=0.1, doc='x')",
    "@knobs\nclass Own(tuple):\n    lr: float = both(default=0.1, doc='x')",
    "import enum\n@knobs\nclass Own(enum.Enum):\n    lr: float = both(default=0.1, doc='x')",
    "from typing import *\n@knobs\nclass Own(NamedTuple):\n"
    "    lr: float = both(default=0.1, doc='x')",
    "from typing import *\n@knobs\nclass Own(TypedDict):\n    lr: float",
    "from typing import *\n@knobs\nclass Own(Protocol):\n"
    "    lr: float = both(default=0.1, doc='x')",
    "class Meta(type):\n    def __setattr__(c, n, v): raise RuntimeError\n"
    "@knobs\nclass Own(metaclass=Meta):\n    lr: float = both(default=0.1, doc='x')",
    "Own = knobs(3)", "Own = knobs('x')", "Own = knobs(print)", "Own = knobs()", "Own = knobs(int)",
    "@knobs()\nclass Own:\n    lr: float = both(default=0.1, doc='x')", "Own = type('Own', (), {})",
    "def make():\n    @knobs\n    class Own:\n"
    "        lr: float = both(default=0.1, doc='x')\n    return Own\nOwn = make()",
    "@knobs\n@knobs\nclass Own:\n    lr: float = both(default=0.1, doc='x')", "Own = Config()",
    "@knobs\nclass Own:\n    lr: float = both(default=0.1, doc='x')\n"
    "    def __getattr__(self, n): raise RuntimeError",
    "@knobs\nclass Own:\n    lr: float = both(default=0.1, doc='x')\nOwn.__knobs__ = {'lr': 3}",
    "@knobs\nclass Own:\n    lr: float = both(default=0.1, doc='x')\ndel Own.__knobs__",
)  # fmt: skip
"""Config classes of all kinds."""

_OF_SWEEP: Final = (
    ("constraints", "[lambda c, m: exit()]", (2,)), ("constraints", "[lambda c: None]", (2,)),
    ("constraints", "[lambda c, m: Broken()]", (2,)), ("constraints", "[lambda c, m: b'no']", (2,)),
    ("constraints", "[lambda c, m: {}[Broken()]]", (2,)),
    ("constraints", "[lambda c, m: False]", (2,)), ("constraints", "[lambda c, m: '']", ANSWERED),
    ("constraints", "[awaited]", (2,)), ("constraints", "[generator]", (2,)),
    ("constraints", "[lambda c, m: 'no ' * 99_999]", (2,)),
    ("constraints", "[lambda c, m: '\\ud800']", (2,)),
    ("constraints", "[requires(lambda c: 1 / 0, 'x')]", (2,)),
    ("constraints", "[requires(lambda c: True, 3)]", _EITHER),
    ("constraints", "[requires(3, 'x')]", (2,)),
    ("constraints", "[requires(lambda c: False, None)]", _EITHER),
    ("constraints", "[Config]", (2,)), ("constraints", "[lambda c, m: setattr(c, 'lr', 3)]", (2,)),
    ("constraints", "(lambda c, m: None,) * 50", ANSWERED),
    ("question", "'x' * 1_000_000", _EITHER), ("question", "'\\x1b[2J\\n\\n<script>'", _EITHER),
    ("question", "''", _EITHER), ("space", "{'lr': choice(*range(1, 2_000))}", _EITHER),
    ("space", "{'lr': choice(0.1, 0.1)}", _EITHER), ("space", "{'lr': choice(True, 0.1)}", (2,)),
    ("space", "{'lr': choice([0.1])}", (2,)), ("space", "{'lr': choice(choice(0.1))}", (2,)),
    ("space", "{'lr': uniform(0.1, 0.1)}", _EITHER),
    ("space", "{'lr': uniform(float('nan'), 1)}", (2,)),
    ("space", "{'lr': uniform('a', 'b')}", (2,)),
    ("space", "{'lr': uniform(0.1, 0.2, step=0)}", (2,)),
    ("space", "{'lr': uniform(0.1, 0.2, step=-1)}", (2,)),
    ("space", "{'lr': uniform(0.1, 0.2, step=9)}", _EITHER),
    ("space", "{'lr': uniform(0.1, 0.2, step='x')}", (2,)),
    ("space", "{'lr': normal(0, -1)}", (2,)), ("space", "{'lr': normal(0.1, float('inf'))}", (2,)),
    ("space", "{'workers': integers(3, 1)}", (2,)),
    ("space", "{'workers': integers(1.5, 3)}", (2,)),
    ("space", "{'workers': integers(0, 2**80)}", (2,)),
    ("space", "{'workers': integers(0, 8, log=True)}", (2,)),
    ("space", "{'workers': integers(1, 8, log='x')}", _EITHER),
    ("space", "{'workers': uniform(0, 1)}", (2,)), ("space", "{'mode': uniform(0, 1)}", (2,)),
    ("space", "{'mode': choice('a', 3)}", (2,)), ("space", "{'lr': choice}", (2,)),
    ("space", "{'lr': uniform}", (2,)), ("space", "{'lr': [0.1, 0.2]}", (2,)),
    ("space", "{'lr': (0.1, 0.2)}", (2,)), ("space", "{'lr': range(3)}", (2,)),
    ("space", "{'lr': lambda: 0.1}", (2,)), ("space", "Config(0.1)", (2,)),
    ("space", "Config", (2,)), ("space", "Config(**{'lr ': 0.1})", (2,)),
    ("space", "{'lr': 0.1, 'lr ': 0.2}", (2,)),
    ("space", "type('M', (dict,), {'items': None})()", _EITHER),
    ("baseline", "Config(lr=choice(0.1))", (2,)), ("baseline", "{'lr': None}", (2,)),
    ("baseline", "Config", (2,)), ("objectives", "[maximize('')]", (2,)),
    ("objectives", "[maximize('val_acc'), minimize('val_acc')]", _EITHER),
    ("objectives", "[maximize(Broken())]", (2,)), ("objectives", "[maximize('x' * 99_999)]", (2,)),
    ("objectives", "[at_least('val_acc', 'x'), maximize('val_acc')]", (2,)),
    ("objectives", "[at_least('val_acc', float('nan')), maximize('samples_per_s')]", (2,)),
    ("objectives", "{maximize('val_acc')}", (2,)), ("objectives", "(x for x in ())", (2,)),
    ("objectives", "[maximize('val_acc', tolerance=float('nan'))]", (2,)),
    ("objectives", "[maximize('lr')]", (2,)),
    ("objectives", "[maximize('val_acc', relative='x', tolerance=0.1)]", (2,)),
    ("rule", "lambda: 0", ANSWERED), ("rule", "lambda t: 1 / 0", ANSWERED),
    ("rule", "lambda t: exit()", ANSWERED), ("rule", "lambda t: Broken()", ANSWERED),
    ("rule", "lambda t: -1", ANSWERED), ("rule", "lambda t: t", ANSWERED),
    ("rule", "lambda t: float('nan')", ANSWERED), ("rule", "lambda t: 10**30", ANSWERED),
    ("rule", "lambda t: True", ANSWERED),
    ("rule", "lambda t: t.drop(t.index, inplace=True)", ANSWERED),
    ("rule", "lambda t: t.index[0]", ANSWERED), ("rule", "awaited", _EITHER),
    ("rule", "generator", _EITHER), ("rule", "Config", _EITHER), ("rule", "print", ANSWERED),
    ("search", "Search()", (2,)), ("search", "Grid", (2,)), ("search", "[Grid()]", (2,)),
    ("search", "Grid() or 3", ANSWERED), ("search", "Random(3, 4)", (2,)),
    ("search", "Random(trials=float('nan'))", (2,)), ("search", "Random(trials=True)", (2,)),
    ("search", "Optuna(3, sampler=None)", (2,)), ("search", "Optuna(3, sampler=Broken())", (2,)),
    ("search", "Optuna(-3)", (2,)), ("search", "Factored(points=0)", (2,)),
    ("search", "Factored(probe_steps=0)", (2,)), ("search", "Factored(confirm_steps='x')", (2,)),
    ("search", "Factored(confirm_steps=float('nan'))", (2,)), ("search", "Factored(seeds=0)", (2,)),
    ("search", "Factored(trials=0)", (2,)), ("search", "Grid(points=True)", (2,)),
    ("search", "Grid(points=2.0)", (2,)), ("search", "Grid(trials=0)", (2,)),
    ("search", "Random(2**40)", _EITHER), ("stopping", "Asha(factor=float('nan'))", (2,)),
    ("stopping", "Asha(grace=-3)", (2,)), ("stopping", "Asha(factor=True)", (2,)),
    ("stopping", "Asha(Broken())", (2,)), ("stopping", "Asha([])", _EITHER),
    ("published", "[Published(source='', knobs={'lr': Broken()}, figures={})]", (2,)),
    ("published", "[Published(source='s', knobs={'lr': 0.1}, figures={'': 1})]", _EITHER),
    ("published", "[Published(source='s', knobs={3: 0.1}, figures={})]", (2,)),
    (
        "published",
        "[Published(source='s', knobs={'lr': 0.1}, figures={'val_acc': float('nan')})]",
        (2,),
    ),
    (
        "published",
        "[Published(source='s', knobs={'lr': 0.1}, figures={'val_acc': 97.0}, note=3)]",
        (2,),
    ),
    (
        "published",
        "[Published(source='<b>', knobs={'lr': 0.1}, figures={'val_acc': 0.9})] * 200",
        ANSWERED,
    ),
    ("prices", "{'cpu_hour': float('nan')}", (2,)), ("prices", "{'cpu_hour': True}", (2,)),
    ("prices", "{'cpu_hour': 1e308}", _EITHER), ("trial_s", "{'': 1}", (2,)),
    ("trial_s", "{None: 1}", (2,)), ("seed", "True", (2,)), ("epochs", "10**18", _EITHER),
    ("costs", "['lr'] * 99", _EITHER), ("costs", "[Broken()]", (2,)), ("costs", "[['lr']]", (2,)),
    ("costs", "{'lr'}", (2,)), ("retries", "10**18", _EITHER), ("repeats", "10**18", (2,)),
    ("confirm", "10**9", (2,)), ("finalists", "10**18", _EITHER),
    ("time_limit_s", "5e-324", _EITHER), ("time_limit_s", "1e308", _EITHER),
    ("memory_per_trial_gib", "1e308", _EITHER), ("memory_per_trial_gib", "5e-324", _EITHER),
    ("cores_per_trial", "10**9", _EITHER), ("isolation", "'LEASED'", (2,)),
    ("data", "'\\ud800'", (2,)), ("data", "'x' * 9999", (2,)), ("embedded_data", "'a/b'", (2,)),
    ("nothing", "3", (2,)), ("max_repeats", "0", (2,)), ("target", "True", (2,)),
    ("target", "at_most('val_acc', 0.1)", _EITHER),
)  # fmt: skip
"""Values of a sweep's fields, with the exit codes that are right."""

_OF_TRAINABLE: Final = (
    ("demand", "lambda c, m: exit()"), ("demand", "lambda c: Demand()"),
    ("demand", "lambda c, m: Demand"), ("demand", "lambda c, m: [Demand()]"),
    ("demand", "lambda c, m: Broken()"), ("demand", "awaited"),
    ("demand", "lambda c, m: {}[Broken()]"), ("demand", "lambda c, m: Demand(3)"),
    ("demand", "lambda c, m: Demand(rank=3)"), ("demand", "lambda c, m: Demand(ranks=4, nodes=3)"),
    ("demand", "lambda c, m: Demand(nodes=9)"), ("demand", "lambda c, m: object.__new__(Demand)"),
    ("demand", "generator"), ("demand", "Demand"), ("constraints", "[lambda c, m: exit()]"),
    ("constraints", "[lambda c, m: 3]"), ("constraints", "[lambda c: None]"),
    ("reports", "[maximize('val_acc')] * 2"), ("reports", "[maximize('')]"),
    ("reports", "[maximize('a' * 999)]"), ("reports", "[at_least('val_acc', 0.9)]"),
    ("reports", "[maximize('val_acc'), minimize('val_acc')]"), ("reports", "[maximize('\\ud800')]"),
    ("reports", "[Objective('val_acc', 'max')]"), ("reports", "[maximize('a\\nb')]"),
    ("name", "'x' * 9999"), ("name", "'a\\nb'"), ("name", "'../../x'"), ("name", "' '"),
    ("name", "'\\x1b[2J'"), ("preload", "('sys', 'os')"), ("preload", "['?']"),
    ("preload", "['torch.']"), ("preload", "['.torch']"), ("preload", "['torch', 'torch']"),
    ("preload", "['torch.nothing_here']"), ("preload", "['antigravity_']"),
    ("preload", "['t' * 9999]"), ("preload", "['\\u0131mport']"), ("train", "of_kwargs"),
    ("train", "type('T', (), {})()"), ("train", "(lambda *a: None)"), ("train", "exit"),
    ("train", "int"), ("train", "''.join"), ("train", "print"), ("data", "[Data(), Data()]"),
    ("data", "[Data()] * 3"), ("data", "[type('D', (), {})()]"), ("data", "{}"), ("warm", "0"),
    ("keeps_checkpoints", "'True'"), ("config", "type"), ("config", "Exception"),
)  # fmt: skip
"""Values of a trainable's fields."""


def requests_of_classes() -> Iterator[Request]:
    """Yield the sweep files."""
    head = (
        "import enum\nfrom dataclasses import InitVar, field\nfrom typing import *\n"
        "class Color(enum.Enum):\n    RED = 1\n"
    )
    for body in (*_FIELDS, *_ODD_FIELDS):
        own = f"{head}@knobs\nclass Own:\n    {body}\n"
        codes: tuple[int, ...] = _EITHER if body in _ODD_FIELDS else (2,)
        end = sweep(of_trainable={"config": "Own"}, of_sweep={**_SHORT, "space": "{}"})
        yield _request("config classes", body, f"{own}{end}", codes)
        if body in _ODD_FIELDS:  # two values of the first knob, where there are
            first = "list(Own.__knobs__.items())[:1]"
            vary = f"{{k: choice(v.default, v.options[0]) for k, v in {first} if v.options}}"
            end = sweep(of_trainable={"config": "Own"}, of_sweep={**_SHORT, "space": vary})
            yield _request("config classes", f"varied: {body}", f"{own}{end}", codes)
    for own in _CLASSES:
        end = sweep(of_trainable={"config": "Own"}, of_sweep={**_SHORT, "space": "{}"})
        yield _request("config classes", own[-70:], f"{own}\n{end}", _EITHER)
    for field, value, codes in _OF_SWEEP:
        end = sweep(of_sweep={**_SHORT, field: value})
        yield _request("fields of sweeps", f"{field}={value}", end, codes)
    for field, value in _OF_TRAINABLE:
        end = sweep(of_sweep=_SHORT, of_trainable={field: value})
        yield _request("fields of trainables", f"{field}={value}", end, _EITHER)


def _request(kind: str, name: str, text: str, codes: tuple[int, ...]) -> Request:
    return Request(kind=kind, name=name[:70], file=f"{HEAD}{text}", arguments=_INLINE, codes=codes)
