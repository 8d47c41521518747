"""The speed of the trainables against the plain way to do the same, in the same run.

    python -m benchmarks.trainables lenet --data-root DIR
    python -m benchmarks.trainables graphsage
    python -m benchmarks.trainables rgat

The arguments of each follow its name (``--help`` lists them). Both sides run in fresh processes
with the same cores, threads, allocator and optimizer, in turn. Prints a table of ratios; the exit
code is 1 if one is missed.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module

NAMES = ("lenet", "graphsage", "rgat")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one of them; return 2 where the name is unknown."""
    name, *rest = [*(sys.argv[1:] if arguments is None else arguments), ""]
    if name not in NAMES:
        asked = f"no benchmark {name!r}\n" if name and not name.startswith("-") else ""
        print(f"{__doc__}{asked}say one of: {', '.join(NAMES)}", file=sys.stderr)
        return 2
    code: int = import_module(f"benchmarks.trainables.{name}").main(rest[:-1])
    return code


if __name__ == "__main__":
    sys.exit(main())
