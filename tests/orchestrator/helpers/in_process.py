"""The command line run in this process, for tests that need no separate process."""

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, redirect_stderr, redirect_stdout
from pathlib import Path
from unittest.mock import patch

from orchestrator.cli import main
from tests import zygote
from tests.forking import PAGE, Finished, no_page


def run_main(*arguments: str | Path, page: bool = False, code: int | None = 0) -> Finished:
    """Run ``python -m orchestrator ARGS`` to its end; the current folder is the test's.

    Args:
        arguments: The arguments.
        page: True where a sweep writes its page, which takes longer than its trials.
        code: The exit code that it has to have; None: any.
    """
    zygote.start()
    stdout, stderr = io.StringIO(), io.StringIO()
    with (
        redirect_stdout(stdout),
        redirect_stderr(stderr),
        importing_nothing_for_good(),
        nullcontext() if page else patch(PAGE, no_page),
        patch(zygote.PLACE, zygote.Forked),
    ):
        try:
            found = main([str(argument) for argument in arguments])
        except SystemExit as end:
            found = int(end.code or 0)
    done = Finished(returncode=found, stdout=stdout.getvalue(), stderr=stderr.getvalue())
    return done.checked(code)


@contextmanager
def importing_nothing_for_good() -> Iterator[None]:
    """Restore the import path, and remove the modules that were found by it."""
    path, modules = list(sys.path), set(sys.modules)
    try:
        yield
    finally:
        added = [folder for folder in sys.path if folder not in path]
        sys.path[:] = path
        for name in set(sys.modules) - modules:
            file = str(getattr(sys.modules[name], "__file__", ""))
            if any(file.startswith(folder) for folder in added):
                del sys.modules[name]
