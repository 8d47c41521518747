"""The trainables beside the plain way to do the same, in the same run: speed and accuracy.

    python -m benchmarks.trainables lenet --data-root DIR
    python -m benchmarks.trainables graphsage
    python -m benchmarks.trainables rgat
    python -m benchmarks.trainables accuracy --data-root DIR

Each is a module of its own, whose arguments follow the name (``--help`` lists them). Where speed
is compared, both sides run in fresh processes with the same cores, threads, allocator and
optimizer, in turn. Prints a Markdown table of ratios or differences with their spread and what
each is to reach; the exit code is 1 where one is missed. The defaults of the first three end
within three minutes on two cores.
"""

from __future__ import annotations

import runpy
import sys
from collections.abc import Sequence

MODULES = {
    "lenet": "benchmarks.trainables.lenet",
    "graphsage": "benchmarks.trainables.graphsage",
    "rgat": "benchmarks.trainables.rgat",
    "accuracy": "benchmarks.trainables.accuracy.__main__",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one of them; return 2 where there is no such one."""
    name, *rest = [*(sys.argv[1:] if arguments is None else arguments), ""]
    if name not in MODULES:
        asked = f"no benchmark {name!r}\n" if name and not name.startswith("-") else ""
        print(f"{__doc__}{asked}say one of: {', '.join(MODULES)}", file=sys.stderr)
        return 2
    sys.argv = [MODULES[name], *rest[:-1]]
    # As its own command line would: a page then names the command that it can be had with.
    runpy.run_module(MODULES[name], run_name="__main__", alter_sys=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
