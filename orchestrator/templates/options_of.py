"""Run as a program with a script: prints the options of the script's argparse parser as JSON.

The script runs up to its ``parse_args``, as ``__main__``, and no further.
"""

import argparse
import json
import os
import runpy
import sys


def _print(parser: argparse.ArgumentParser, *_given: object, **_more: object) -> None:
    found = []
    for action in parser._actions:
        if isinstance(action, argparse._HelpAction | argparse._VersionAction):
            continue
        names = sorted(action.option_strings, key=len)
        found.append({
            "name": names[-1].lstrip("-") if names else action.dest,
            "flag": names[-1] if names else "",
            "default": action.default if action.default != argparse.SUPPRESS else None,
            "choices": None if action.choices is None else [*action.choices],
            "is_switch": isinstance(action, argparse._StoreTrueAction),
            "takes_one": action.nargs is None and action.const is None,
        })  # fmt: skip
    sys.stdout.write("\n" + json.dumps(found, default=str) + "\n")
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    argparse.ArgumentParser.parse_args = _print  # type: ignore[method-assign,assignment]
    argparse.ArgumentParser.parse_known_args = _print  # type: ignore[method-assign,assignment]
    sys.argv[:] = sys.argv[1:]
    sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))  # noqa: PTH100,PTH120 - not pathlib's
    runpy.run_path(sys.argv[0], run_name="__main__")
