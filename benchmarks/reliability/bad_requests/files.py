"""Sweep files of strangers: that are no text, that misbehave while they run, of odd config classes.

Each is refused in one message, or runs as if it had not misbehaved.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from benchmarks.reliability.bad_requests.cases import HEAD, Request, sweep

ANSWERED: Final = (0, 3)
"""Exit codes of a run whose trials all have rows."""
_INLINE: Final = ("--executor", "inline", "--no-mlflow")
_WHOLE: Final = HEAD + sweep(of_sweep={"confirm": "0", "max_confirm": "0", "max_repeats": "1"})

_RAISED: Final = (
    "class E(BaseException): pass\nraise E('base')",
    "class E(Exception):\n    def __str__(self): raise RuntimeError('no text')\nraise E()",
    "class E(Exception):\n    def __str__(self): return 3\nraise E()",
    "class E(BaseException):\n    def __repr__(self): raise self\n"
    "    __str__ = __repr__\nraise E()",
    "raise Exception('x' * 10_000_000)", "raise Exception('\\ud800\\x1b[2J')",
    "raise GeneratorExit", "raise StopIteration", "import asyncio\nraise asyncio.CancelledError",
    "raise ExceptionGroup('several', [ValueError(1), TypeError(2)])",
    "raise BaseExceptionGroup('several', [SystemExit(1)])", "import sys\nsys.exit('text')",
    "import sys\nsys.exit(None)", "raise SystemExit({})", "raise MemoryError", "raise OSError",
    "raise OSError(5, 'no', 'file')", "open('/nothing/there')", "open(b'\\xff')",
    "raise UnicodeDecodeError('utf-8', b'\\xff', 0, 1, 'bad')", "raise SyntaxError",
    "raise SyntaxError('bad', ('f', 3, 9, 'text', 1, 2))",
    "e = SyntaxError('bad')\ne.filename, e.lineno, e.offset, e.text = 'f', 'x', [], 3\nraise e",
    "raise ImportError(name=3)",
    "raise ModuleNotFoundError(name='')", "raise NameError(name='lr')", "raise AttributeError",
    "raise KeyError(('a', 'b'))", "raise TypeError(3)", "exec('1 +')", "eval('(' * 99)",
    "import os, sys\nos.remove(__file__)\nraise ValueError('its file is gone')",
    "import os\nos.chdir('/')\nraise ValueError('elsewhere')", "1 / 0 # " + "x" * 100_000,
    "from orchestrator import SweepError\nraise SweepError('x' * 100_000)",
    "from orchestrator.errors import SweepError\nraise SweepError(3)",
    "from orchestrator.errors import SweepError\nraise SweepError('a', 3)",
    "import warnings\nwarnings.simplefilter('error')\nwarnings.warn('as an error')",
    "del __builtins__['len'] if isinstance(__builtins__, dict) else None\n1 / 0",
    "__import__('a' * 5000)", "import a.b.c", "from . import sweep", "from .. import x",
    "import orchestrator.sweep.fille", "from orchestrator.search import Grd",
)  # fmt: skip
"""Files that raise; what they raise is shown with their line."""

_NO_SWEEP: Final = (
    "SWEEP = None", "SWEEP = {}", "SWEEP = 'sweep'", "SWEEP = Exception", "SWEEP: int",
    "import unittest.mock\nSWEEP = unittest.mock.MagicMock()", "SWEEP = print",
    "from orchestrator import *\nSWEEP = object.__new__(Sweep)",
    "from orchestrator import *\nSWEEP = object.__new__(Trainable)",
    "if __name__ == '__main__':\n    SWEEP = 1", "def __getattr__(name): raise RuntimeError(name)",
    "class Odd:\n    @property\n    def __class__(self): raise RuntimeError\nSWEEP = Odd()",
    "from orchestrator import *\nclass Odd:\n    __class__ = Sweep\nSWEEP = Odd()",
    "globals().clear()", "import sys\nsys.modules[__name__] = None",
    "sweep = " + "[" * 60 + "]" * 60, "SWEEPS = SWEPT = Sweep = 3",
    f"{HEAD}{sweep()}\nimport copy\nSWEEP = copy.copy(SWEEP)\ndel SWEEP.__dict__['trainable']",
    f"{HEAD}{sweep()}\nobject.__setattr__(SWEEP, 'trainable', 3)",
    f"{HEAD}{sweep()}\nobject.__setattr__(SWEEP, 'space', 3)",
    f"{HEAD}{sweep()}\nobject.__setattr__(SWEEP.trainable, 'reports', [3])",
    f"{HEAD}{sweep()}\nobject.__setattr__(SWEEP.trainable, 'config', int)",
    f"{HEAD}{sweep()}\nobject.__setattr__(SWEEP.space, 'lr', 'x')",
    f"{HEAD}{sweep()}\nSWEEP.space.__dict__['more'] = 3",
    f"{HEAD}{sweep()}\nSWEEP.space.__dict__.clear()",
)  # fmt: skip
"""Files without a sweep, or with one that was tampered with."""

_BYTES: Final[dict[str, tuple[bytes, tuple[int, ...]]]] = {
    "UTF-16": (_WHOLE.encode("utf-16"), (2,)), "Latin-1": ("# caf\xe9\n".encode("latin-1"), (2,)),
    "noise": (bytes(range(256)) * 8, (2,)), "a zero byte": (b"x = '\0'\n", (2,)),
    "a mark alone": (b"\xef\xbb\xbf", (2,)), "zeros": (bytes(4096), (2,)),
    "an unknown encoding": (b"# -*- coding: klingon -*-\n", (2,)),
    "an encoding of no text": (b"# -*- coding: base64 -*-\n", (2,)),
    "an encoding in bytes": (b"# coding: \xff\xfe\n", (2,)),
    "a pickle": (b"\x80\x04\x95\x00\x00.", (2,)),
    "an ELF": (b"\x7fELF\x02\x01\x01" + bytes(60), (2,)),
    "a long line": (b"x = " + b"1 + " * 250_000 + b"\n", (2,)),
    "many brackets": (b"x = " + b"[" * 5000, (2,)), "many minuses": (b"-" * 200_000 + b"1", (2,)),
    "many attributes": (b"x = a" + b".b" * 50_000, (2,)), "a quote": (b'"""' + b"x\n" * 9999, (2,)),
    "deep blocks": (b"".join(b" " * n + b"if 1:\n" for n in range(150)), (2,)),
    "tabs and spaces": (b"if 1:\n\tx = 1\n        y = 2\n", (2,)),
    "a stray character": ("x = 1 \u2013 2".encode(), (2,)),
    "a digit too much": (b"x = " + b"9" * 10_000, (2,)),
    "a mark of byte order": (b"\xef\xbb\xbf" + _WHOLE.encode(), ANSWERED),
    "carriage returns": (_WHOLE.replace("\n", "\r\n").encode(), ANSWERED),
    "old line ends": (_WHOLE.replace("\n", "\r").encode(), ANSWERED),
    "declared Latin-1": (b"# coding: latin-1\n# caf\xe9\n" + _WHOLE.encode(), ANSWERED),
    "5 MB of comments": (b"# a comment\n" * 420_000 + _WHOLE.encode(), ANSWERED),
    "no last line end": (_WHOLE.rstrip().encode(), ANSWERED),
}  # fmt: skip
"""Contents that may be no text, with the exit codes that are right."""

_MISCHIEF: Final = (
    "import os; os.chdir('..')", "import os; os.umask(0o777)", "import os; os.environ.clear()",
    "import sys; sys.argv.clear()", "import sys; sys.path.clear()", "import sys; sys.path[:] = [3]",
    "import sys; sys.stdin = None", "import sys; sys.stdout = None",
    "import sys; sys.stderr = None", "import sys; sys.stdout.close()", "import os; os.close(0)",
    "import os; os.close(1)", "import sys; sys.setrecursionlimit(180)",
    "import sys; sys.excepthook = None", "import sys; sys.set_int_max_str_digits(640)",
    "import gc; gc.disable()", "import warnings; warnings.simplefilter('error')",
    "import random; random.seed = None", "import logging; logging.basicConfig(level=0)",
    "import numpy; numpy.seterr(all='raise')",
    "import torch; torch.set_default_dtype(torch.float64)",
    "import pandas; pandas.set_option('display.max_rows', 1)",
    "import pandas; pandas.set_option('future.infer_string', False)",
    "import signal; signal.signal(2, signal.SIG_IGN)",
    "import signal; signal.signal(17, signal.SIG_IGN)",
    "import socket; socket.setdefaulttimeout(1e-9)",
    "import atexit, time; atexit.register(time.sleep, 999)",
    "import threading; threading.Timer(999, print).start()",
    "import multiprocessing; multiprocessing.set_start_method('spawn', force=True)",
    "import matplotlib; matplotlib.use('svg')", "import locale; locale.setlocale(0, 'C')",
    "import decimal; decimal.getcontext().prec = 1",
    "import resource; resource.setrlimit(7, (64, 64))",
    "print('x' * 3_000_000)",
    "import sys; sys.stdout.buffer.write(bytes(range(256)))", "import os; os.fork() or os._exit(0)",
    "import subprocess; subprocess.Popen(['sleep', '60'])",
    "__name__ = 'other'", "__file__ = 3", "import sys; del sys.modules[__name__]",
    "import json; json.dumps.__defaults__", "print = None", "open = None", "type = 3", "len = None",
    "import faulthandler; faulthandler.enable()", "import tracemalloc; tracemalloc.start()",
    "import os, tempfile; tempfile.tempdir = os.getcwd()",
)  # fmt: skip
"""What a file may do to the process that runs it; the run is to be as without it."""

_NAMES: Final = {
    "a space.py": ANSWERED, "class.py": ANSWERED, "1.py": ANSWERED, "torch.py": ANSWERED,
    "json.py": ANSWERED, "orchestrator.py": ANSWERED, "numpy.py": ANSWERED, "__init__.py": ANSWERED,
    "__main__.py": ANSWERED, "a.b.py": ANSWERED, "\xfcber.py": ANSWERED, "\U0001f600.py": ANSWERED,
    "a'b\"c.py": ANSWERED, "$(x);y.py": ANSWERED, "a\nb.py": ANSWERED, "%s{0}.py": ANSWERED,
    "n" * 252 + ".py": ANSWERED, "n" * 300 + ".py": (2,), ".py": (2,), "sweep.PY": (2,),
    "sweep.pyc": (2,), "sweep": (2,), "sweep.py/": ANSWERED, "sweep.py/x.py": (2,),
}  # fmt: skip
"""Names of sweep files, with the exit codes that are right."""


def requests_of_files() -> Iterator[Request]:
    """Yield the sweep files."""
    for text in (*_RAISED, *_NO_SWEEP):
        name = repr(text.removeprefix(_WHOLE).removeprefix(HEAD)[-60:])
        yield Request(kind="files that fail", name=name, file=text)
    for name, (content, codes) in _BYTES.items():
        yield _file("files of bytes", name, content, codes)
    for text in _MISCHIEF:
        yield _file("files with mischief", text, f"{text}\n{_WHOLE}".encode(), ANSWERED)
        yield _file("files with mischief", f"late: {text}", f"{_WHOLE}\n{text}".encode(), ANSWERED)
    for name, codes in _NAMES.items():
        yield _named(name, codes)


def _file(kind: str, name: str, content: bytes, codes: tuple[int, ...]) -> Request:
    return Request(kind=kind, name=name, file=content, arguments=_INLINE, codes=codes)


def _named(name: str, codes: tuple[int, ...]) -> Request:
    def make(folder: Path) -> None:
        if len(name) <= 255 and not name.rstrip("/").count("/") and not name.endswith("/"):
            (folder / name).write_text(_WHOLE)

    return Request(
        kind="names of files", name=repr(name[:40]), file=_WHOLE, arguments=(name, *_INLINE),
        codes=codes, prepare=make, names_file=False,
    )  # fmt: skip
